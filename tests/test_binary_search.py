"""`torch.searchsorted` and `torch.bucketize`: where ATen's binary search ends, also in sequences that are not sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from compiled_together import run_together
from three_ways import assert_same, call, compiled, eager

import scriptc

NAN, INF = float("nan"), float("inf")
VALUES = torch.tensor([[0.0, 0.5, 1.0, 3.0], [4.0, NAN, INF, -INF]])
LINES = [
    torch.tensor([0.5, 3.0, NAN]), torch.tensor([0.5, 3.0, 4.0, 5.0, NAN, NAN]), torch.tensor([NAN, 1.0, 0.0, 4.0, 3.0]),
    torch.tensor([1.0]), torch.zeros(0), torch.tensor([0.5] * 9),
]  # fmt: skip


def left(line: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.searchsorted(line, x), torch.bucketize(x, line, out_int32=True)


def right(line: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.searchsorted(line, x, side="right"), torch.bucketize(x, line, right=True)


def in_rows(line: torch.Tensor, x: torch.Tensor) -> Any:
    rows = torch.stack([line, line.flip(0)])
    return torch.searchsorted(rows, x), torch.searchsorted(rows, x, sorter=torch.argsort(rows), right=True)


def of_numbers(line: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.searchsorted(line, float(x[0, 3])), torch.bucketize(3, line), torch.bucketize(x[1, 0], line)


def test_the_search_ends_where_that_of_aten_ends() -> None:
    def checked(function: Callable[..., Any]) -> Callable[[], None]:
        def body() -> None:
            made = scriptc.compile(function, optimize=0)
            for line in LINES:
                assert_same(eager(function, call(line, VALUES)), compiled(made, call(line, VALUES)))

        return body

    assert run_together([checked(function) for function in (left, right, in_rows, of_numbers)]) == [None] * 4
