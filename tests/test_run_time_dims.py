"""Functions whose dim, or number of parts, is an argument of the compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from three_ways import Args, assert_same, call, compile_at, compiled, eager, interpreted

MATRIX = torch.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0], [0.5, 6.0, 2.5]])


def extremes(x, dim):
    """A dim of run time was once taken for the other operand of an elementwise maximum."""
    return torch.max(x, dim)[0], x.min(dim=dim)[1], torch.max(x, dim, True)[0], torch.min(x, x * dim)


def reductions(x, dim):
    several = x.sum(dim), x.var(dim), x.norm(2, dim), x.logsumexp(dim), x.count_nonzero(dim)
    return several, x.median(dim)[0], x.kthvalue(2, dim)[1]


def scans_and_orders(x, dim):
    return x.cumsum(dim), x.cummax(dim)[1], x.sort(dim)[0], x.topk(2, dim)[0], x.flip(dim), x.roll(1, dim), x.diff(dim=dim)


def views(x, dim):
    return x.select(dim, 0), x.narrow(dim, 0, 2), x.unsqueeze(dim), x.transpose(dim, 0), x.unbind(dim), x.chunk(2, dim)


def parts_of_one_size(x, n):
    """Parts of different sizes were once returned."""
    return torch.hsplit(x, n), x[:, 0].hsplit([1, 2])


def parts_along_other_dims(x, n):
    return torch.vsplit(x, n), torch.dsplit(x[None], n)


DIMS = [call(MATRIX, 0), call(MATRIX, 1), call(MATRIX, -1)]
PARTS = [call(MATRIX, 3), call(MATRIX, 2), call(MATRIX, 0)]


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    ("function", "calls"),
    [
        *((f, DIMS) for f in (extremes, reductions, scans_and_orders, views)),
        *((f, PARTS) for f in (parts_of_one_size, parts_along_other_dims)),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_three_ways_agree(function: Callable[..., Any], calls: list[Args]) -> None:
    target = compile_at(function, 0)
    for given in calls:
        expected = eager(function, given)
        assert_same(expected, compiled(target, given))
        assert_same(expected, interpreted(function, given, target))
