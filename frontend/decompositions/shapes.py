"""Composite contractions and shape functions."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library import decomposes


@decomposes("torch.addmm", "Tensor.addmm")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    product = torch.matmul(mat1, mat2)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (input if beta == 1 else input * beta) + scaled


@decomposes("torch.unflatten", "Tensor.unflatten")
def unflatten(input: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    at = dim % input.dim()
    return input.view(*input.shape[:at], *sizes, *input.shape[at + 1 :])
