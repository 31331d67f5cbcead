"""Activations and dropout."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library import decomposes


@decomposes("torch.softmax", "Tensor.softmax")
def softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    x = (input if dtype is None else input.to(dtype)).contiguous()
    if x.dim() > 0 and x.size(dim) == 0:
        return x.clone()
    e = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return e / torch.sum(e, dim, keepdim=True)


@decomposes("torch.log_softmax", "Tensor.log_softmax")
def log_softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    x = (input if dtype is None else input.to(dtype)).contiguous()
    if x.dim() > 0 and x.size(dim) == 0:
        return x.clone()
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


@decomposes("torch.nn.functional.silu")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    result = input * torch.sigmoid(input)
    return input.copy_(result) if inplace else result


@decomposes("torch._C._nn.gelu")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return 0.5 * input * (1 + torch.tanh(inner))
    return 0.5 * input * (1 + torch.erf(input * (1 / math.sqrt(2))))


@decomposes("torch._C._nn.softplus")
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    scaled = input * beta
    return torch.where(scaled > threshold, input, torch.log1p(torch.exp(scaled)) / beta)


@decomposes("torch._C._nn.leaky_relu")
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return torch.where(input > 0, input, input * negative_slope)


@decomposes("torch._C._nn.elu")
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    return torch.where(input > 0, input, alpha * torch.expm1(input))


@decomposes("torch.relu_")
def relu_(input: Tensor) -> Tensor:
    return input.copy_(torch.relu(input))
