"""Containers that are passed twice, that are empty, that may hold None, and those of results, which are new at each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from three_ways import Outcome, assert_same

import scriptc


def both(a, rows):
    return a, rows


def appended(a, rows):
    n = 0
    for row in rows:
        row.append(3)
        n += len(a)
        for v in a:
            n += v
    return n, a, rows


@pytest.mark.parametrize("function", [both, appended], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "make", [lambda a: (a, [[1], a]), lambda a: (a, [a, [2], a])], ids=["behind another", "before another"]
)
def test_an_empty_list_that_is_an_item_of_another_argument(function: Callable[..., Any], make: Callable[..., Any]) -> None:
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for _ in range(2):
        wanted, found = make([]), make([])
        assert_same(Outcome(wanted, function(*wanted)), Outcome(found, compiled(*found)))


def sets_a_row(rows, n):
    rows[n] = [n, 5]
    return len(rows)


def appends_a_row(rows, n):
    rows.append([1.5])
    return rows


@pytest.mark.parametrize(
    ("function", "make"),
    [(sets_a_row, lambda: [[]]), (sets_a_row, lambda: [[], []]), (sets_a_row, lambda: {0: []}), (appends_a_row, lambda: [[]])],
)
def test_rows_that_enter_a_list_of_empty_lists(function: Callable[..., Any], make: Callable[[], Any]) -> None:
    """The bridge once wrote rows back as if they were of tensors."""
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for _ in range(2):
        wanted, found = make(), make()
        assert_same(Outcome((wanted,), function(wanted, 0)), Outcome((found,), compiled(found, 0)))


def returned_set(n):
    return {0, n % 1 + 2} if n > 5 else {0, 2}


def sets_in_tuples(n):
    return {0, 2}, {0, 2} | {"a"}, n


def one_set_twice(n):
    s = {1, 2}
    return s, s


def changed_in_a_tuple(n):
    t = ({1}, 2)
    t[0].add(5)
    return t, len(t[0])


class Held:
    pass


def set_in_an_object(n):
    held = Held()
    held.s = {1, "a"}
    return held.s, n


@pytest.mark.parametrize(
    "function", [returned_set, sets_in_tuples, one_set_twice, changed_in_a_tuple, set_in_an_object], ids=lambda f: f.__name__
)
def test_each_call_returns_new_sets(function: Callable[..., Any]) -> None:
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for _ in range(3):
        wanted, found = function(1), compiled(1)
        assert_same(Outcome((), wanted), Outcome((), found))
        for part in found if isinstance(found, tuple) else [found]:
            if isinstance(part, set):
                part.clear()
    if function is one_set_twice:
        first, second = compiled(1)
        assert first is second


def filled(x, ids, value):
    return x.index_fill(0, ids, value[0] or value[-1])


def test_a_number_that_may_be_none() -> None:
    compiled = scriptc.compile(filled, optimize=OPTIMIZE)
    x, ids = torch.zeros(3), torch.tensor([1])
    assert compiled(x, ids, [None, 1.5]).tolist() == [0, 1.5, 0]
    with pytest.raises(TypeError):
        compiled(x, ids, [None, None, 1.5, None])


def above_the_first(words):
    return [w for w in words if w > words[0]], max(words, default="b"), ",".join(words)


def test_strings_of_a_list_that_may_hold_none_compare() -> None:
    compiled = scriptc.compile(above_the_first, optimize=OPTIMIZE)
    with pytest.raises(TypeError):
        compiled(["a", None])
    for words in (["a", "b", "a"], ["b", "a"], []):
        assert compiled(words) == above_the_first(words)
