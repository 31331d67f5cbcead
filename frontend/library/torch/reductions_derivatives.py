"""Derivatives of reductions."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives

Sizes = tuple[int, ...]


def _restored(x: Tensor, rank: int, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    """Return a tensor with the shape of a reduction, with dims of size 1 where dims of an operand were reduced."""
    if not keepdim:
        for d in sorted([d % max(rank, 1) for d in dim]):
            x = x.unsqueeze(d)
    return x


@derives("sum", "self")
def sum(grad: Tensor, self_sizes: Sizes, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    return _restored(grad, len(self_sizes), dim, keepdim).expand(self_sizes)


@derives("mean", "self")
def mean(grad: Tensor, self_sizes: Sizes, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    count = 1
    for d in dim:
        count *= self_sizes[d]
    return (_restored(grad, len(self_sizes), dim, keepdim) / count).expand(self_sizes)


@derives("sum_squares", "self")
def sum_squares(grad: Tensor, self: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    return self * _restored(2 * grad, self.dim(), dim, keepdim)


@derives("prod", "self")
def prod(grad: Tensor, self: Tensor, result: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    factors = self.to(result.dtype)
    zero = factors == 0
    zeros = zero
    others = torch.where(zero, 1, factors)
    for d in dim:
        zeros = torch.sum(zeros, d, keepdim=True)
        others = torch.prod(others, d, keepdim=True)
    whole, grad = _restored(result, self.dim(), dim, keepdim), _restored(grad, self.dim(), dim, keepdim)
    slope = torch.where(zero, others, whole / factors)
    return torch.where(zeros > zero, 0, grad * slope)


@derives("amax", "self")
@derives("amin", "self")
def extreme(
    grad: Tensor, self: Tensor, result: Tensor, dim: tuple[int, ...], keepdim: bool, first: bool, equal_nan: bool
) -> Tensor:
    if len(dim) == 0:
        return grad
    chosen = self == _restored(result, self.dim(), dim, keepdim)
    whole = _restored(grad, self.dim(), dim, keepdim)
    if equal_nan:  # evenly_distribute_backward in ATen: NaN is the extreme of all those with one
        chosen = chosen | torch.isnan(self)
        return torch.where(chosen, whole / torch.sum(chosen, dim, keepdim=True), 0)
    if first:  # a NaN is the extreme of those with it
        index = torch.argmax((chosen | torch.isnan(self)).to(torch.uint8), dim[0], keepdim=True)
        return torch.scatter(torch.zeros_like(self), dim[0], index, whole)
    return whole * chosen / torch.sum(chosen, dim, keepdim=True)
