"""Differences and integrals of values on a grid."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _slope(x: Tensor, spacing: Tensor | float, dim: int, edge_order: int) -> Tensor:
    """Return central differences, and one-sided ones of order 1 or 2 at the ends."""
    n = x.size(dim)
    if isinstance(spacing, Tensor):
        h = torch.diff(spacing).reshape(tuple(-1 if d == dim else 1 for d in range(x.dim())))
        steps = torch.diff(x, 1, dim) / h
        left, right = h.narrow(dim, 0, n - 2), h.narrow(dim, 1, n - 2)
        inner = (steps.narrow(dim, 0, n - 2) * right + steps.narrow(dim, 1, n - 2) * left) / (left + right)
        first, last = steps.narrow(dim, 0, 1), steps.narrow(dim, n - 2, 1)
        if edge_order == 2:
            first = first + (first - steps.narrow(dim, 1, 1)) * h.narrow(dim, 0, 1) / (
                h.narrow(dim, 0, 1) + h.narrow(dim, 1, 1)
            )
            last = last + (last - steps.narrow(dim, n - 3, 1)) * h.narrow(dim, n - 2, 1) / (
                h.narrow(dim, n - 2, 1) + h.narrow(dim, n - 3, 1)
            )
    else:
        steps = torch.diff(x, 1, dim) / spacing
        inner = (x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2)) / (2 * spacing)
        first, last = steps.narrow(dim, 0, 1), steps.narrow(dim, n - 2, 1)
        if edge_order == 2:
            first = 1.5 * first - 0.5 * steps.narrow(dim, 1, 1)
            last = 1.5 * last - 0.5 * steps.narrow(dim, n - 3, 1)
    return torch.cat([first, inner, last], dim)


@decomposes("torch.gradient")
def gradient(
    input: Tensor, *, spacing: float | list[float] | list[Tensor] | None = 1, dim: int | list[int] | None = None,
    edge_order: int = 1,
) -> list[Tensor]:  # fmt: skip
    dims = tuple(range(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if spacing is None or isinstance(spacing, (int, float)):
        return [_slope(input, 1 if spacing is None else spacing, d % input.dim(), edge_order) for d in dims]
    return [_slope(input, spacing[i], d % input.dim(), edge_order) for i, d in enumerate(dims)]


@decomposes("torch.diff", "Tensor.diff")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = dim % input.dim()
    result = input
    if prepend is not None:
        result = torch.cat([prepend, result], d)
    if append is not None:
        result = torch.cat([result, append], d)
    for _ in range(n):
        size = result.size(d)
        length = max(size - 1, 0)
        high, low = result.narrow(d, size - length, length), result.narrow(d, 0, length)
        result = high ^ low if input.dtype == torch.bool else high - low
    return result


def _spacing(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor | float:
    if x is None:
        return dx
    steps = torch.diff(x, 1, -1 if x.dim() == 1 else dim)
    if x.dim() == 1:
        return steps.reshape(tuple(-1 if i == dim else 1 for i in range(y.dim())))
    return steps


@decomposes("torch.trapezoid", "torch.trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    if y.dim() == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    d = dim % y.dim()
    if x is None and y.size(d) > 0:
        return (torch.sum(y, d) - (y.select(d, 0) + y.select(d, -1)) * 0.5) * dx
    length = max(y.size(d) - 1, 0)
    pairs = y.narrow(d, y.size(d) - length, length) + y.narrow(d, 0, length)
    return torch.sum(pairs * _spacing(y, x, dx, d), d) / 2


@decomposes("torch.cumulative_trapezoid")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    if y.dim() == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    d = dim % y.dim()
    length = max(y.size(d) - 1, 0)
    pairs = y.narrow(d, y.size(d) - length, length) + y.narrow(d, 0, length)
    return torch.cumsum(pairs * _spacing(y, x, dx, d), d) / 2
