"""Derivatives of ops that pick and place elements by tensors of indices."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives

Sizes = tuple[int, ...]


@derives("gather", "self")
def gather(grad: Tensor, self_sizes: Sizes, dim: int, index: Tensor) -> Tensor:
    return torch.zeros(self_sizes, dtype=grad.dtype).scatter_add(dim, index, grad)


@derives("index_select", "self")
def index_select(grad: Tensor, self_sizes: Sizes, dim: int, index: Tensor) -> Tensor:
    if len(self_sizes) == 0:
        return grad
    return torch.zeros(self_sizes, dtype=grad.dtype).index_add(dim, index, grad)


@derives("scatter", "self")
def scatter_self(
    grad: Tensor, result: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if reduce == "set" or not include_self:
        return grad.scatter(dim, index, 0)
    if reduce == "add":
        return grad
    if reduce == "mean":
        return grad / _counts(grad, dim, index, True)
    if reduce == "prod":
        nonzero = self.masked_fill(self == 0, 1)
        return grad * nonzero.scatter_reduce(dim, index, src, "prod") / nonzero
    taken = self == result
    return taken * grad / _ties(self, result, dim, index, src)


@derives("scatter", "src")
def scatter_src(
    grad: Tensor, result: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if reduce == "set" or reduce == "add":
        return _with_zeros(grad.gather(dim, index), src.shape)
    if reduce == "mean":
        return _with_zeros((grad / _counts(grad, dim, index, include_self)).gather(dim, index), src.shape)
    used = src
    for d in range(index.dim()):
        used = used.narrow(d, 0, index.size(d))
    if reduce == "prod":
        return _with_zeros(_factors(grad, result, self, dim, index, used, include_self), src.shape)
    taken = used == result.gather(dim, index)
    shares = (grad / _ties(self, result, dim, index, src)).gather(dim, index)
    return _with_zeros(taken * shares, src.shape)


def _factors(
    grad: Tensor, result: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool
) -> Tensor:
    """Return the gradient of the factors of products, without a division by a factor that is zero."""
    is_zero = src == 0
    zeros = torch.zeros_like(self).scatter_add(dim, index, is_zero.to(self.dtype)).gather(dim, index)
    only_zero = is_zero & (zeros == 1)
    others = self.scatter_reduce(
        dim, index, src.masked_fill(only_zero, 1), "prod", include_self=include_self
    )  # products without their only zero
    plain = (grad * result).gather(dim, index) / src.masked_fill(is_zero, 1)
    return torch.where(only_zero, (grad * others).gather(dim, index), plain)


def _counts(like: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """Return how many elements each mean is taken of, at least 1."""
    first = torch.ones_like(like) if include_self else torch.zeros_like(like)
    found = first.scatter_add(dim, index, torch.ones(index.shape, dtype=like.dtype))
    return found if include_self else found.masked_fill(found == 0, 1)


def _ties(self: Tensor, result: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return how many elements equal each extreme; the gradient is shared among them."""
    for d in range(index.dim()):
        src = src.narrow(d, 0, index.size(d))
    from_src = (src == result.gather(dim, index)).to(result.dtype)
    return (self == result).to(result.dtype).scatter_add(dim, index, from_src)


def _with_zeros(grad: Tensor, sizes: Sizes) -> Tensor:
    """Return the gradient of a source of which `grad` covers the first elements of each dim."""
    for d in range(grad.dim()):
        if grad.size(d) < sizes[d]:
            missing = (*grad.shape[:d], sizes[d] - grad.size(d), *grad.shape[d + 1 :])
            grad = torch.cat([grad, torch.zeros(missing, dtype=grad.dtype)], d)
    return grad
