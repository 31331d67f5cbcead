"""NumPy's reductions, running sums and orders, over tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from scriptc.frontend.library.numpy.arrays_decomposed import (
    accumulator,
    array_of,
    axes_of,
    axis_of,
    dtype_of,
    few_numbers,
    memory_of,
    promoted,
    result_of,
    tensor_of,
)
from scriptc.frontend.library.registry import decomposes


@decomposes("numpy.sum", "ndarray.sum")
def sum_(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if axis is None and dtype is None and not keepdims and few_numbers(a):
        total = np.positive(a[0])
        for x in a[1:]:
            total = np.add(total, x)
        return total
    t = tensor_of(a)
    return result_of(torch.sum(t, axes_of(axis, t.dim()), keepdim=keepdims, dtype=accumulator(t, dtype)))


@decomposes("numpy.prod", "ndarray.prod")
def prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if axis is None and dtype is None and not keepdims and few_numbers(a):
        total = np.positive(a[0])
        for x in a[1:]:
            total = np.multiply(total, x)
        return total
    t = tensor_of(a)
    return result_of(torch.prod(t, axes_of(axis, t.dim()), keepdim=keepdims, dtype=accumulator(t, dtype)))


def inexact(t: torch.Tensor, dtype: Any) -> torch.Tensor:
    """Return a tensor as means and spreads compute it: integers as float64."""
    kind = dtype_of(dtype)
    if kind is not None:
        return t.to(kind)
    return t if t.is_floating_point() or t.is_complex() else t.to(torch.float64)


@decomposes("numpy.mean", "ndarray.mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if axis is None and dtype is None and not keepdims and few_numbers(a):
        return np.divide(np.sum(a), len(a))
    t = inexact(tensor_of(a), dtype)
    return result_of(torch.mean(t, axes_of(axis, t.dim()), keepdim=keepdims))


@decomposes("numpy.var", "ndarray.var")
def var(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    t = inexact(tensor_of(a), dtype)
    return result_of(torch.var(t, axes_of(axis, t.dim()), correction=ddof, keepdim=keepdims))


@decomposes("numpy.std", "ndarray.std")
def std(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    t = inexact(tensor_of(a), dtype)
    return result_of(torch.std(t, axes_of(axis, t.dim()), correction=ddof, keepdim=keepdims))


# ---- extremes ----


def check_some(t: torch.Tensor, axes: tuple[int, ...], name: str) -> None:
    """Raise for extremes of no elements."""
    if t.numel() == 0 and math.prod([t.size(d) for d in range(t.dim()) if d not in axes]) != 0:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


@decomposes("numpy.max", "numpy.amax", "ndarray.max")
def max_(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if axis is None and not keepdims and few_numbers(a):
        found = np.positive(a[0])
        for x in a[1:]:
            found = np.maximum(found, x)
        return found
    t = tensor_of(a)
    axes = axes_of(axis, t.dim())
    check_some(t, axes, "maximum")
    return result_of(torch.amax(t, axes, keepdim=keepdims))


@decomposes("numpy.min", "numpy.amin", "ndarray.min")
def min_(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if axis is None and not keepdims and few_numbers(a):
        found = np.positive(a[0])
        for x in a[1:]:
            found = np.minimum(found, x)
        return found
    t = tensor_of(a)
    axes = axes_of(axis, t.dim())
    check_some(t, axes, "minimum")
    return result_of(torch.amin(t, axes, keepdim=keepdims))


@decomposes("numpy.ptp")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.subtract(np.max(a, axis, keepdims=keepdims), np.min(a, axis, keepdims=keepdims))


def ordered(t: torch.Tensor) -> torch.Tensor:
    """Return a tensor that has an order: bools as integers."""
    return t.to(torch.uint8) if t.dtype == torch.bool else t


@decomposes("numpy.argmax", "ndarray.argmax")
def argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    t = ordered(tensor_of(a))
    if t.numel() == 0 and (axis is None or t.dim() == 0 or t.size(axis_of(axis, t.dim())) == 0):
        raise ValueError("attempt to get argmax of an empty sequence")
    if axis is None or t.dim() == 0:
        found = torch.argmax(t.reshape(-1))
        return array_of(found.reshape((1,) * t.dim())) if keepdims else result_of(found)
    return result_of(torch.argmax(t, axis_of(axis, t.dim()), keepdim=keepdims))


@decomposes("numpy.argmin", "ndarray.argmin")
def argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    t = ordered(tensor_of(a))
    if t.numel() == 0 and (axis is None or t.dim() == 0 or t.size(axis_of(axis, t.dim())) == 0):
        raise ValueError("attempt to get argmin of an empty sequence")
    if axis is None or t.dim() == 0:
        found = torch.argmin(t.reshape(-1))
        return array_of(found.reshape((1,) * t.dim())) if keepdims else result_of(found)
    return result_of(torch.argmin(t, axis_of(axis, t.dim()), keepdim=keepdims))


# ---- truths ----


@decomposes("numpy.any", "ndarray.any")
def any_(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    t = tensor_of(a) != 0
    return result_of(torch.any(t, axes_of(axis, t.dim()), keepdim=keepdims))


@decomposes("numpy.all", "ndarray.all")
def all_(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    t = tensor_of(a) != 0
    return result_of(torch.all(t, axes_of(axis, t.dim()), keepdim=keepdims))


@decomposes("numpy.count_nonzero")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    t = tensor_of(a) != 0
    return result_of(torch.sum(t, axes_of(axis, t.dim()), keepdim=keepdims))


@decomposes("numpy.array_equal")
def array_equal(a1: Any, a2: Any) -> bool:
    a, b = np.asarray(a1), np.asarray(a2)
    return a.shape == b.shape and bool(np.all(np.equal(a, b)))


@decomposes("numpy.isclose")
def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    x, y = np.asarray(a), array_of(tensor_of(b, promoted(np.asarray(b), 1.0)))
    near = np.less_equal(np.absolute(np.subtract(x, y)), np.add(atol, np.multiply(rtol, np.absolute(y))))
    found = np.logical_or(np.logical_and(near, np.isfinite(y)), np.equal(x, y))
    return np.logical_or(found, np.logical_and(np.isnan(x), np.isnan(y))) if equal_nan else found


@decomposes("numpy.allclose")
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


# ---- running sums, orders ----


@decomposes("numpy.cumsum", "ndarray.cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    t = tensor_of(a)
    kind = accumulator(t, dtype)
    flat = t.reshape(-1) if axis is None or t.dim() == 0 else t
    return array_of(torch.cumsum(flat, 0 if axis is None else axis_of(axis, flat.dim()), dtype=kind))


@decomposes("numpy.cumprod", "ndarray.cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    t = tensor_of(a)
    kind = accumulator(t, dtype)
    flat = t.reshape(-1) if axis is None or t.dim() == 0 else t
    return array_of(torch.cumprod(flat, 0 if axis is None else axis_of(axis, flat.dim()), dtype=kind))


@decomposes("numpy.diff")
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    t = tensor_of(a)
    if t.dim() == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    d = axis_of(axis, t.dim())
    for _ in range(n):
        size = t.size(d)
        after, before = t.narrow(d, min(1, size), max(size - 1, 0)), t.narrow(d, 0, max(size - 1, 0))
        t = after != before if t.dtype == torch.bool else after - before
    return array_of(t if n > 0 else t.clone())


@decomposes("numpy.sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    t = tensor_of(a)
    flat = t.reshape(-1) if axis is None else t
    return array_of(torch.sort(flat, dim=-1 if axis is None else axis_of(axis, t.dim()))[0])


@decomposes("ndarray.sort")
def sort_in_place(self: Any, axis: int = -1, kind: Any = None, *, stable: Any = None) -> None:
    t = memory_of(self)
    t.copy_(torch.sort(t, dim=axis_of(axis, t.dim()))[0])


@decomposes("numpy.argsort", "ndarray.argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    t = tensor_of(a)
    flat = t.reshape(-1) if axis is None or t.dim() == 0 else t
    return array_of(torch.argsort(flat, dim=-1 if axis is None else axis_of(axis, flat.dim()), stable=True))


@decomposes("numpy.searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    kind = promoted(a, np.asarray(v))
    return result_of(torch.searchsorted(tensor_of(a, kind), tensor_of(v, kind), right=side == "right"))


def distinct(t: torch.Tensor) -> torch.Tensor:
    """Return the different elements in order. All NaN count as one."""
    found = torch.unique(t)
    if not t.is_floating_point():
        return found
    return found[: int(min((found == found).sum().item() + 1, found.numel()))]


@decomposes("numpy.unique")
def unique(ar: Any, *, return_inverse: bool = False, return_counts: bool = False) -> Any:
    t = tensor_of(ar).reshape(-1)
    if not return_inverse and not return_counts:
        return array_of(distinct(t))
    found, inverse, counts = torch.unique(t, return_inverse=True, return_counts=True)
    if found.is_floating_point() and bool(torch.isnan(found).any()):
        raise NotImplementedError("scriptc: np.unique with inverse or counts of NaN is not supported")
    parts = [array_of(found)]
    if return_inverse:
        parts.append(array_of(inverse.reshape(tensor_of(ar).shape)))
    if return_counts:
        parts.append(array_of(counts))
    return tuple(parts)


@decomposes("numpy.median")
def median(a: Any, axis: Any = None) -> Any:
    t = inexact(tensor_of(a), None)
    flat, d = (t.reshape(-1), 0) if axis is None else (t, axis_of(axis, t.dim()))
    size = flat.size(d)
    if size == 0:
        return result_of(torch.mean(flat, d))
    ordered_ = torch.sort(flat, dim=d)[0]
    middle = torch.mean(ordered_.narrow(d, (size - 1) // 2, 2 - size % 2), d)
    return result_of(torch.where(torch.isnan(ordered_.select(d, size - 1)), math.nan, middle))
