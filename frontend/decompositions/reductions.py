"""Composite reductions and normalisation."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library import decomposes


@decomposes("torch.var", "Tensor.var")
def var(
    input: Tensor,
    dim: int | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: int | None = None,
) -> Tensor:
    mean = torch.mean(input, dim, keepdim=True)
    centred = input - mean
    squares = torch.sum(centred * centred, dim, keepdim=keepdim)
    count = input.numel() // mean.numel()
    degrees = (1 if unbiased else 0) if correction is None else correction
    return squares / max(count - degrees, 0)


@decomposes("torch.layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    dims = tuple(range(-len(normalized_shape), 0))
    mean = torch.mean(input, dims, keepdim=True)
    centred = input - mean
    variance = torch.mean(centred * centred, dims, keepdim=True)
    result = centred * torch.rsqrt(variance + eps)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result
