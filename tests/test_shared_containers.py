"""Containers that are passed twice."""

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
