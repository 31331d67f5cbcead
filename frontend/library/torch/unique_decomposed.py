"""Distinct elements, and distinct parts along a dim."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _runs(line: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the starts of runs of equal rows, the run of each row, and the lengths of runs."""
    n = line.size(0)
    begins = torch.ones(n, dtype=torch.bool)
    if n > 1:
        differ = line[1:] != line[: n - 1]
        begins[1:] = differ if line.dim() == 1 else torch.any(differ, 1)
    starts = torch.nonzero(begins).reshape(-1)
    ends = torch.cat([starts, torch.full((1,), n, dtype=torch.int64)])
    return starts, torch.cumsum(begins, 0) - 1, torch.diff(ends)[: starts.size(0)]


@decomposes("torch._unique2")
def unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    flat = input.reshape(-1)
    order = torch.argsort(flat, stable=True)
    ordered = torch.index_select(flat, 0, order)
    starts, runs, counts = _runs(ordered)
    inverse = torch.scatter(torch.zeros_like(order), 0, order, runs).reshape(input.shape)
    return torch.index_select(ordered, 0, starts), *_asked_for(inverse, counts, return_inverse, return_counts)


@decomposes("torch._VF.unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    if dim is not None and not (dim == 0 and input.dim() == 1):
        return _unique_along(input, dim, True)
    flat = input.reshape(-1)
    starts, runs, counts = _runs(flat)
    inverse = runs.reshape(input.shape)
    return torch.index_select(flat, 0, starts), *_asked_for(inverse, counts, return_inverse, return_counts)


@decomposes("torch._VF.unique_dim")
def unique_dim(
    input: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    return _unique_along(input, dim, False)


def _unique_along(input: Tensor, dim: int, consecutive: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct slices along a dim, in ascending order or in the order of their runs."""
    _check_parts(input, dim)
    moved = torch.movedim(input, dim, 0)
    rest = tuple(moved.shape[1:])
    count = input.size(dim)
    if count == 0:
        empty = torch.empty(0, dtype=torch.int64)
        return torch.empty_like(input), empty, empty.clone()
    rows = moved.reshape(count, -1)
    order = torch.arange(count)
    if not consecutive:
        order = _order_of_rows(rows, order)
        rows = torch.index_select(rows, 0, order)
    starts, runs, counts = _runs(rows)
    inverse = torch.scatter(torch.zeros_like(order), 0, order, runs)
    parts = torch.index_select(rows, 0, starts).view(-1, *rest)
    return torch.movedim(parts, 0, dim), inverse, counts


def _check_parts(input: Tensor, dim: int) -> None:
    empty = 0
    for n in input.shape:
        empty += 1 if n == 0 else 0
    if input.size(dim) == 0 and empty != 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if input.size(dim) != 0 and empty != 0:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


def _order_of_rows(rows: Tensor, order: Tensor) -> Tensor:
    """Return the lexicographic order of rows, by stable sorts from the last column on."""
    for i in range(rows.size(1)):
        column = torch.index_select(rows.select(1, rows.size(1) - 1 - i), 0, order)
        order = torch.index_select(order, 0, torch.argsort(column, stable=True))
    return order


def _asked_for(inverse: Tensor, counts: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor]:
    """Return both tensors, empty where the caller does not ask for them, as ATen does."""
    found = inverse if return_inverse else torch.empty(0, dtype=torch.int64)
    return found, counts if return_counts else torch.empty(0, dtype=torch.int64)


@decomposes("Tensor.unique")
def unique(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    return torch.unique(self, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim)


@decomposes("Tensor.unique_consecutive")
def unique_consecutive_of(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    return torch.unique_consecutive(self, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
