"""Functions that draw random numbers, in terms of simpler draws in eager's order."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def slopes_of(x: Tensor, lower: float, upper: float) -> Tensor:
    """Return 1 for positive elements, else a number between the bounds.

    A handler serves this function.
    """
    raise NotImplementedError


def places_in(sums: Tensor, rows: int, count: int) -> Tensor:
    """Return indices drawn by running sums of probabilities. A handler serves this function."""
    raise NotImplementedError


def _check_probability(p: float) -> None:
    if p < 0 or p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _feature_noise(input: Tensor) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.new_empty(input.size(0), input.size(1), *[1 for _ in range(input.dim() - 2)])


def _noise(empty: Tensor, p: float) -> Tensor:
    """Fill a tensor with what dropout multiplies by."""
    return empty.bernoulli_(1 - p).div_(1 - p)


def _alpha_noise(empty: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """Return what alpha dropout multiplies by and what it adds, of the shape of a tensor that is written."""
    noise = empty.bernoulli_(1 - p)
    alpha = 1.7580993408473766
    a = 1.0 / ((alpha * alpha * p + 1) * (1 - p)) ** 0.5
    shift = noise.add(-1).mul_(alpha * a).add_(alpha * a * p)
    return noise.mul_(a), shift


@decomposes("torch.dropout")
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype)
    return input * _noise(torch.empty_like(input), p)


@decomposes("torch.feature_dropout")
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype)
    return input * _noise(_feature_noise(input), p)


@decomposes("torch.alpha_dropout")
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype)
    noise, shift = _alpha_noise(torch.empty_like(input), p)
    return input * noise + shift


@decomposes("torch.feature_alpha_dropout")
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype)
    noise, shift = _alpha_noise(_feature_noise(input), p)
    return input * noise + shift


@decomposes("torch.dropout_")
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train:
        return input
    if p == 1:
        return input.mul_(torch.zeros((), dtype=input.dtype))
    return input.mul_(_noise(torch.empty_like(input), p))


@decomposes("torch.feature_dropout_")
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train:
        return input
    if p == 1:
        return input.mul_(torch.zeros((), dtype=input.dtype))
    return input.mul_(_noise(_feature_noise(input), p))


@decomposes("torch.alpha_dropout_")
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not train:
        return input
    if p == 1:
        return input.mul_(torch.zeros((), dtype=input.dtype))
    noise, shift = _alpha_noise(torch.empty_like(input), p)
    return input.mul_(noise).add_(shift)


def _number_tensor(number: float) -> Tensor:
    return torch.tensor(number, dtype=torch.float64) if isinstance(number, float) else torch.tensor(number)


@decomposes("torch.rrelu")
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if not training:
        slope = (_number_tensor(lower) + _number_tensor(upper)) / 2
        return torch.nn.functional.leaky_relu(input, slope.item())
    return input * slopes_of(input, lower, upper)


@decomposes("torch.multinomial", "Tensor.multinomial")
def multinomial(input: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    if input.dim() < 1 or input.dim() > 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.is_floating_point():
        raise RuntimeError("multinomial only supports floating-point dtypes for input")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.size(-1):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not replacement or num_samples == 1:
        if not bool(((input.max() < float("inf")) & (input.min() >= 0)).item()):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if bool((input.sum(-1) == 0).any()):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        q = torch.empty_like(input).exponential_(1.0)
        q = input / q
        if num_samples == 1:
            return q.argmax(-1, keepdim=True)
        return torch.topk(q, num_samples, -1)[1].contiguous()
    if bool((~(input >= 0)).any()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    sums = input.cumsum(-1)
    total = sums.select(-1, sums.size(-1) - 1).unsqueeze(-1)
    if bool((~(total > 0)).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    return places_in(sums / total, input.size(0), num_samples)
