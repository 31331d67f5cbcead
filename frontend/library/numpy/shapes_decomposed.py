"""NumPy's functions that change shapes, join and choose, over tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from scriptc.frontend.library.numpy.arrays_decomposed import (
    array_of,
    axes_of,
    axis_of,
    check_broadcast,
    common_of,
    flipped,
    is_scalar,
    memory_of,
    promoted,
    read_only,
    refuse_form,
    result_of,
    shape_text,
    tensor_of,
)
from scriptc.frontend.library.registry import decomposes

# ---- shapes ----


def reshaped(t: torch.Tensor, shape: Any) -> torch.Tensor:
    sizes = (shape,) if is_scalar(shape) else tuple(shape)
    known = math.prod([n for n in sizes if n != -1])
    fits = t.numel() == known if -1 not in sizes else known != 0 and t.numel() % known == 0
    if not fits:
        names = ",".join([str(n) if n != -1 else "newaxis" for n in sizes]) + ("," if len(sizes) == 1 else "")
        raise ValueError(f"cannot reshape array of size {t.numel()} into shape ({names})")
    return t.reshape(sizes)


@decomposes("numpy.reshape")
def reshape(a: Any, shape: Any) -> Any:
    return array_of(reshaped(memory_of(a), shape))


@decomposes("ndarray.reshape")
def reshape_method(self: Any, *shape: Any) -> Any:
    return array_of(reshaped(memory_of(self), shape[0] if len(shape) == 1 else shape))


@decomposes("numpy.ravel", "ndarray.ravel")
def ravel(a: Any) -> Any:
    return array_of(memory_of(a).reshape(-1))


@decomposes("ndarray.flatten")
def flatten(self: Any) -> Any:
    return array_of(tensor_of(self).reshape(-1).clone())


def permuted(t: torch.Tensor, axes: Any) -> torch.Tensor:
    if axes is None:
        return t.permute(tuple(range(t.dim()))[::-1])
    if len(axes) != t.dim():
        raise ValueError("axes don't match array")
    return t.permute(tuple([axis_of(a, t.dim()) for a in axes]))


@decomposes("numpy.transpose", "numpy.permute_dims")
def transpose(a: Any, axes: Any = None) -> Any:
    return array_of(permuted(memory_of(a), axes))


@decomposes("ndarray.transpose")
def transpose_method(self: Any, *axes: Any) -> Any:
    if len(axes) == 0:
        return array_of(permuted(memory_of(self), None))
    return array_of(permuted(memory_of(self), axes if is_scalar(axes[0]) else axes[0]))


@decomposes("numpy.swapaxes", "ndarray.swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    t = memory_of(a)
    return array_of(t.transpose(axis_of(axis1, t.dim()), axis_of(axis2, t.dim())))


@decomposes("numpy.moveaxis")
def moveaxis(a: Any, source: int, destination: int) -> Any:
    t = memory_of(a)
    return array_of(torch.movedim(t, axis_of(source, t.dim()), axis_of(destination, t.dim())))


@decomposes("numpy.expand_dims")
def expand_dims(a: Any, axis: Any) -> Any:
    t = memory_of(a)
    if is_scalar(axis):
        return array_of(t.unsqueeze(axis_of(axis, t.dim() + 1)))
    axes = axes_of(axis, t.dim() + len(axis))
    for d in sorted(axes):
        t = t.unsqueeze(d)
    return array_of(t)


@decomposes("numpy.atleast_1d")
def atleast_1d(a: Any) -> Any:
    t = memory_of(a)
    return array_of(t.reshape(1) if t.dim() == 0 else t)


@decomposes("numpy.broadcast_to")
def broadcast_to(array: Any, shape: Any) -> Any:
    return read_only(memory_of(array).expand((shape,) if is_scalar(shape) else tuple(shape)))


@decomposes("numpy.flip")
def flip(m: Any, axis: Any = None) -> Any:
    t = tensor_of(m)
    return flipped(m, axes_of(axis, t.dim())) if t.dim() > 0 else result_of(t)


@decomposes("numpy.fliplr")
def fliplr(m: Any) -> Any:
    return flipped(m, (1,))


@decomposes("numpy.flipud")
def flipud(m: Any) -> Any:
    return flipped(m, (0,))


@decomposes("numpy.roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    t = tensor_of(a)
    if axis is None:
        return array_of(torch.roll(t.reshape(-1), shift).reshape(t.shape))
    return array_of(torch.roll(t, shift, axis))


@decomposes("numpy.repeat", "ndarray.repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    t = tensor_of(a)
    flat, d = (t.reshape(-1), 0) if axis is None or t.dim() == 0 else (t, axis_of(axis, t.dim()))
    if is_scalar(repeats):
        if repeats < 0:
            raise ValueError("repeats may not contain negative values.")
        return array_of(torch.repeat_interleave(flat, int(repeats), d))
    counts = tensor_of(repeats).to(torch.int64)
    if counts.numel() != flat.size(d) and counts.numel() != 1:
        raise ValueError(
            f"operands could not be broadcast together with shape ({flat.size(d)},) {shape_text(counts.shape)}"
        )
    return array_of(torch.repeat_interleave(flat, counts.reshape(-1).expand(flat.size(d)), d))


@decomposes("numpy.tile")
def tile(A: Any, reps: Any) -> Any:
    return array_of(torch.tile(tensor_of(A), (reps,) if is_scalar(reps) else tuple(reps)).clone())


def pairs_of(pad_width: Any, rank: int) -> Any:
    """Return the sizes of a pad before and behind each axis."""
    if is_scalar(pad_width):
        return ((pad_width, pad_width),) * rank
    if is_scalar(pad_width[0]):
        return ((pad_width[0], pad_width[-1]),) * rank
    return tuple(pad_width) * rank if len(pad_width) == 1 else tuple(pad_width)


def padded_places(size: int, axis: int, before: int, behind: int, mode: str) -> torch.Tensor:
    """Return the places of a dim that an array repeats where it is padded."""
    if before < 0 or behind < 0:
        raise ValueError("index can't contain negative values")
    if size == 0 and before + behind > 0:
        raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    places = torch.arange(-before, size + behind)
    if mode == "edge" or size < 2:
        return torch.clamp(places, 0, max(size - 1, 0))
    if mode == "wrap":
        return places % size
    period = 2 * size - 2 if mode == "reflect" else 2 * size
    return torch.minimum(places % period, (-places if mode == "reflect" else -places - 1) % period)


@decomposes("numpy.pad")
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    t = tensor_of(array)
    made = t
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        for d, (before, behind) in enumerate(pairs_of(pad_width, t.dim())):
            made = torch.index_select(made, d, padded_places(t.size(d), d, before, behind, mode))
        return array_of(made)
    if mode != "constant" or not is_scalar(constant_values):
        refuse_form("np.pad", "only the modes constant (with one constant), edge, reflect, symmetric and wrap are supported")
    for d, (before, behind) in enumerate(pairs_of(pad_width, t.dim())):
        if before < 0 or behind < 0:
            raise ValueError("index can't contain negative values")
        value = tensor_of(constant_values).to(t.dtype)
        rest = [made.size(i) for i in range(t.dim())]
        parts = [value.expand([n if i != d else before for i, n in enumerate(rest)]), made]
        made = torch.cat([*parts, value.expand([n if i != d else behind for i, n in enumerate(rest)])], d)
    return array_of(made if t.dim() > 0 else t.clone())


# ---- joins ----


def check_joined(tensors: Any, axis: int) -> None:
    for i, t in enumerate(tensors):
        if t.dim() != tensors[0].dim():
            raise ValueError(
                f"all the input arrays must have same number of dimensions, but the array at index 0 has {tensors[0].dim()} "
                f"dimension(s) and the array at index {i} has {t.dim()} dimension(s)"
            )
        for d in range(t.dim()):
            if d != axis and t.size(d) != tensors[0].size(d):
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {d}, the array at index 0 has size {tensors[0].size(d)} and the array at index {i} has "
                    f"size {t.size(d)}"
                )


@decomposes("numpy.concatenate", "numpy.concat")
def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None) -> Any:
    kind = common_of(arrays, dtype)
    tensors = [tensor_of(np.asarray(a), kind) for a in arrays]
    if len(tensors) == 0:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        return array_of(torch.cat([t.reshape(-1) for t in tensors]))
    if tensors[0].dim() == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    d = axis_of(axis, tensors[0].dim())
    check_joined(tensors, d)
    return array_of(torch.cat(tensors, d))


@decomposes("numpy.stack")
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    kind = common_of(arrays, dtype)
    tensors = [tensor_of(np.asarray(a), kind) for a in arrays]
    if len(tensors) == 0:
        raise ValueError("need at least one array to stack")
    for t in tensors:
        if t.shape != tensors[0].shape:
            raise ValueError("all input arrays must have the same shape")
    return array_of(torch.stack(tensors, axis_of(axis, tensors[0].dim() + 1)))


@decomposes("numpy.vstack")
def vstack(tup: Any) -> Any:
    rows = [np.reshape(a, (1, -1)) if np.ndim(a) < 2 else np.asarray(a) for a in tup]
    return np.concatenate(rows, 0)


@decomposes("numpy.hstack")
def hstack(tup: Any) -> Any:
    parts = [np.atleast_1d(np.asarray(a)) for a in tup]
    return np.concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@decomposes("numpy.array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if not is_scalar(indices_or_sections):
        return np.split(ary, indices_or_sections, axis)
    if indices_or_sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    t = memory_of(ary)
    d = axis_of(axis, t.dim())
    size, wider = divmod(t.size(d), indices_or_sections)
    starts = [i * size + min(i, wider) for i in range(indices_or_sections + 1)]
    return [array_of(t.narrow(d, a, b - a)) for a, b in zip(starts[:-1], starts[1:], strict=True)]


@decomposes("numpy.split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    t = memory_of(ary)
    d = axis_of(axis, t.dim())
    if is_scalar(indices_or_sections):
        if t.size(d) % indices_or_sections != 0:
            raise ValueError("array split does not result in an equal division")
        size = t.size(d) // indices_or_sections
        return [array_of(t.narrow(d, i * size, size)) for i in range(indices_or_sections)]
    bounds = [0, *indices_or_sections, t.size(d)]
    ends = [min(max(b + t.size(d) if b < 0 else b, 0), t.size(d)) for b in bounds]
    return [array_of(t.narrow(d, a, max(b - a, 0))) for a, b in zip(ends[:-1], ends[1:], strict=True)]


@decomposes("numpy.ndim")
def ndim(a: Any) -> int:
    return np.asarray(a).ndim


@decomposes("numpy.shape")
def shape_(a: Any) -> Any:
    if isinstance(a, torch.Tensor):
        refuse_form("np.shape", "a tensor is not supported")
    return np.asarray(a).shape


@decomposes("numpy.size")
def size_(a: Any, axis: Any = None) -> int:
    if isinstance(a, torch.Tensor):
        refuse_form("np.size", "a tensor is not supported")
    return np.asarray(a).size if axis is None else np.asarray(a).shape[axis]


# ---- choices ----


@decomposes("numpy.where")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    chosen = tensor_of(np.asarray(condition)) != 0
    if x is None and y is None:
        return np.nonzero(np.asarray(condition))
    kind = promoted(x, y)
    a, b = tensor_of(x, kind), tensor_of(y, kind)
    check_broadcast(chosen, a, b)
    return array_of(torch.where(chosen, a, b))


@decomposes("numpy.clip", "ndarray.clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    found = a if low is None else np.maximum(a, low)
    return np.positive(found) if high is None else np.minimum(found, high)


@decomposes("numpy.round", "numpy.around", "ndarray.round")
def round_(a: Any, decimals: int = 0) -> Any:
    t = tensor_of(a)
    x = a if is_scalar(a) else np.asarray(a)
    if not t.is_floating_point():
        if decimals < 0:
            raise NotImplementedError("scriptc: np.round of integers to tens is not supported")
        if t.dtype == torch.bool and decimals != 0:
            raise TypeError(
                "Cannot cast ufunc 'multiply' output from dtype('float64') to dtype('bool') with casting rule 'same_kind'"
            )
        return np.positive(x) if t.dtype != torch.bool else result_of(t.to(torch.float16))
    if decimals == 0:
        return np.rint(x)
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return np.divide(np.rint(np.multiply(x, power)), power)
    return np.multiply(np.rint(np.divide(x, power)), power)


@decomposes("numpy.take", "ndarray.take")
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    x = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    found = x[np.asarray(indices)] if not is_scalar(indices) else x[indices]
    return found if axis is None else np.moveaxis(found, 0, axis)


@decomposes("numpy.flatnonzero")
def flatnonzero(a: Any) -> Any:
    return np.nonzero(np.ravel(a))[0]


@decomposes("numpy.argwhere")
def argwhere(a: Any) -> Any:
    return array_of(torch.nonzero(tensor_of(a)))


@decomposes("numpy.isin")
def isin(element: Any, test_elements: Any) -> Any:
    a, b = tensor_of(element), tensor_of(test_elements).reshape(-1)
    return array_of((a.unsqueeze(-1) == b).any(-1))
