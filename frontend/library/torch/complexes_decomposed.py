"""Operators on complex tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch.polar")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    return torch.complex(abs * torch.cos(angle), abs * torch.sin(angle))


def matrix_product(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of complex matrices as real products of their parts."""
    real = torch.matmul(a.real, b.real) - torch.matmul(a.imag, b.imag)
    return torch.complex(real, torch.matmul(a.real, b.imag) + torch.matmul(a.imag, b.real))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    result = torch.matmul(input, weight.transpose(0, 1) if weight.dim() == 2 else weight)
    return result if bias is None else result + bias


def total(x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return torch.view_as_complex(torch.sum(torch.view_as_real(x), dims, keepdim).contiguous())


def average(x: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return torch.view_as_complex(torch.mean(torch.view_as_real(x), dims, keepdim).contiguous())


def running_sum(x: Tensor, dim: int) -> Tensor:
    return torch.view_as_complex(torch.cumsum(torch.view_as_real(x), dim).contiguous())


def whole_product(x: Tensor, dim: int, keepdim: bool) -> Tensor:
    result = torch.ones_like(x.sum(dim, keepdim=True))
    for i in range(x.size(dim)):
        result = result * x.narrow(dim, i, 1)
    return result if keepdim else result.select(dim, 0)


def running_product(x: Tensor, dim: int) -> Tensor:
    result = torch.empty(x.shape, dtype=x.dtype)
    product = torch.ones_like(x.sum(dim, keepdim=True))
    for i in range(x.size(dim)):
        product = product * x.narrow(dim, i, 1)
        result.narrow(dim, i, 1).copy_(product)
    return result
