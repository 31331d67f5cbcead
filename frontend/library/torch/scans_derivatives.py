"""Derivatives of running sums, products and extremes."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives


def _suffix_sums(x: Tensor, dim: int) -> Tensor:
    return torch.flip(torch.cumsum(torch.flip(x, (dim,)), dim), (dim,))


@derives("cumsum", "self")
def cumsum(grad: Tensor, dim: int) -> Tensor:
    return grad if grad.dim() == 0 else _suffix_sums(grad, dim)


@derives("cumprod", "self")
def cumprod(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    if grad.dim() == 0:
        return grad
    factors = self.to(result.dtype)
    zero = factors == 0
    first = zero & (torch.cumsum(zero, dim) == 1)
    without = torch.cumprod(torch.where(first, 1, factors), dim)
    slopes = _suffix_sums(grad * result, dim) / factors
    return torch.where(first, _suffix_sums(grad * without, dim), torch.where(zero, 0, slopes))


@derives("logcumsumexp", "self")
def logcumsumexp(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    if grad.dim() == 0:
        return grad
    lowest = torch.finfo(grad.dtype).min
    size = torch.log(torch.abs(grad))
    parts = [_suffix_exponential(torch.where(sign * grad > 0, size, lowest), self, result, dim) for sign in (1, -1)]
    return parts[0] - parts[1]


def _suffix_exponential(logs: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    total = torch.logcumsumexp(torch.flip(logs - result, (dim,)), dim)
    return torch.exp(torch.flip(total, (dim,)) + self)


@derives("extreme_scan", "self")
def extreme_scan(grad: Tensor, self: Tensor, dim: int, largest: bool) -> Tensor:
    if grad.dim() == 0:
        return grad
    index = torch.cummax(self, dim)[1] if largest else torch.cummin(self, dim)[1]
    return torch.scatter_add(torch.zeros_like(grad), dim, index, grad)
