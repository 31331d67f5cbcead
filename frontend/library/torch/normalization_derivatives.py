"""Derivatives of softmax and norms."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives
from scriptc.frontend.library.torch.backward_decomposed import through_norm

Sizes = tuple[int, ...]


@derives("softmax", "self")
@derives("safe_softmax", "self")
def softmax(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    weighted = grad * result
    return weighted - result * weighted.sum(dim, keepdim=True)


@derives("log_softmax", "self")
def log_softmax(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return grad - torch.exp(result) * grad.sum(dim, keepdim=True)


def _normal(x: Tensor, dims: Sizes, eps: float) -> tuple[Tensor, Tensor]:
    """Return a tensor normalized over `dims`, and the factor that it was scaled by."""
    variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    scale = torch.rsqrt(variance + eps)
    return (x - mean) * scale, scale


@derives("layer_norm", "input")
def layer_norm_input(
    grad: Tensor, input: Tensor, normalized_shape: Sizes, weight: Tensor | None, eps: float
) -> Tensor:
    dims = tuple(range(-len(normalized_shape), 0))
    normal, scale = _normal(input, dims, eps)
    return through_norm(grad if weight is None else grad * weight, normal, scale, dims)


@derives("layer_norm", "weight")
def layer_norm_weight(grad: Tensor, input: Tensor, normalized_shape: Sizes, eps: float) -> Tensor:
    normal, _ = _normal(input, tuple(range(-len(normalized_shape), 0)), eps)
    return _summed(grad * normal, len(normalized_shape))


@derives("layer_norm", "bias")
def layer_norm_bias(grad: Tensor, normalized_shape: Sizes) -> Tensor:
    return _summed(grad, len(normalized_shape))


def _summed(grad: Tensor, count: int) -> Tensor:
    """Return the sum over all dims but the last `count`."""
    outer = tuple(range(grad.dim() - count))
    return grad.sum(outer) if len(outer) > 0 else grad


def _groups(x: Tensor, num_groups: int) -> Tensor:
    """Return [N, groups, channels of a group, elements of a channel]."""
    size = 1
    for n in x.shape[2:]:
        size *= n
    return x.reshape(x.size(0), num_groups, x.size(1) // num_groups, size)


@derives("group_norm", "input")
def group_norm_input(grad: Tensor, input: Tensor, num_groups: int, weight: Tensor | None, eps: float) -> Tensor:
    normal, scale = _normal(_groups(input, num_groups), (2, 3), eps)
    wide = _groups(grad, num_groups)
    if weight is not None:
        wide = wide * weight.reshape(num_groups, -1, 1)
    return through_norm(wide, normal, scale, (2, 3)).reshape(input.shape)


@derives("group_norm", "weight")
def group_norm_weight(grad: Tensor, input: Tensor, num_groups: int, eps: float) -> Tensor:
    normal, _ = _normal(_groups(input, num_groups), (2, 3), eps)
    return (_groups(grad, num_groups) * normal).sum((0, 3)).reshape(input.size(1))


@derives("group_norm", "bias")
def group_norm_bias(grad: Tensor) -> Tensor:
    return grad.sum((0, *range(2, grad.dim())))
