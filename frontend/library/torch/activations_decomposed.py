"""Activations and dropout."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch._C._nn.silu", widens=True)
def silu(input: Tensor) -> Tensor:
    return input * torch.sigmoid(input)


@decomposes("torch._C._nn.silu_")
def silu_(input: Tensor) -> Tensor:
    return input.copy_(torch._C._nn.silu(input))


@decomposes("torch._C._nn.gelu", widens=True)
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    if approximate != "none" and approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return 0.5 * input * (1 + torch.tanh(inner))
    return 0.5 * input * (1 + torch.erf(input * (1 / math.sqrt(2))))


@decomposes("torch._C._nn.softplus", widens=True)
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    scaled = input * beta
    near = torch.where(scaled > threshold, 0.0, scaled)  # an infinite exponential would make a NaN of the gradient 0
    return torch.where(scaled > threshold, input, torch.log1p(torch.exp(near)) / beta)


@decomposes("torch._C._nn.leaky_relu")
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return torch.where(input > 0, input, input * negative_slope)


@decomposes("torch._C._nn.elu", widens=True)
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    # the gradient at 0 is alpha; an infinite alpha would make a NaN of the value
    below = input <= 0 if abs(alpha) <= torch.finfo(input.dtype).max else input < 0
    return torch.where(below, alpha * torch.expm1(torch.clamp(input, max=0)), input)


@decomposes("torch.relu_")
def relu_(input: Tensor) -> Tensor:
    return input.copy_(torch.relu(input))


def _bounded(x: Tensor, low: float, high: float) -> Tensor:
    """Clamp a tensor. The gradient at the bounds is 0, where that of `clamp` is 1."""
    if not x.is_floating_point():
        return torch.clamp(x, low, high)
    return torch.where((x > low) & (x < high), x, torch.clamp(x, low, high).detach())


@decomposes("torch._C._nn.hardtanh")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    if input.dtype == torch.bool:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype == torch.uint8 and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _bounded(input, min_val, max_val).to(input.dtype)


@decomposes("torch._C._nn.relu6")
def relu6(input: Tensor) -> Tensor:
    return _bounded(input, 0, 6)


@decomposes("torch._C._nn.hardsigmoid", widens=True)
def hardsigmoid(input: Tensor) -> Tensor:
    return _bounded(input + 3, 0, 6) / 6


@decomposes("torch._C._nn.hardswish", widens=True)
def hardswish(input: Tensor) -> Tensor:
    return input * _bounded(input + 3, 0, 6) / 6


@decomposes("torch._C._nn.log_sigmoid", widens=True)
def log_sigmoid(input: Tensor) -> Tensor:
    # the gradient at 0 is that of the second branches
    return torch.where(input < 0, input, 0.0) - torch.log1p(torch.exp(torch.where(input < 0, input, -input)))


@decomposes("torch._C._nn.mish", widens=True)
def mish(input: Tensor) -> Tensor:
    return input * torch.tanh(torch.nn.functional.softplus(input))


@decomposes("torch._C._nn.softshrink")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    largest = torch.finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        dtype = str(torch.zeros((), dtype=input.dtype).type()).replace("torch.", "").replace("Tensor", "")
        raise RuntimeError(f"lambda must be in range [0, {largest:g}] for input dtype {dtype}, but found {lambd:g}")
    by = float(lambd)
    return torch.where(input > by, input - by, torch.where(input < -by, input + by, input * 0))


@decomposes("torch.hardshrink", "Tensor.hardshrink")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return torch.where((input >= -float(lambd)) & (input <= lambd), 0.0, input)


@decomposes("torch.threshold", "torch._C._VariableFunctions.threshold")
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    return torch.where(input <= threshold, value, input).to(input.dtype)


@decomposes("torch.celu", widens=True)
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return torch.where(input < 0, alpha * torch.expm1(torch.clamp(input, max=0) / alpha), input)


@decomposes("torch.selu", widens=True)
def selu(input: Tensor) -> Tensor:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * torch.where(input <= 0, alpha * torch.expm1(torch.clamp(input, max=0)), input)


@decomposes("torch.prelu", "Tensor.prelu", widens=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    if input.dim() > 1 and weight.dim() == 1:
        weight = weight.reshape([1, -1] + [1] * (input.dim() - 2))
    if input.dim() == 0 and weight.dim() == 1:
        weight = weight.reshape(())
    return torch.where(input > 0, input, input * weight)


@decomposes("torch._C._nn.glu", widens=True)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.size(dim) % 2 != 0:
        raise RuntimeError("Halving dimension must be even")
    half = input.size(dim) // 2
    return input.narrow(dim, 0, half) * torch.sigmoid(input.narrow(dim, half, half))


@decomposes("torch._C._nn.scaled_dot_product_attention", widens=True)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        dims = f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()}"
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got {dims} instead."
        )
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    factor = 1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale
    scores = query * factor @ key.transpose(-2, -1)
    if is_causal:
        allowed = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        scores = torch.where(allowed, scores, -math.inf)
    if attn_mask is not None:
        scores = torch.where(attn_mask, scores, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return torch.dropout(torch._safe_softmax(scores, -1), dropout_p, True) @ value
