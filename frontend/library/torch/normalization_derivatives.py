"""Derivatives of softmax and norms."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives
from scriptc.frontend.library.torch.backward_decomposed import layer_norm_backward

Sizes = tuple[int, ...]


@derives("softmax", "self")
@derives("safe_softmax", "self")
def softmax(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    weighted = grad * result
    return weighted - result * weighted.sum(dim, keepdim=True)


@derives("log_softmax", "self")
def log_softmax(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return grad - torch.exp(result) * grad.sum(dim, keepdim=True)


@derives("layer_norm", "input")
def layer_norm_input(
    grad: Tensor, input: Tensor, normalized_shape: Sizes, weight: Tensor | None, eps: float
) -> Tensor:
    return layer_norm_backward(grad, input, normalized_shape, weight, eps)[0]


@derives("layer_norm", "weight")
def layer_norm_weight(grad: Tensor, input: Tensor, normalized_shape: Sizes, weight: Tensor, eps: float) -> Tensor:
    return layer_norm_backward(grad, input, normalized_shape, weight, eps)[1]


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
    x, y = _groups(input, num_groups), _groups(grad, num_groups)
    if weight is not None:
        y = y * weight.reshape(num_groups, -1, 1)
    return layer_norm_backward(y, x.to(y.dtype), x.shape[2:], None, eps)[0].reshape(input.shape)


@derives("group_norm", "weight")
def group_norm_weight(grad: Tensor, input: Tensor, num_groups: int, eps: float) -> Tensor:
    x = _groups(input, num_groups)
    normal = torch.layer_norm(x, x.shape[2:], None, None, eps)
    return (_groups(grad, num_groups) * normal).sum((0, 3)).reshape(input.size(1))


@derives("group_norm", "bias")
def group_norm_bias(grad: Tensor) -> Tensor:
    return grad.sum((0, *range(2, grad.dim())))
