"""Differences and integrals of values on a grid."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.shapes_decomposed import dim_of


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


def _check_dims(input: Tensor, dims: tuple[int, ...], edge_order: int) -> None:
    if edge_order != 1 and edge_order != 2:
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    wrapped = tuple(dim_of(d, input.dim()) for d in dims)
    for i, d in enumerate(wrapped):
        if d in wrapped[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    for d in wrapped:
        if input.size(d) <= edge_order:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")


def _refuse_spacing(count: int, rank: int, all_dims: bool) -> NoReturn:
    if all_dims:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {rank}', since dim argument was not given, but got a list of length {count}"
        )
    raise RuntimeError(
        "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
        f"length, but got a spacing argument of length {count} and a dim argument of length {rank}."
    )


@decomposes("torch.gradient")
def gradient(
    input: Tensor, *, spacing: float | list[float] | list[Tensor] | None = 1, dim: int | list[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:  # fmt: skip
    dims = tuple(range(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    _check_dims(input, dims, edge_order)
    if spacing is not None and not isinstance(spacing, (int, float)) and len(spacing) != len(dims):
        _refuse_spacing(len(spacing), len(dims), dim is None)
    if spacing is None or isinstance(spacing, (int, float)):
        return tuple(_slope(input, 1 if spacing is None else spacing, d % input.dim(), edge_order) for d in dims)
    for step in spacing:
        if isinstance(step, Tensor) and step.dim() != 1:
            found = f"got an element with {step.dim()} dimensions!"
            raise RuntimeError(f"torch.gradient expected each element of spacing to have one dimension, but {found}")
    return tuple(_slope(input, spacing[i], d % input.dim(), edge_order) for i, d in enumerate(dims))


def _check_joined(input: Tensor, other: Tensor, dim: int) -> None:
    if other.dim() != input.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d in range(input.dim()):
        if d != dim and other.size(d) != input.size(d):
            sizes = f"input.size({d}) = {input.size(d)}, but got tensor.size({d}) = {other.size(d)}"
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                f"dimension; {sizes}"
            )


@decomposes("torch.diff", "Tensor.diff")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = dim_of(dim, input.dim())
    if prepend is not None:
        _check_joined(input, prepend, d)
    if append is not None:
        _check_joined(input, append, d)
    if n == 0:
        return input.clone()
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


def _spacing(name: str, y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor | float:
    if x is None:
        if y.dtype == torch.bool:
            raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
        return dx
    if y.dtype == torch.bool or x.dtype == torch.bool:
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        return torch.diff(x).reshape(tuple(-1 if i == dim else 1 for i in range(y.dim())))
    grid = x.reshape((1,) * (y.dim() - x.dim()) + tuple(x.shape))
    if grid.size(dim) == 0:
        return grid
    return torch.diff(grid, 1, dim)


@decomposes("torch.trapezoid", "torch.trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    if y.dim() == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    d = dim % y.dim()
    if x is None and y.size(d) > 0:
        return (torch.sum(y, d) - (y.select(d, 0) + y.select(d, -1)) * 0.5) * dx
    if x is not None and y.size(d) == 0:  # eager does not look at x
        dtype = torch.promote_types(y.dtype, x.dtype)
        inexact = dtype.is_floating_point or dtype.is_complex
        return torch.sum(y, d).to(dtype if inexact else torch.get_default_dtype())
    length = max(y.size(d) - 1, 0)
    pairs = y.narrow(d, y.size(d) - length, length) + y.narrow(d, 0, length)
    return torch.sum(pairs * _spacing("trapezoid", y, x, dx, d), d) / 2


@decomposes("torch.cumulative_trapezoid")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    if y.dim() == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    d = dim % y.dim()
    length = max(y.size(d) - 1, 0)
    pairs = y.narrow(d, y.size(d) - length, length) + y.narrow(d, 0, length)
    return torch.cumsum(pairs * _spacing("cumulative_trapezoid", y, x, dx, d), d) / 2
