"""Tensors cut into parts along a dim."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES


def split_sections(x: Tensor, sizes: list[int], dim: int) -> tuple[Tensor, ...]:
    """Return torch.split by a list of sizes whose length only run time knows."""
    if sum(sizes) != x.size(dim):
        found = f"{x.size(dim)} (input tensor's size at dimension {dim}), but got split_sizes={list(sizes)}"
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {found}")
    pieces = []
    start = 0
    for n in sizes:
        pieces.append(x.narrow(dim, start, n))
        start += n
    return tuple(pieces)


@decomposes("torch.split_with_sizes", "Tensor.split_with_sizes")
def split_with_sizes(input: Tensor, split_sizes: list[int], dim: int = 0) -> tuple[Tensor, ...]:
    return torch.split(input, list(split_sizes), dim)


@decomposes("torch.split_with_sizes_copy")
def split_with_sizes_copy(input: Tensor, split_sizes: list[int], dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(t.clone() for t in torch.split(input, list(split_sizes), dim))


@decomposes("torch.unsafe_split", "Tensor.unsafe_split")
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    return torch.split(tensor, split_size, dim)


@decomposes("torch.unsafe_chunk", "Tensor.unsafe_chunk")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    return torch.chunk(input, chunks, dim)


@decomposes("torch.tensor_split", "Tensor.tensor_split")
def tensor_split(
    input: Tensor, indices_or_sections: int | list[int] | Tensor, dim: int = 0
) -> tuple[Tensor, ...]:
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = input.size(dim)
    if isinstance(indices_or_sections, Tensor):
        return _split_by_tensor(input, indices_or_sections, dim)
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        short, longer = n // count, n % count
        return tuple(
            input.narrow(dim, i * short + min(i, longer), short + (1 if i < longer else 0)) for i in range(count)
        )
    d = dim % input.dim()
    bounds = (0, *indices_or_sections)
    ends = (*indices_or_sections, n)
    return tuple(input.transpose(0, d)[a:b].transpose(0, d) for a, b in zip(bounds, ends))  # noqa: B905


def _split_by_tensor(input: Tensor, splits: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Return the parts of tensor_split by a tensor, whose number only run time knows."""
    if splits.dtype != torch.int64:
        found = NAMES[splits.dtype]
        raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {found}")
    if splits.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
            f"tensor with {splits.dim()} dims"
        )
    n = input.size(dim)
    line = input.transpose(0, dim)
    parts = []
    start = 0
    if splits.dim() == 0:
        count = int(splits)
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        for i in range(count):
            stop = start + n // count + (1 if i < n % count else 0)
            parts.append(line[start:stop].transpose(0, dim))
            start = stop
        return tuple(parts)
    for i in range(splits.size(0)):
        stop = int(splits[i])
        parts.append(line[start:stop].transpose(0, dim))
        start = stop
    parts.append(line[start:].transpose(0, dim))
    return tuple(parts)


@decomposes("torch.hsplit", "Tensor.hsplit")
def hsplit(input: Tensor, indices_or_sections: int | list[int]) -> tuple[Tensor, ...]:
    if input.dim() < 1:
        raise RuntimeError("torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with 0 dimensions!")
    return _split_evenly("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1)


@decomposes("torch.vsplit", "Tensor.vsplit")
def vsplit(input: Tensor, indices_or_sections: int | list[int]) -> tuple[Tensor, ...]:
    if input.dim() < 2:
        found = f"got a tensor with {input.dim()} dimensions!"
        raise RuntimeError(f"torch.vsplit requires a tensor with at least 2 dimension, but {found}")
    return _split_evenly("vsplit", input, indices_or_sections, 0)


@decomposes("torch.dsplit", "Tensor.dsplit")
def dsplit(input: Tensor, indices_or_sections: int | list[int]) -> tuple[Tensor, ...]:
    if input.dim() < 3:
        found = f"got a tensor with {input.dim()} dimensions!"
        raise RuntimeError(f"torch.dsplit requires a tensor with at least 3 dimension, but {found}")
    return _split_evenly("dsplit", input, indices_or_sections, 2)


def _split_evenly(name: str, input: Tensor, indices_or_sections: int | list[int], dim: int) -> tuple[Tensor, ...]:
    if isinstance(indices_or_sections, int) and (indices_or_sections == 0 or input.size(dim) % indices_or_sections != 0):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {input.size(dim)} is not "
            f"divisible by the split_size {indices_or_sections}!"
        )
    return torch.tensor_split(input, indices_or_sections, dim)
