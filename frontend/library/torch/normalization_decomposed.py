"""Normalization by batches, instances, layers and groups, and of weights."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _wide(x: Tensor) -> Tensor:
    """Return a half-type tensor in float32.

    Functions that write statistics cannot widen all their arguments.
    """
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


@decomposes("torch.batch_norm", "torch._C._VariableFunctions.batch_norm")
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Normalize by batch statistics in training, and update the running ones.

    Half types are computed in float32.
    """
    if input.dim() < 2:
        return _empty_batch(input, weight, bias)
    shape = (1, input.size(1)) + (1,) * (input.dim() - 2)
    x = _wide(input)
    if training or running_mean is None:
        dims = (0, *range(2, input.dim()))
        variance, mean = torch.var_mean(x, dims, correction=0)
        if input.numel() > 0:
            count = input.numel() // input.size(1)
            if running_mean is not None:
                running_mean.copy_((1 - momentum) * running_mean + momentum * mean)
            if running_var is not None:
                running_var.copy_((1 - momentum) * running_var + momentum * variance * (count / max(count - 1, 1)))
        empty = torch.full((), input.numel() == 0)  # its statistics are NaN, the gradient of the weight is zero
        mean, variance = torch.where(empty, 0, mean), torch.where(empty, 0, variance)
    else:
        mean, variance = running_mean, running_var
    mean = _wide(mean).reshape(shape)
    scale = torch.rsqrt(_wide(variance).reshape(shape) + eps)
    if weight is not None:
        scale = scale * weight.reshape(shape)
    shift = -mean * scale if bias is None else bias.reshape(shape) - mean * scale
    return (x * scale + shift).to(input.dtype)


def _empty_batch(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return the result for an empty batch, whose channels eager does not check."""
    if input.numel() > 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    result = input.clone() if weight is None else input * weight[0:1]
    return result if bias is None else result + bias[0:1]


@decomposes("torch.instance_norm")
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    dims = tuple(range(2, input.dim()))
    shape = (1, -1) + (1,) * (input.dim() - 2)
    x = _wide(input)
    if use_input_stats:
        variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
        count = input.numel() // max(input.size(0) * input.size(1), 1)
        if running_mean is not None:
            seen = torch.mean(mean, 0).reshape(-1)
            running_mean.copy_((1 - momentum) * running_mean + momentum * seen)
        if running_var is not None:
            spread = torch.mean(variance, 0).reshape(-1) * (count / max(count - 1, 1))
            running_var.copy_((1 - momentum) * running_var + momentum * spread)
    else:
        assert running_mean is not None and running_var is not None
        mean, variance = running_mean.reshape(shape), running_var.reshape(shape)
    result = (x - mean) * torch.rsqrt(variance + eps)
    if weight is not None:
        result = result * weight.reshape(shape)
    return (result if bias is None else result + bias.reshape(shape)).to(input.dtype)


@decomposes("torch.rms_norm", "torch.nn.functional.rms_norm", widens=True)
def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    dims = tuple(range(-len(normalized_shape), 0))
    small = torch.finfo(input.dtype).eps if eps is None else eps
    result = input * torch.rsqrt(torch.mean(input * input, dims, keepdim=True) + small)
    return result if weight is None else result * weight


@decomposes("torch.native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = tuple(range(-len(normalized_shape), 0))
    variance, mean = torch.var_mean(input, dims, correction=0, keepdim=True)
    result = torch.layer_norm(input, normalized_shape, weight, bias, eps)
    return result, mean.detach(), torch.rsqrt(variance + eps).detach()


@decomposes("torch.native_group_norm")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    variance, mean = torch.var_mean(input.reshape(N, group, -1), 2, correction=0)
    return torch.group_norm(input, group, weight, bias, eps), mean, torch.rsqrt(variance + eps)


@decomposes("torch.native_batch_norm")
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if not training:
        result = torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
        return result, torch.zeros(0, dtype=input.dtype), torch.zeros(0, dtype=input.dtype)
    variance, mean = torch.var_mean(input, (0, *range(2, input.dim())), correction=0)
    result = torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
    return result, mean.detach(), torch.rsqrt(variance + eps).detach()


@decomposes("torch._weight_norm")
def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return g * v / |v| with the norm over all dims but one."""
    if dim == -1:
        return v * (g / torch.sqrt(torch.sum(v * v)))
    others = tuple(d for d in range(v.dim()) if d != dim % v.dim())
    return v * (g / torch.sqrt(torch.sum(v * v, others, keepdim=True)))
