"""Copies of tensors in which a slice is set."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _check_sizes(src: tuple[int, ...], part: tuple[int, ...]) -> None:
    if src != part:
        sizes = f"src size = {list(src)}, slice size = {list(part)}"
        raise RuntimeError(f"expected src to have a size equal to the slice of self. {sizes}")


@decomposes("torch.select_scatter", "Tensor.select_scatter")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    result = input.clone()
    part = result.select(dim, index)
    _check_sizes(tuple(src.shape), tuple(part.shape))
    part.copy_(src)
    return result


def slice_of(input: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """Return a view of the elements from start to end of a dim."""
    if input.dim() == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    line = input.transpose(0, dim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return line[start:end:step].transpose(0, dim)


@decomposes("torch.slice_scatter", "Tensor.slice_scatter")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    result = input.clone()
    part = slice_of(result, dim, start, end, step)
    _check_sizes(tuple(src.shape), tuple(part.shape))
    part.copy_(src)
    return result


@decomposes("torch.diagonal_scatter", "Tensor.diagonal_scatter")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    result = input.clone()
    part = result.diagonal(offset, dim1, dim2)
    _check_sizes(tuple(src.shape), tuple(part.shape))
    part.copy_(src)
    return result


@decomposes("torch.as_strided_scatter", "Tensor.as_strided_scatter")
def as_strided_scatter(
    input: Tensor, src: Tensor, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None = None
) -> Tensor:
    _check_sizes(tuple(src.shape), tuple(size))
    if not input.is_contiguous():
        result = input.clone()
        result.as_strided(size, stride, storage_offset).copy_(src)
        return result
    places = torch.full((), 0 if storage_offset is None else storage_offset, dtype=torch.int64)
    for i in range(len(size)):
        places = places.unsqueeze(-1) + torch.arange(size[i]) * stride[i]
    flat = torch.scatter(input.reshape(-1), 0, places.reshape(-1), src.reshape(-1).to(input.dtype))
    return flat.reshape(input.shape)
