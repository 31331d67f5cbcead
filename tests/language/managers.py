"""Generators as context managers, around bodies that are left early: what is behind their `yield` runs first."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from language.cases import cases

X = torch.ones(2)


@contextlib.contextmanager
def noted(log: list[int], n: int = 1) -> Iterator[int]:
    log.append(n)
    try:
        yield n
    finally:
        log.append(-n)


@contextlib.contextmanager
def around(log: list[int]) -> Iterator[list[int]]:
    log.append(7)
    yield log
    log.append(8)


@contextlib.contextmanager
def catching(log: list[int]) -> Iterator[None]:
    try:
        yield
    except ValueError:
        log.append(99)


@cases((0,), (1,), (2,), (3,))
def left_by_return(n: int) -> object:
    log = [0]
    with noted(log) as k:
        if n == 1:
            return log
        if n == 2:
            return [k, 2]
        if n == 3:
            return log + [3]
    with around(log):
        with noted(log, 9):
            return log


@cases((0,), (2,), (5,))
def left_by_break(n: int) -> object:
    log = [0]
    for i in range(n):
        with noted(log):
            if i == 2:
                break
            log.append(100)
        log.append(50)
    else:
        log.append(1000)
    return log


@cases((0,), (2,), (3,), (5,))
def left_in_every_way(n: int) -> object:
    log = [0]
    for i in range(n):
        with around(log) as p:
            if i == 1:
                continue
            if i == 4:
                raise ValueError(str(log))
            if i == 3 and n < 5:
                return log, i
            p.append(i)
        log.append(50)
    return log


@cases((X, 1), (X, 5))
def two_left_at_once(x: Tensor, n: int) -> object:
    log = [0]
    with around(log), noted(log, 3):
        if n > 2:
            return x * 2, log
        y = x + 1
    log.append(5)
    return y, log


@cases((X, 0), (X, 1), (X, 2), (X, 3))
def left_inside_finally(x: Tensor, n: int) -> object:
    log = [0]
    try:
        for i in range(n):
            with catching(log):
                if i == 1:
                    raise ValueError("a")
                if i == 2:
                    return log, None
                log.append(i)
    finally:
        log.append(77)
    return log, x


@cases((0,), (4,), (9,))
def left_through_finally(n: int) -> object:
    log = [0]
    while True:
        with noted(log, n):
            try:
                n += 1
                if n > 4:
                    break
                if n == 2:
                    continue
            finally:
                log.append(1000)
        log.append(1)
    return log


@contextlib.contextmanager
def ignoring_unbound() -> Iterator[None]:
    try:
        yield
    except UnboundLocalError:
        pass


@cases((9,), (0,))
def unbound_in_managers(n: int) -> object:
    if n > 5:
        v = -1
    with ignoring_unbound():
        n += v
    return n, v


@cases((2, -1.0), (2, 1.0), (0, 1.0))
def defined_inside(n: int, v: float) -> object:
    log = []

    @contextlib.contextmanager
    def scope(name: str, k: int) -> Iterator[int]:
        log.append("in " + name)
        try:
            yield len(log) + k
        except ValueError as error:
            log.append(str(error))
        finally:
            log.append("out " + name)

    for i in range(n):
        with scope("a", i) as a, scope("b", k=3) as b:
            if v * i > 0:
                raise ValueError("positive")
            v += a * b
    return v, log


class Noting:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(1)
        return 5

    def __exit__(self, *error):
        self.log.append(2)


@cases((torch.ones(2), 2), (torch.ones(2), 3), (-torch.ones(2), 3))
def one_of_several(x, n):
    log = []
    for i in range(n):
        chosen = Noting(log) if x.sum() > i else contextlib.nullcontext(3)
        with chosen as given:
            if x.sum() > 3:
                break
            x = x + given
    kept = contextlib.suppress(ValueError) if x.sum() > 0 else Noting(log)
    with kept:
        if n > 2:
            raise ValueError("no")
        x = x * 2
    for i in range(4):
        chosen = contextlib.nullcontext() if i >= 2 else torch.no_grad()
        with chosen:
            x = x * 2 + i
    return x, log


def counted_twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, n=2, **kwargs)

    return wrapper


@contextlib.contextmanager
@counted_twice
def wrapped(log, n=1):
    log.append(n)
    yield n
    log.append(-n)


@cases((X, True), (X, False))
def generator_in_a_wrapper(x, flag):
    log = []
    with wrapped(log) as n:
        x = x * n
    manager = wrapped(log)
    log.append(9)
    with manager as n:
        x = x + n
        if flag:
            return x, log
    return x * 2, log


@cases((torch.ones(1, 2, 3, 4),), (torch.ones(2, 2, 1, 4),))
def backends_of_attention(q):
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        return torch.nn.functional.scaled_dot_product_attention(q, q + 1, q)
