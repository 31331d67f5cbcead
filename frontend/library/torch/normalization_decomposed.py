"""Normalization by batches, instances, layers and groups, and of weights."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES


def _wide(x: Tensor) -> Tensor:
    """Return a half-type tensor in float32.

    Functions that write statistics cannot widen all their arguments.
    """
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def _check_count(name: str, tensor: Tensor | None, expected: int, found: int) -> None:
    if tensor is not None and found != expected:
        raise RuntimeError(f"{name} should contain {expected} elements not {found}")


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
    _check_batch_norm(input, weight, bias, running_mean, running_var, training)
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


def _check_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool,
) -> None:  # fmt: skip
    """Raise the error of eager for statistics or weights that do not fit the channels.

    Out of training, the reshapes that follow raise: more checks of each norm would take a net of hundreds a second to compile.
    """
    for name, given in (("running_mean", running_mean), ("running_var", running_var)):
        if given is None and not training and input.numel() > 0:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    if training and input.numel() > 0:
        for name, given in (
            ("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)
        ):  # fmt: skip
            _check_count(name, given, input.size(1), 0 if given is None else given.numel())
        if (running_mean is None) != (running_var is None):
            raise ValueError("running_mean and running_var must either both be None or neither be None")
    for given in (running_mean, running_var):
        if given is not None and given.dim() != 1 and input.numel() > 0:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {given.dim()}")


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
    """Normalize each channel of each sample.

    Eager calls batch_norm for all channels of all samples, with the statistics and weights once for each sample.
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    batch = input.size(0)
    channels = batch * input.size(1)
    for given in (weight, bias, running_mean, running_var):
        if given is not None and given.dim() > 1:
            raise RuntimeError(
                "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
            )
        if given is not None and batch == 0 and (given is weight or given is bias):
            raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")
    if input.numel() > 0:
        for name, given in (
            ("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)
        ):  # fmt: skip
            _check_count(name, given, channels, 0 if given is None else batch * given.numel())
        if (running_mean is None) != (running_var is None):
            raise ValueError("running_mean and running_var must either both be None or neither be None")
    dims = tuple(range(2, input.dim()))
    shape = (1, -1) + (1,) * (input.dim() - 2)
    x = _wide(input)
    if use_input_stats:
        variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
        if input.numel() > 0 or batch == 0:
            count = input.numel() // max(channels, 1)
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


def _check_normalized(input: Tensor, normalized_shape: list[int], weight: Tensor | None) -> None:
    """Raise the error of eager for an input or a weight of rms_norm that does not fit the shape."""
    count, sizes = len(normalized_shape), list(normalized_shape)
    if count < 1:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {sizes}"
        )
    if weight is not None and [*weight.shape] != sizes:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {[*weight.shape]} and "
            f"normalized_shape = {sizes}"
        )
    if input.dim() < count:
        raise ValueError(f"Input tensor must have at least {count} dimensions, but got {input.dim()}")
    if [*input.shape[input.dim() - count :]] != sizes:
        wanted = ", ".join([str(n) for n in sizes])
        raise RuntimeError(
            f"Given normalized_shape={sizes}, expected input with shape [*{wanted}], but got input of size{[*input.shape]}"
        )


@decomposes("torch.rms_norm", "torch.nn.functional.rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Normalize by the root of the mean square. Half types are computed in float32."""
    _check_normalized(input, normalized_shape, weight)
    if not input.is_floating_point() and not input.is_complex():
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{NAMES[input.dtype]}'")
    dims = tuple(range(-len(normalized_shape), 0))
    x = _wide(input)
    small = torch.finfo(x.dtype).eps if eps is None else eps
    result = x * torch.rsqrt(torch.mean(x * x, dims, keepdim=True) + small)
    return (result if weight is None else result * weight).to(input.dtype)


@decomposes("torch.native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    result = torch.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(-len(normalized_shape), 0))
    variance, mean = torch.var_mean(input, dims, correction=0, keepdim=True)
    return result, mean.detach(), torch.rsqrt(variance + eps).detach()


@decomposes("torch.native_group_norm")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    if input.numel() != N * C * HxW:
        raise RuntimeError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    x = input.reshape(N, C, HxW)
    result = torch.group_norm(x, group, weight, bias, eps).reshape(input.shape)
    variance, mean = torch.var_mean(x.reshape(N, group, -1), 2, correction=0)
    return result, mean, torch.rsqrt(variance + eps)


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
