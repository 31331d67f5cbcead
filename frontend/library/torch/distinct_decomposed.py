"""Distinct values, combinations, differences of a function on a grid, and evenly spaced values."""

from __future__ import annotations

import builtins
import math
from typing import Any

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _runs(line: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of equal neighbours among elements or rows: where each run begins, the run of each of them, and the lengths."""
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
    """The distinct parts of a tensor along a dim, in ascending order or as they follow each other."""
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
    """Where the rows stand in lexicographic order: sorted by each column, the last first, equal ones left as they are."""
    for i in range(rows.size(1)):
        column = torch.index_select(rows.select(1, rows.size(1) - 1 - i), 0, order)
        order = torch.index_select(order, 0, torch.argsort(column, stable=True))
    return order


def _asked_for(inverse: Tensor, counts: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Tensor, Tensor]:
    """ATen leaves empty what is not asked for."""
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


@decomposes("torch.combinations")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    if input.dim() != 1:
        raise RuntimeError("Expect a 1D vector")
    n = input.size(0)
    if r == 0:
        return torch.empty(0, dtype=input.dtype)
    index = torch.arange(n)
    grids = [t.reshape(-1) for t in torch.meshgrid(*([index] * r), indexing="ij")]
    allowed = torch.ones(grids[0].size(0), dtype=torch.bool)
    for a, b in zip(grids[:-1], grids[1:]):  # noqa: B905
        allowed = allowed & (a <= b if with_replacement else a < b)
    places = torch.nonzero(allowed).reshape(-1)
    return torch.stack([torch.index_select(input, 0, torch.index_select(g, 0, places)) for g in grids], 1)


_SURELY_HELD = 6e4  # by all floating dtypes


def _end(x: Tensor | float, count: int, dtype: torch.dtype) -> Tensor | float:
    """A number as it stands in a tensor of so many; RuntimeError where it does not fit."""
    if isinstance(x, (int, float)) and not -_SURELY_HELD <= x <= _SURELY_HELD:
        made = torch.full((count,), x, dtype=dtype)[0].item()
        return made if abs(made) == math.inf else x
    return x


def _span(start: Tensor | float, end: Tensor | float, dtype: torch.dtype) -> Tensor | float:
    """The difference of the ends, infinite where their dtype does not hold it."""
    if isinstance(start, (int, float)) and isinstance(end, (int, float)) and dtype.is_floating_point:
        if not -_SURELY_HELD / 2 <= start <= _SURELY_HELD / 2 or not -_SURELY_HELD / 2 <= end <= _SURELY_HELD / 2:
            span = torch.tensor(float(end) - float(start), dtype=torch.float64).to(dtype).item()
            return span if abs(span) == math.inf else end - start
    return end - start


def _linspace(start: Tensor | float, end: Tensor | float, steps: int, dtype: torch.dtype) -> Tensor:
    """From both ends towards the middle, so that both are met exactly."""
    index = torch.arange(steps).to(dtype)
    if steps == 1:
        return index + _end(start, 1, dtype)
    if steps > 1:
        start, end = _end(start, 2, dtype), _end(end, 2, dtype)
    step = _span(start, end, dtype) / (steps - 1)
    return torch.where(torch.arange(steps) < steps // 2, start + step * index, end - step * (steps - 1 - index))


def _is_complex(x: Tensor | float) -> bool:
    return x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)


def _kind(name: str, start: Tensor | float, end: Tensor | float, dtype: torch.dtype | None) -> torch.dtype:
    """The dtype of numbers from start to end."""
    default = torch.get_default_dtype()
    if _is_complex(start) or _is_complex(end):
        inferred = torch.complex128 if default == torch.float64 else torch.complex64
        if dtype is not None and not dtype.is_complex:
            raise RuntimeError(f"torch.{name}(): inferred dtype {inferred} can't be safely cast to passed dtype {dtype}")
        return inferred if dtype is None else dtype
    return default if dtype is None else dtype


def _spaced(name: str, start: Tensor | float, end: Tensor | float, steps: int, dtype: torch.dtype | None) -> Tensor:
    """The numbers from start to end in the dtype that they are computed in: whole ones in double, from whole ends."""
    kind = _kind(name, start, end, dtype)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.is_floating_point or kind.is_complex:
        return _linspace(start, end, steps, kind)
    if steps == 0:
        return torch.empty(0)
    if steps == 1 and (kind == torch.bool or name == "logspace"):
        return _linspace(start, end, steps, torch.float64)
    if kind == torch.bool:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    ends = [x.to(kind) if isinstance(x, Tensor) else torch.full((), x, dtype=kind) for x in (start, end)]
    return _linspace(ends[0].double(), ends[1].double(), steps, torch.float64)


@decomposes("torch.linspace")
def linspace(
    start: Tensor | float, end: Tensor | float, steps: int, *, dtype: torch.dtype | None = None
) -> Tensor:  # fmt: skip
    return _spaced("linspace", start, end, steps, dtype).to(_kind("linspace", start, end, dtype))


@decomposes("torch.logspace")
def logspace(
    start: Tensor | float, end: Tensor | float, steps: int, base: float = 10.0, *, dtype: torch.dtype | None = None
) -> Tensor:  # fmt: skip
    return torch.pow(base, _spaced("logspace", start, end, steps, dtype)).to(_kind("logspace", start, end, dtype))


@decomposes("torch.fill", "Tensor.fill")
def fill(input: Tensor, value: Tensor | float) -> Tensor:
    if isinstance(value, Tensor):
        return torch.empty_like(input).copy_(value)
    return torch.full_like(input, value)


def _slope(x: Tensor, spacing: Tensor | float, dim: int, edge_order: int) -> Tensor:
    """Central differences inside, one-sided ones of first or second order at the ends."""
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


@decomposes("torch.nonzero_static", "Tensor.nonzero_static")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    found = torch.nonzero(input)
    result = torch.full((size, input.dim()), fill_value, dtype=torch.int64)
    count = min(found.size(0), size)
    result[:count] = found[:count]
    return result


@decomposes("torch.histogram", "Tensor.histogram")
def histogram(
    input: Tensor, bins: int | Tensor, *, range: tuple[float, float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """A value on an edge belongs to the bin above it, on the last edge to the last bin."""
    flat = input.reshape(-1)
    edges = _edges(flat, bins, None if range is None else range[0], None if range is None else range[1])
    at, inside = _bins(flat, edges)
    each = inside if weight is None else inside * weight.reshape(-1)
    found = torch.zeros(edges.size(0) - 1, dtype=input.dtype).scatter_add(0, at, each)
    if density:
        found = found / torch.sum(found) / torch.diff(edges)
    return torch.return_types.histogram((found, edges))


def _edges(line: Tensor, bins: int | Tensor, low: float | None, high: float | None) -> Tensor:
    if isinstance(bins, Tensor):
        return bins.clone()
    if low is None or high is None:
        low, high = (0.0, 1.0) if line.numel() == 0 else (float(torch.amin(line)), float(torch.amax(line)))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low, high, bins + 1, dtype=line.dtype)


def _bins(line: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The bin of each element, and 1 where it lies in one, else 0."""
    count = edges.size(0) - 1
    at = torch.clamp(torch.searchsorted(edges, line, right=True) - 1, 0, count - 1)
    return at, ((line >= edges[0]) & (line <= edges[count])).to(line.dtype)


@decomposes("torch.histogramdd", "torch.functional.histogramdd")
def histogramdd(
    input: Tensor, bins: int | list[int] | list[Tensor], range: tuple[float, ...] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """Bins are given for each number of a point, or as one count for all of the numbers, which then must be known."""
    count = len(bins)  # type: ignore[arg-type]
    points = input.reshape(-1, input.size(-1))
    lines = [points.select(1, d) for d in builtins.range(count)]
    edges = [
        _edges(line, bins[d], None if range is None else range[2 * d], None if range is None else range[2 * d + 1])  # type: ignore[index]
        for d, line in enumerate(lines)
    ]
    at, inside = _bins(lines[0], edges[0])
    for d in builtins.range(1, count):
        place, fits = _bins(lines[d], edges[d])
        at, inside = at * (edges[d].size(0) - 1) + place, inside * fits
    each = inside if weight is None else inside * weight.reshape(-1)
    sizes = tuple(e.size(0) - 1 for e in edges)
    total = 1
    for n in sizes:
        total = total * n
    found = torch.zeros(total, dtype=input.dtype).scatter_add(0, at, each).reshape(sizes)
    if density:
        found = found / torch.sum(found)
        for d, e in enumerate(edges):
            found = found / torch.diff(e).reshape(tuple(-1 if i == d else 1 for i in builtins.range(count)))
    return torch.return_types.histogramdd((found, tuple(edges)))


@decomposes("torch.bincount", "Tensor.bincount")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if input.is_floating_point() or input.dtype == torch.bool:
        raise NotImplementedError(f'"bincount_cpu" not implemented for {input.dtype}')
    if input.dim() != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    size = minlength
    if input.numel() > 0:
        if input.min() < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        size = max(int(input.max()) + 1, minlength)
    if weights is None:
        return torch.zeros(size, dtype=torch.int64).index_add(0, input, torch.ones_like(input, dtype=torch.int64))
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kept = weights if weights.dtype == torch.float32 else weights.to(torch.float64)
    return torch.zeros(size, dtype=kept.dtype).index_add(0, input, kept)
