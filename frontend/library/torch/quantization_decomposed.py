"""Fake quantization: values rounded to those that integers of a scale and a zero point have (Jacob et al. 2018).

The gradient passes where no integer was clamped, which is the straight-through estimator of Bengio et al. 2013.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES


class _PassedWhere(torch.autograd.Function):
    """`result`, whose gradient goes to x where `kept` holds."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, result: Tensor, kept: Tensor) -> Tensor:
        ctx.save_for_backward(kept)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad * ctx.saved_tensors[0], None, None


def check_range(low: int, high: int) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


@decomposes("torch.fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Tensor | float, zero_point: Tensor | int, quant_min: int, quant_max: int
) -> Tensor:
    """As ATen, compute in float32, but divide what is float64 in float64."""
    check_range(quant_min, quant_max)
    if isinstance(zero_point, Tensor):
        zero = int(zero_point.item())
    else:
        zero = zero_point
        if not quant_min <= zero <= quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    by = torch.tensor(scale.item() if isinstance(scale, Tensor) else scale, dtype=torch.float32)
    inverse = 1 / by
    wide = input if input.dtype == torch.float64 else input.to(torch.float32)
    integers = torch.round(wide * inverse) + zero
    kept = (integers >= quant_min) & (integers <= quant_max)
    clamped = torch.where(integers > quant_min, integers.clamp(max=quant_max), quant_min)  # NaN gives the least
    result = (clamped.to(torch.float32) - zero) * by
    return _PassedWhere.apply(input, result.to(input.dtype), kept)


@decomposes("torch.fake_quantize_per_channel_affine")
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As ATen, round to int64, and compute in float64 from there."""
    if scale.dtype != torch.float32 and scale.dtype != torch.bfloat16:
        raise RuntimeError(f"Scale must be Float or BFloat16, found {NAMES[scale.dtype]}")
    if zero_point.dtype != torch.int32 and zero_point.dtype != torch.float32 and zero_point.dtype != torch.float16:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {NAMES[zero_point.dtype]}")
    if scale.dim() != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.dim() != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != input.size(axis):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    check_range(quant_min, quant_max)
    if not zero_point.dtype.is_floating_point and not ((zero_point >= quant_min) & (zero_point <= quant_max)).all():
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if axis < 0 or axis > input.dim():
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    shape = [1] * input.dim()
    shape[axis] = -1
    by, zero = scale.to(torch.float32).view(shape), zero_point.view(shape)
    wide = input if input.dtype == torch.float64 else input.to(torch.float32)
    divided = wide * (1 / by)
    rounded = torch.round(divided + zero) if zero_point.dtype.is_floating_point else torch.round(divided) + zero
    integers = rounded.to(torch.int64)
    kept = (integers >= quant_min) & (integers <= quant_max)
    result = (integers.clamp(quant_min, quant_max).to(torch.float64) - zero) * by
    return _PassedWhere.apply(input, result.to(input.dtype), kept)
