"""Exceptions that leave compiled code with what their own __init__ has set."""

from __future__ import annotations

import copy

import pytest
import torch
from language.raised import DecodeError, Exhausted, leaves
from three_ways import compile_at

X = torch.arange(3.0)


class Budget(RuntimeError):
    """Its message is not what it was made with, and its args are several."""

    def __init__(self, used, limit):
        super().__init__("budget", used, limit)
        self.over = used - limit


def spends(xs, limit):
    used = 0
    for x in xs:
        used += x
        if used > limit:
            raise Budget(used, limit)
    return used


def caught(target, *args):
    with pytest.raises(Exception) as info:
        target(*args)
    return info.value


@pytest.mark.parametrize("n", [3, 6])
def test_attributes_are_those_of_eager(n: int) -> None:
    target = compile_at(leaves, 0)
    for x in (X, X + 1):
        expected, found = caught(leaves, x, n), caught(target, x, n)
        assert type(found) is type(expected)
        assert str(found).startswith(str(expected) + "\n  at ")
        held, wanted = copy.copy(vars(found)), copy.copy(vars(expected))
        if isinstance(expected, Exhausted):
            assert torch.equal(held.pop("tensor"), wanted.pop("tensor"))
        assert held == wanted
        assert isinstance(found, DecodeError)


def test_args_are_those_of_eager() -> None:
    target = compile_at(spends, 0)
    assert target([1, 2], 3) == 3
    for xs, limit in (([1, 2, 3], 3), ([9], 0)):
        expected, found = caught(spends, xs, limit), caught(target, xs, limit)
        assert found.args == expected.args
        assert vars(found) == vars(expected)
