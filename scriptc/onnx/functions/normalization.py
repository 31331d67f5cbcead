"""Norms with statistics of their own, and dropout in training."""

from __future__ import annotations

import torch
from torch import Tensor


def per_channel(values: Tensor, x: Tensor) -> Tensor:
    return values.reshape([1, -1] + [1] * (x.dim() - 2))


def instance_norm(x: Tensor, scale: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    axes = tuple(range(2, x.dim()))
    centered = x - torch.mean(x, axes, keepdim=True)
    variance = torch.mean(centered * centered, axes, keepdim=True)
    return centered / torch.sqrt(variance + epsilon) * per_channel(scale, x) + per_channel(bias, x)


def group_norm_by_group(x: Tensor, scale: Tensor, bias: Tensor, groups: int, epsilon: float) -> Tensor:
    """Return the group norm of opsets before 21, with a scale and a bias for each group."""
    made = torch.nn.functional.group_norm(x, groups, None, None, epsilon).reshape(x.shape[0], groups, -1)
    return (made * scale.unsqueeze(1) + bias.unsqueeze(1)).reshape(x.shape)


def mean_variance_norm(x: Tensor, axes) -> Tensor:
    mean = torch.mean(x, axes, keepdim=True)
    deviation = torch.sqrt(torch.mean(x * x, axes, keepdim=True) - mean * mean)
    return (x - mean) / (deviation + 1e-9)


def batch_norm_training(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, epsilon: float, momentum: float
):
    """Return the norm by the statistics of the batch, and the new running mean and variance."""
    axes = (0,) + tuple(range(2, x.dim()))
    here = torch.mean(x, axes)
    centered = x - per_channel(here, x)
    spread = torch.mean(centered * centered, axes)
    made = centered / torch.sqrt(per_channel(spread, x) + epsilon) * per_channel(scale, x) + per_channel(bias, x)
    return made, mean * momentum + here * (1 - momentum), variance * momentum + spread * (1 - momentum)


def dropout_mask(x: Tensor, ratio: float, training: bool):
    """Return the tensor with random elements dropped, and the mask of those that are kept."""
    if not training or ratio == 0.0:
        return x, torch.ones_like(x, dtype=torch.bool)
    mask = torch.rand_like(x) >= ratio
    return torch.where(mask, x / (1.0 - ratio), torch.zeros_like(x)), mask


def dropout(x: Tensor, ratio: float, training: bool) -> Tensor:
    made, _ = dropout_mask(x, ratio, training)
    return made
