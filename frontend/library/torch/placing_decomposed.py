"""The functions index_add, index_copy, index_fill and index_reduce, with the checks of eager."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.library.torch.indexing_decomposed import in_strides_of
from scriptc.frontend.library.torch.shapes_decomposed import dim_of


@decomposes("torch.index_add", "Tensor.index_add")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    d = dim_of(dim, input.dim())
    _check_source("index_add_()", input, d, index, source)
    places = _along(input, d, index)
    if input.dim() < 2:
        _check_inside(input, d, index)
    elif input.numel() == 0:
        return input.new_empty(input.shape)
    elif alpha != 1 or index.dtype != torch.int64 or 0 < d < input.dim() - 1:  # else eager scatters, and scatter checks
        _check_inside(input, d, index)
    scaled = source if alpha == 1 else source * alpha
    return torch.scatter_add(input, d, places, scaled.reshape(places.shape))


@decomposes("torch.index_reduce", "Tensor.index_reduce")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    d = dim_of(dim, input.dim())
    _check_source("index_reduce_()", input, d, index, source)
    _check_inside(input, d, index)
    places = _along(input, d, index)
    return torch.scatter_reduce(input, d, places, source.reshape(places.shape), reduce, include_self=include_self)


@decomposes("torch.index_copy", "Tensor.index_copy")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    d = dim_of(dim, input.dim())
    if index.dim() > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    if source.dim() != input.dim() and source.dim() != 0 and input.dim() != 0:
        dims = f"Source dimensionality ({source.dim()}), destination dimensionality ({input.dim()})"
        raise IndexError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must match. {dims}"
        )
    if source.dim() == 0 and index.numel() != 1:
        found = f"(got {index.numel()})"
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element {found}")
    if index.dtype != torch.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {NAMES[index.dtype]}")
    if input.dtype != source.dtype:
        dtypes = f"(self) {NAMES[input.dtype]} and (source) {NAMES[source.dtype]}"
        raise RuntimeError(f"index_copy_(): self and source expected to have the same dtype, but got {dtypes}")
    if max(source.dim(), 1) != max(input.dim(), 1) or not _same_apart_from(d, input, source):
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes")
    if source.dim() > 0 and index.numel() != source.size(d):
        counts = f"({index.numel()}) should be equal to source.size(dim) ({source.size(d)})"
        raise IndexError(f"index_copy_(): Number of indices {counts}")
    if input.dim() == 0 and index.numel() == 0:
        return input.clone()
    _check_slices(input, d, index)
    places = _along(input, d, index)
    return torch.scatter(input, d, places, source.reshape(places.shape))


@decomposes("torch.index_fill", "Tensor.index_fill")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | float) -> Tensor:
    d = dim_of(dim, input.dim())
    if isinstance(value, Tensor) and value.dim() > 0:
        found = f"got tensor with {value.dim()} dimension(s)."
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but {found}")
    if index.dtype != torch.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    line = input.reshape(1) if input.dim() == 0 else input
    n = line.size(d)
    wrapped = torch.where(index < 0, index + n, index)
    _check_slices(line, d, wrapped)
    if isinstance(value, Tensor):
        filled = torch.zeros(n, dtype=torch.bool).scatter(0, wrapped.reshape(-1), True)
        shape = (n,) + (1,) * (line.dim() - 1 - d)
        made = torch.where(filled.reshape(shape), value.to(input.dtype), line)
    else:
        made = torch.scatter(line, d, _along(line, d, wrapped), value)
    return in_strides_of(input, made.reshape(input.shape))


def check_scattered(input: Tensor, index: Tensor, src: Tensor) -> None:
    """Raise the error of eager for tensors of several ranks, which it scatters only if the index has no elements."""
    if index.numel() == 0:
        return
    if max(input.dim(), 1) != max(index.dim(), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if max(src.dim(), 1) < max(index.dim(), 1) and src.dim() > 0 and src.size(0) >= index.size(0):
        dims = f"[{-src.dim()}, {src.dim() - 1}], but got {src.dim()}"
        raise IndexError(f"Dimension out of range (expected to be in range of {dims})")
    if max(src.dim(), 1) != max(index.dim(), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


def _along(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return a vector of indices into one dim, expanded over the other dims."""
    if input.dim() == 0:
        return index.reshape(())
    column = index.reshape(tuple(-1 if i == dim else 1 for i in range(input.dim()))).to(torch.int64)
    return column.expand(tuple(index.numel() if i == dim else n for i, n in enumerate(input.shape)))


def _same_apart_from(dim: int, input: Tensor, source: Tensor) -> bool:
    same = True
    for k in tuple(range(min(input.dim(), source.dim()))):
        same = same and (k == dim or input.size(k) == source.size(k))
    return same


def _check_source(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    if index.dim() > 1:
        found = f"dim: {index.dim()} with type: {NAMES[index.dtype]} and size: {list(index.shape)}"
        raise IndexError(f"{name}: Index is supposed to be a vector, but got {found}")
    if index.dtype != torch.int64 and index.dtype != torch.int32:
        raise RuntimeError(f"{name}: Expected dtype int32/int64 for index but got: {NAMES[index.dtype]}")
    if input.dtype != source.dtype:
        dtypes = f"self ({NAMES[input.dtype]}) and source ({NAMES[source.dtype]})"
        raise RuntimeError(f"{name}: {dtypes} must have the same scalar type")
    if dim > 0 and dim >= source.dim():
        found = f"Indexing dim {dim} is out of bounds of the source tensor with dim {source.dim()}"
        raise RuntimeError(f"{name}: {found}")
    if source.dim() == 0:
        if index.numel() != 1:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    elif index.numel() != source.size(dim):
        counts = f"({index.numel()}) should be equal to source.size(dim): ({source.size(dim)}), for dim: {dim}"
        raise RuntimeError(f"{name}: Number of indices {counts}")
    if input.dim() != source.dim() or not _same_apart_from(dim, input, source):
        shapes = f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        raise RuntimeError(
            f"source tensor shape must match self tensor shape, excluding the specified dimension. {shapes}"
        )


def _check_inside(input: Tensor, dim: int, index: Tensor) -> None:
    n = input.size(dim) if input.dim() > 0 else 1
    if bool(torch.any((index < 0) | (index >= n))):
        raise IndexError("index out of range in self")


def _check_slices(input: Tensor, dim: int, index: Tensor) -> None:
    """Raise the errors of eager, which checks the memory of a slice before it checks the index."""
    if index.numel() > 0 and input.dim() > 0:
        if input.size(dim) == 0:
            raise RuntimeError("setStorage: out of bounds for storage of size 0")
        if input.numel() == 0:
            return
    _check_inside(input, dim, index)
