"""Programs on which the fuzzer (`python -m tests.fuzz`) once found compiled code at fault, cut to what it took."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from three_ways import Args, assert_same, call, compile_at, compiled, eager, interpreted

import scriptc

FOUND: list[tuple[Callable[..., Any], list[Args]]] = []


def found(*calls: Args) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        FOUND.append((function, list(calls)))
        return function

    return add


V = torch.arange(4.0)


# A generator is tried as one of known length, and its test was left as something that a handler reads.
@found(call(torch.ones(3, 3), [1], 1), call(torch.ones(3, 3), [1, 2, 9], 2))
def generator_in_a_body(m, xs, k):
    for _ in range(k):
        try:
            m = m[sum(q * q for q in xs if q < 9) :]
        except ValueError:
            xs.pop()
    return m


# `int(t)` and `float(t)` raise another error than `t.item()`.
@found(call(V, 0), call(V, 1), call(V, 2), call(V, 3), call(V[:1], 0), call(V[:1], 1), call(V[:1], 3), call(V[:0], 0))
def numbers_of_tensors(x, n):
    if n == 0:
        return int(x)
    if n == 1:
        return float(x)
    if n == 2:
        return x.item()
    return math.floor(x)


@found(*(call(V, s, n) for s, n in [(0, -2), (-3, 1), (-5, 1), (5, 0), (4, 0), (-1, 1), (-1, 2), (2, 3), (1, 2)]))
def narrowed(x, start, length):
    return x.narrow(0, start, length)


@found(call(V, V[:2].long()), call(V[:0], V[:2].long()), call(V[:0].expand(2, -1)[1], V[:2].long()), call(V[:0], V[:0].long()))
def selected_of_nothing(x, i):
    return x.index_select(0, i)


# `del` reads the name, so a loop carries it.
@found(call(1, {1: 2}, [V]), call(1, {1: 2}, []), call(-20, {1: 2}, [V]))
def deleted_in_a_loop(n, d, ys):
    for _ in (1, 2, 4):
        try:
            del d
            torch.stack(ys)
        except Exception:
            n += 10
            assert n < 15
    return n


@pytest.mark.parametrize("function, calls", FOUND, ids=lambda p: getattr(p, "__name__", ""))
def test_three_ways_agree(function: Callable[..., Any], calls: list[Args]) -> None:
    for given in calls:
        assert_same(eager(function, given), interpreted(function, given))
    for optimize in (0, 2):
        target = compile_at(function, optimize)
        for given in calls:
            assert_same(eager(function, given), compiled(target, given))


def test_known_ints_beyond_64_bits_are_refused() -> None:
    def sums(n):
        return n + 2**63

    with pytest.raises(scriptc.CompileError, match="an int that needs more than 64 bits"):
        scriptc.compile(sums)(1)
