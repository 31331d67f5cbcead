"""Derivatives of views of whole tensors, and of ops that join and copy. Those of partial views need no function."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives

Sizes = tuple[int, ...]


@derives("transpose", "self")
def transpose(grad: Tensor, dim0: int, dim1: int) -> Tensor:
    return grad.transpose(dim0, dim1)


@derives("permute", "self")
def permute(grad: Tensor, dims: tuple[int, ...]) -> Tensor:
    order = [dims.index(d) for d in range(len(dims))]
    return grad.permute(order)


@derives("unsqueeze", "self")
def unsqueeze(grad: Tensor, dim: int) -> Tensor:
    return grad.select(dim, 0)  # its size may be known at run time alone, where squeeze cannot tell the rank


@derives("squeeze", "self")
def squeeze(grad: Tensor, dim: int) -> Tensor:
    return grad.unsqueeze(dim)


@derives("view", "self")
@derives("reshape", "self")
def reshape(grad: Tensor, self_sizes: Sizes) -> Tensor:
    return grad.reshape(self_sizes)


@derives("contiguous", "self")
def contiguous(grad: Tensor) -> Tensor:
    return grad


@derives("leaf", "self")
@derives("leaf_argument", "self")
@derives("with_data", "owner")
@derives("plain", "self")
def plain(grad: Tensor) -> Tensor:
    return grad


@derives("expand", "self")
def expand(grad: Tensor, self_sizes: Sizes) -> Tensor:
    return grad.sum_to_size(self_sizes)


@derives("flip", "self")
def flip(grad: Tensor, dims: Sizes) -> Tensor:
    return grad.flip(dims)


@derives("repeat", "self")
def repeat(grad: Tensor, self_sizes: Sizes, repeats: Sizes) -> Tensor:
    lead = len(repeats) - len(self_sizes)
    blocks = [n for i in range(len(repeats)) for n in (repeats[i], 1 if i < lead else self_sizes[i - lead])]
    every_copy = tuple(2 * i for i in range(len(repeats)))
    return grad.reshape(blocks).sum(every_copy).reshape(self_sizes)


@derives("unfold", "self")
def unfold(grad: Tensor, self_sizes: Sizes, dimension: int, size: int, step: int) -> Tensor:
    if len(self_sizes) == 0:
        return grad.sum()
    windows = grad.size(dimension)
    places = (torch.arange(windows).unsqueeze(1) * step + torch.arange(size)).reshape(-1)
    elements = grad.movedim(-1, dimension + 1).flatten(dimension, dimension + 1)
    return torch.zeros(self_sizes, dtype=grad.dtype).index_add(dimension, places, elements)


_OWN_OFFSET = -(2**63)


@derives("as_strided", "self")
def as_strided(grad: Tensor, self: Tensor, size: Sizes, stride: Sizes, offset: int) -> Tensor:
    """Return the gradient of the elements that the view reads.

    An element that several indices of `self` show gets an equal share at each. An offset counts from the first
    element of `self`, with which the storage of an argument or of a new tensor begins.
    """
    first = 0 if offset == _OWN_OFFSET else offset
    count = max(_length(size, stride, first), _length(self.shape, self.stride(), 0))
    read, shown = _places(size, stride, first), _places(self.shape, self.stride(), 0)
    stored = torch.zeros(count, dtype=grad.dtype).index_add(0, read, grad.reshape(-1))
    times = torch.zeros(count, dtype=grad.dtype).index_add(0, shown, torch.ones(shown.size(0), dtype=grad.dtype))
    return (stored[shown] / times[shown]).reshape(self.shape)


def _places(size: Sizes, stride: Sizes, offset: int) -> Tensor:
    """Return the positions in the storage of the elements of a view."""
    places = torch.full((), offset, dtype=torch.int64)
    for i in range(len(size)):
        places = places.unsqueeze(-1) + torch.arange(size[i]) * stride[i]
    return places.reshape(-1)


def _length(size: Sizes, stride: Sizes, offset: int) -> int:
    """Return how many elements of the storage a view may read."""
    last = offset
    for i in range(len(size)):
        if size[i] == 0:
            return 0
        last += (size[i] - 1) * stride[i]
    return last + 1


@derives("view_as_real", "self")
def view_as_real(grad: Tensor) -> Tensor:
    return torch.complex(grad.select(-1, 0), grad.select(-1, 1))


@derives("view_as_complex", "self")
def view_as_complex(grad: Tensor) -> Tensor:
    return torch.view_as_real(grad)


@derives("pad", "self")
def pad(grad: Tensor, self_sizes: Sizes, pad: Sizes, mode: str) -> Tensor:
    for i in range(len(pad) // 2):
        dim = len(self_sizes) - 1 - i
        n = self_sizes[dim]
        places = torch.arange(grad.size(dim)) - pad[2 * i]
        if mode == "circular":
            places = places % n
        elif mode == "replicate":
            places = places.clamp(0, n - 1)
        else:
            places = (n - 1) - (n - 1 - places.abs()).abs()
        sizes = (*grad.shape[:dim], n, *grad.shape[dim + 1 :])
        grad = torch.zeros(sizes, dtype=grad.dtype).index_add(dim, places, grad)
    return grad
