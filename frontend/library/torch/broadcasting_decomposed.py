"""Shapes that tensors are broadcast to."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch.broadcast_shapes")
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    rank = max([len(_shape(s)) for s in shapes], default=0)
    common = (1,) * rank
    for i, given in enumerate(shapes):
        shape = _shape(given)
        for d in tuple(range(-1, -1 - len(shape), -1)):
            if common[d] != 1 and shape[d] != 1 and shape[d] != common[d]:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! Mismatching argument at index {i} had "
                    f"{shape}; but expected shape should be broadcastable to {list(common)}"
                )
            common = (*common[: rank + d], shape[d] if common[d] == 1 else common[d], *common[rank + d + 1 :])
    return torch.Size(common)


def _shape(shape: tuple[int, ...] | int) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of two tensors that are broadcast."""
    rank = max(len(a), len(b))
    wide = [(1,) * (rank - len(s)) + tuple(s) for s in (a, b)]
    for d in range(rank - 1, -1, -1):
        m, n = wide[0][d], wide[1][d]
        if m != n and m != 1 and n != 1:
            sizes = f"The size of tensor a ({m}) must match the size of tensor b ({n})"
            raise RuntimeError(f"{sizes} at non-singleton dimension {d}")
    return tuple(wide[1][i] if wide[0][i] == 1 else wide[0][i] for i in range(rank))


@decomposes("torch.broadcast_tensors", "torch.functional.broadcast_tensors")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    each = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shape = tuple(each[0].shape)
    for t in each[1:]:
        shape = broadcast(shape, tuple(t.shape))
    return tuple(t.expand(shape) for t in each)


@decomposes("torch.broadcast_to", "Tensor.broadcast_to")
def broadcast_to(input: Tensor, *args: int, size: tuple[int, ...] | None = None) -> Tensor:
    return input.expand(*args) if size is None else input.expand(size)


@decomposes("Tensor.sum_to_size")
def sum_to_size(input: Tensor, *size: int) -> Tensor:
    wanted = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    lead = input.dim() - len(wanted)
    fits = lead >= 0
    for d, n in enumerate(wanted if fits else ()):
        fits = fits and (n == 1 or n == input.size(lead + d))
    if not fits:
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(input.shape)}}}.")
    if len(wanted) == 0:
        return torch.sum(input)
    result = torch.sum(input, tuple(range(lead))) if lead > 0 else input
    for d, n in enumerate(wanted):
        if n == 1:
            result = torch.sum(result, d, keepdim=True)
    return result
