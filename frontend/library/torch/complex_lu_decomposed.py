"""LU factorizations of complex matrices, column by column, as LAPACK's getf2 and getrs compute them."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def factor(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return both factors in one matrix, pivots counted from 1, and the first zero pivot or 0."""
    batch, rows, columns = A.shape[:-2], A.size(-2), A.size(-1)
    count = math.prod(batch)
    LU = A.reshape(count, rows, columns).clone()
    steps = min(rows, columns)
    pivots = torch.zeros(count, steps, dtype=torch.int32)
    info = torch.zeros(count, dtype=torch.int32)
    for i in range(steps):
        column = LU[:, i:, i]
        largest = torch.argmax(column.real.abs() + column.imag.abs(), 1) + i
        pivots[:, i] = largest + 1
        LU = _swapped(LU, largest, i)
        pivot = LU[:, i, i].clone()
        info = torch.where((info == 0) & (pivot == 0), i + 1, info)
        factors = LU[:, i + 1 :, i] / torch.where(pivot == 0, 1.0, pivot)[:, None]
        LU[:, i + 1 :, i] = factors
        LU[:, i + 1 :, i + 1 :] -= factors[:, :, None] * LU[:, i, i + 1 :].clone()[:, None]
    return LU.reshape(*batch, rows, columns), pivots.reshape(*batch, steps), info.reshape(batch)


def _swapped(x: Tensor, other: Tensor, i: int) -> Tensor:
    """Return [count, rows, columns] with row `i` of each matrix and another row exchanged."""
    rows = torch.arange(x.size(1))
    order = torch.where(rows == i, other[:, None], torch.where(rows == other[:, None], i, rows))
    return x[torch.arange(x.size(0))[:, None], order]


def solve(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    """Solve A X = B, or A^H X = B, for X."""
    rows, columns = B.size(-2), B.size(-1)
    batch = torch.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    count = math.prod(batch)
    factors = LU.expand(*batch, rows, rows).reshape(count, rows, rows)
    swaps = pivots.expand(*batch, rows).reshape(count, rows).long() - 1
    X = B.expand(*batch, rows, columns).reshape(count, rows, columns).clone()
    if adjoint:
        turned = torch.conj_physical(factors.mT)
        for i in range(rows):
            _eliminate_below(X, turned, i, True)
        for i in range(rows):
            _eliminate_above(X, turned, rows - 1 - i, False)
        for i in range(rows):
            X = _swapped(X, swaps[:, rows - 1 - i], rows - 1 - i)
    else:
        for i in range(rows):
            X = _swapped(X, swaps[:, i], i)
        for i in range(rows):
            _eliminate_below(X, factors, i, False)
        for i in range(rows):
            _eliminate_above(X, factors, rows - 1 - i, True)
    return X.reshape(*batch, rows, columns)


def _eliminate_below(X: Tensor, factors: Tensor, i: int, divides: bool) -> None:
    if divides:
        X[:, i] = X[:, i] / factors[:, i, i][:, None]
    X[:, i + 1 :] -= factors[:, i + 1 :, i][:, :, None] * X[:, i].clone()[:, None]


def _eliminate_above(X: Tensor, factors: Tensor, i: int, divides: bool) -> None:
    if divides:
        X[:, i] = X[:, i] / factors[:, i, i][:, None]
    X[:, :i] -= factors[:, :i, i][:, :, None] * X[:, i].clone()[:, None]
