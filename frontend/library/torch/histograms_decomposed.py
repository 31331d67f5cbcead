"""Histograms."""

from __future__ import annotations

import builtins
import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import C_NAMES


@decomposes("torch.histogram", "Tensor.histogram")
def histogram(
    input: Tensor, bins: int | Tensor, *, range: tuple[float, float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return counts and edges.

    A value on an edge belongs to the bin above, on the last edge to the last bin.
    """
    flat = input.reshape(-1)
    if isinstance(bins, Tensor):
        _check_edges(flat, bins, 0)
    if weight is not None:
        _check_weight(flat.unsqueeze(1), weight.reshape(-1))
    edges = _edges(flat, bins, None if range is None else range[0], None if range is None else range[1])
    at, inside = _bins(flat, edges)
    each = inside if weight is None else inside * weight.reshape(-1)
    found = torch.zeros(edges.size(0) - 1, dtype=input.dtype).scatter_add(0, at, each)
    if density:
        found = found / torch.sum(found) / torch.diff(edges)
    return torch.return_types.histogram((found, edges))


def _check_edges(input: Tensor, edges: Tensor, dim: int) -> None:
    if input.dtype != edges.dtype:
        dtypes = f"input with dtype {C_NAMES[input.dtype]} and bins for dimension {dim} with dtype {C_NAMES[edges.dtype]}"
        raise RuntimeError(
            f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got {dtypes}"
        )
    if edges.dim() != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.dim()} dimensions in the bins tensor "
            f"for dimension {dim}"
        )
    if edges.numel() == 0:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )


def _check_weight(points: Tensor, weight: Tensor) -> None:
    if points.dtype != weight.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
            f"got input({C_NAMES[points.dtype]}), and weight({C_NAMES[weight.dtype]})"
        )
    if tuple(points.shape[:-1]) != ((1,) if weight.dim() == 0 else tuple(weight.shape)):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(points.shape)} and weight with shape {list(weight.shape)}"
        )


def _edges(line: Tensor, bins: int | Tensor, low: float | None, high: float | None) -> Tensor:
    if isinstance(bins, Tensor):
        return bins.clone()
    if low is None or high is None:
        low, high = (0.0, 1.0) if line.numel() == 0 else (float(torch.amin(line)), float(torch.amax(line)))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low, high, bins + 1, dtype=line.dtype)


def _bins(line: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bin of each element, and 1 if the element lies in a bin, else 0."""
    count = edges.size(0) - 1
    at = torch.clamp(torch.searchsorted(edges, line, right=True) - 1, 0, count - 1)
    return at, ((line >= edges[0]) & (line <= edges[count])).to(line.dtype)


@decomposes("torch.histogramdd", "torch.functional.histogramdd")
def histogramdd(
    input: Tensor, bins: int | list[int] | list[Tensor], range: tuple[float, ...] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """Return counts and edges.

    `bins` is given for each coordinate, or as one count for a known number of them.
    """
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    count = len(bins)  # type: ignore[arg-type]
    n = input.size(-1)
    if n != count:
        if isinstance(bins[0], Tensor):  # type: ignore[index]
            found = f"expected {n} sequences of bin edges for a {n}-dimensional histogram but got {count}"
            raise RuntimeError(f"torch.histogramdd: {found}")
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    for d in builtins.range(count):
        if isinstance(bins[d], Tensor):  # type: ignore[index]
            _check_edges(input, bins[d], d)  # type: ignore[index]
    if weight is not None:
        _check_weight(input, weight)
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


@decomposes("torch.histc", "Tensor.histc")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    flat = input.reshape(-1)
    low, high = float(min), float(max)
    if low == high and flat.numel() > 0:
        low, high = float(torch.amin(flat)), float(torch.amax(flat))
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    torch.linspace(low, high, bins + 1, dtype=input.dtype)  # raises if the dtype does not hold the edges
    at = torch.clamp(((flat - low) / (high - low) * bins).to(torch.int64), 0, bins - 1)
    inside = (flat >= low) & (flat <= high)
    return torch.zeros(bins, dtype=input.dtype).scatter_add(0, at, inside.to(input.dtype))
