"""Lists that loops carry under several names, and that the code changes in between: what names one list stays one list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor

import scriptc

Items = tuple[int, ...]


def named_before_the_loop(x: Tensor, n: int) -> Items:
    a = [1, 2]
    b = a
    for i in range(n):
        a = [v + i for v in a]
        a[0] += 10
    return (*a, *b)


def changed_under_the_first_name(x: Tensor, n: int) -> Items:
    a = [1, 2]
    b = a
    for i in range(n):
        a[0] = a[1] + i
    return (*a, *b)


def renamed_in_a_branch(x: Tensor, n: int) -> Items:
    a, b = [1, 2], [3, 4]
    for i in range(n):
        if i == 1:
            b = a
        a[0] = a[0] * 2 + i
        b[1] = b[1] + 1
    return (*a, *b)


def one_before(x: Tensor, n: int) -> Items:
    a = before = [1, 2]
    for i in range(n):
        before = a
        a = [a[1], a[0] + i]
        if i == 2:
            before[0] = 100
    before[1] = 7
    return (*a, *before)


def swapped(x: Tensor, n: int) -> Items:
    a, b = [1, 2], [3, 4]
    for i in range(n):
        a, b = b, a
        a[i % 2] += i
    return (*a, *b)


def kept_in_a_list(x: Tensor, n: int) -> Items:
    a, kept = [1, 2], []
    for i in range(n):
        kept.append(a)
        a = [a[1], a[0] + i]
        a[0] += 1
    return (*a, *(k[0] for k in kept))


def behind_an_exception(x: Tensor, n: int) -> Items:
    a = [1, 2]
    b = a
    try:
        for i in range(n):
            a[0] = a[0] * 2 + i
            if i == 2:
                raise ValueError("no")
            a = [a[1], a[0]]
    except ValueError:
        b[1] += 100
    return (*a, *b)


def of_the_loop_around(x: Tensor, n: int) -> Items:
    a = [1, 2]
    for i in range(n):
        b = a
        for k in range(i):
            b = [b[1], b[0] + k]
            if k == 1:
                a = b
        b[0] += 1
    return tuple(a)


def changed_in_a_branch(x: Tensor, n: int) -> Items:
    a = [1, 2]
    for i in range(n):
        if i % 2:
            a.append(a.pop(0) + i)
        a = [a[0] + 1, a[1]]
    return tuple(a)


def given_back_early(x: Tensor, n: int) -> Items:
    a = [1, 2]
    b = a
    for i in range(n):
        a = [a[1] + i, a[0]]
        if i == 3:
            a[0] = 50
            return (*a, *b)
        b = a
    return (*b, *a)


def in_a_loop_inside_that_continues(x: Tensor, n: int) -> Items:
    a = b = [1, 2]
    for i in range(n):
        for _ in range(2):
            a = [q + 2 for q in b]
            b = [q + i for q in a]
            if i == 1:
                continue
        a.append(a.pop(0))
    return (*a, *b)


def of_another_length(x: Tensor, n: int) -> Items:
    a = [1, 2]
    for i in range(n):
        a = [*a, i] if i % 3 == 0 else a[1:]
    return tuple(a)


PROGRAMS: list[Callable[[Tensor, int], Items]] = [
    named_before_the_loop, changed_under_the_first_name, renamed_in_a_branch, one_before, swapped, kept_in_a_list,
    behind_an_exception, of_the_loop_around, changed_in_a_branch, given_back_early, in_a_loop_inside_that_continues,
    of_another_length,
]  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_items(function: Callable[[Tensor, int], Items]) -> None:
    compiled, x = scriptc.compile(function, optimize=OPTIMIZE), torch.ones(1)
    assert [compiled(x, n) for n in range(7)] == [function(x, n) for n in range(7)]


def test_results_that_are_one_list_stay_one() -> None:
    def function(x: Tensor, n: int) -> tuple[list[Tensor], list[Tensor]]:
        a = before = [x, x + 1]
        for _ in range(n):
            before, a = a, [a[1], a[0] * 2]
        return a, before

    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    (a, before), (c, d) = compiled(torch.ones(1), 0), compiled(torch.ones(1), 1)
    assert a is before
    assert c is not d
