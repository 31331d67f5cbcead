"""Updates of optimizers."""

from __future__ import annotations

import torch
from torch import Tensor


def momentum(
    rate: Tensor, step: Tensor, x: Tensor, gradient: Tensor, v: Tensor, alpha: float, beta: float, norm: float, nesterov: bool
):
    """Return the new value of `x` and its new momentum."""
    g = norm * x + gradient
    made = alpha * v + torch.where(step > 0, beta, 1.0).to(x.dtype) * g
    return x - rate * (g + alpha * made if nesterov else made), made


def adagrad(rate: Tensor, step: Tensor, x: Tensor, gradient: Tensor, h: Tensor, decay: float, epsilon: float, norm: float):
    """Return the new value of `x` and its new sum of squared gradients."""
    g = norm * x + gradient
    made = h + g * g
    return x - rate / (1 + step * decay) * g / (torch.sqrt(made) + epsilon), made


def adam(
    rate: Tensor, step: Tensor, x: Tensor, gradient: Tensor, v: Tensor, h: Tensor, alpha: float, beta: float, epsilon: float,
    norm: float, norm_after: float,
):  # fmt: skip
    """Return the new value of `x` and the new averages of its gradient and of the square."""
    g = norm * x + gradient
    v = alpha * v + (1 - alpha) * g
    h = beta * h + (1 - beta) * g * g
    factor = torch.sqrt(1 - torch.pow(beta, step)) / (1 - torch.pow(alpha, step))
    adjusted = torch.where(step > 0, rate * factor, rate)
    return (1 - norm_after) * (x - adjusted * v / (torch.sqrt(h) + epsilon)), v, h
