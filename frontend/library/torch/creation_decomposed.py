"""Evenly spaced values, and other new tensors in terms of simpler ones."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _end(x: Tensor | float, count: int, dtype: torch.dtype) -> Tensor | float:
    """Return an end of the range, infinite if the dtype holds it as infinite."""
    if isinstance(x, (int, float)) and not -_SURELY_HELD <= x <= _SURELY_HELD:
        made = torch.full((count,), x, dtype=dtype)[0].item()
        return made if abs(made) == math.inf else x
    return x


def _span(start: Tensor | float, end: Tensor | float, dtype: torch.dtype) -> Tensor | float:
    """Return the difference of the ends, infinite if their dtype does not hold it."""
    if isinstance(start, (int, float)) and isinstance(end, (int, float)) and dtype.is_floating_point:
        if not -_SURELY_HELD / 2 <= start <= _SURELY_HELD / 2 or not -_SURELY_HELD / 2 <= end <= _SURELY_HELD / 2:
            span = torch.tensor(float(end) - float(start), dtype=torch.float64).to(dtype).item()
            return span if abs(span) == math.inf else end - start
    return end - start


def _linspace(start: Tensor | float, end: Tensor | float, steps: int, dtype: torch.dtype) -> Tensor:
    """Compute values from both ends towards the middle, so that both ends are exact."""
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
    """Return the dtype of the values from start to end."""
    default = torch.get_default_dtype()
    if _is_complex(start) or _is_complex(end):
        inferred = torch.complex128 if default == torch.float64 else torch.complex64
        if dtype is not None and not dtype.is_complex:
            raise RuntimeError(f"torch.{name}(): inferred dtype {inferred} can't be safely cast to passed dtype {dtype}")
        return inferred if dtype is None else dtype
    return default if dtype is None else dtype


def _spaced(name: str, start: Tensor | float, end: Tensor | float, steps: int, dtype: torch.dtype | None) -> Tensor:
    """Return the values in the dtype of the computation: float64 for integers."""
    kind = _kind(name, start, end, dtype)
    found = []
    for end_name, x in (("start", start), ("end", end)):
        if isinstance(x, Tensor):
            found.append(f"{end_name} with {x.dim()} dimension(s)")
    if isinstance(start, Tensor) and start.dim() > 0 or isinstance(end, Tensor) and end.dim() > 0:
        dims = " and ".join(found)
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {dims}.")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.is_floating_point or kind.is_complex:
        low, high = (x.to(kind) if isinstance(x, Tensor) else x for x in (start, end))
        return _linspace(low, high, steps, kind)
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


@decomposes("torch.range")
def range_with_end(start: float, end: float, step: float = 1, *, dtype: torch.dtype | None = None) -> Tensor:
    """Return start, start + step, ... up to the end, which counts. ATen computes them in float64, or in int64."""
    warnings.warn(_RANGE_IS_DEPRECATED, stacklevel=1)
    kind = torch.get_default_dtype() if dtype is None else dtype
    if not kind.is_floating_point and not (math.isfinite(start) and math.isfinite(end) and math.isfinite(step)):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    low, high, by = (start, end, step) if kind.is_floating_point else (int(start), int(end), int(step))
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"unsupported range: {low:g} -> {high:g}")
    if by > 0 and high < low or by < 0 and high > low:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    inner = torch.float64 if kind.is_floating_point else torch.int64
    count = int((high - low) / by) + 1
    return (torch.arange(count, dtype=inner) * by + low).to(kind)


@decomposes("torch.fill", "Tensor.fill")
def fill(input: Tensor, value: Tensor | float) -> Tensor:
    return input.clone().fill_(value)  # not full_like, which needs no gradient where input does


@decomposes("torch.empty_strided")
def empty_strided(
    size: tuple[int, ...], stride: tuple[int, ...], *, dtype: torch.dtype | None = None
) -> Tensor:  # fmt: skip
    extent = 1
    for n, step in zip(size, stride):  # noqa: B905
        extent = extent + (n - 1) * step if n > 0 else 0
        if n == 0:
            break
    return torch.empty(extent, dtype=dtype).as_strided(size, stride)


@decomposes("torch.eye")
def eye(n: int, m: int | None = None, *, dtype: torch.dtype | None = None) -> Tensor:
    columns = n if m is None else m
    if n < 0 or columns < 0:
        found = f"n must be greater or equal to 0, got {n}" if n < 0 else f"m must be greater or equal to 0, got {columns}"
        raise RuntimeError(found)
    diagonal = torch.arange(n).unsqueeze(1) == torch.arange(columns)
    return diagonal.to(torch.get_default_dtype() if dtype is None else dtype)


_RANGE_IS_DEPRECATED = (
    "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
    "range builtin. Instead, use torch.arange, which produces values in [start, end)."
)
_SURELY_HELD = 6e4  # all floating dtypes hold numbers up to this
