"""Quantized tensors: integers with a scale and a zero point. Sums of products of integers are exact."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.onnx.functions.convolutions import conv_integer, difference


def along(values: Tensor, x: Tensor, axis: int, block: int = 0) -> Tensor:
    """Return scales or zero points with the dims of `x`: one for all, one for each index of `axis`, or one for each block."""
    if values.dim() == 0:
        return values
    if values.numel() == 1:
        return values.reshape([1] * x.dim())
    if block > 0:
        return values.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    shape = [1] * x.dim()
    shape[axis] = -1
    return values.reshape(shape)


def quantize(x: Tensor, scale, zero, low: int, high: int, dtype: torch.dtype) -> Tensor:
    """Return the integers from `low` to `high` that are nearest to `x / scale + zero`; ties go to even before the zero."""
    rounded = torch.round(x / scale)
    if rounded.dtype != torch.float64:
        rounded = rounded.to(torch.float32)  # 16 bits do not hold the sum with the zero point
    return torch.clamp(rounded + zero, low, high).to(dtype)


def dequantize(x: Tensor, scale, zero, dtype: torch.dtype) -> Tensor:
    """Return `(x - zero) * scale`, rounded once."""
    centered = x if x.is_floating_point() else x.to(torch.int32)
    return ((centered - zero).to(torch.float32) * scale).to(dtype)


def dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return `x` as uint8 elements, with the scale and the zero point that its least and largest elements give."""
    low, high = torch.clamp(torch.amin(x), max=0), torch.clamp(torch.amax(x), min=0)
    scale = torch.where(high == low, torch.ones_like(high), (high - low) / 255)
    zero = torch.round(torch.clamp(-low / scale, 0, 255))
    return quantize(x, scale, zero, 0, 255, torch.uint8), scale, zero.to(torch.uint8)


def by_row(values, x: Tensor):
    """Return one value for each row of the matrix `x` as a column."""
    if values is None or values.dim() != 1 or x.dim() < 2:
        return values
    return values.unsqueeze(-1)


def exact_matmul(a: Tensor, b: Tensor, a_zero, b_zero) -> Tensor:
    """Return the product of integers of at most 16 bits, as sums that wrap at 32 bits."""
    return torch.matmul(difference(a, by_row(a_zero, a), torch.int32), difference(b, b_zero, torch.int32))


def requantize(sums: Tensor, scale, zero, low: int, high: int, dtype: torch.dtype) -> Tensor:
    """Return exact sums of products as elements of another scale."""
    rounded = torch.round(sums.to(torch.float32) * scale)
    return torch.clamp(rounded if zero is None else rounded + zero, low, high).to(dtype)


def qlinear_matmul(
    a: Tensor, a_scale: Tensor, a_zero, b: Tensor, b_scale: Tensor, b_zero, y_scale: Tensor, y_zero,
    low: int, high: int, dtype: torch.dtype,
) -> Tensor:  # fmt: skip
    scale = by_row(a_scale, a) * b_scale / by_row(y_scale, a)
    return requantize(exact_matmul(a, b, a_zero, b_zero), scale, by_row(y_zero, a), low, high, dtype)


def qlinear_conv(
    x: Tensor, x_scale: Tensor, x_zero, w: Tensor, w_scale: Tensor, w_zero, y_scale: Tensor, y_zero, bias,
    low: int, high: int, dtype: torch.dtype, strides, dilations, pads, auto_pad: str, groups: int,
) -> Tensor:  # fmt: skip
    """Return the convolution of integers. `bias` has the scale `x_scale * w_scale`."""
    by_channel = [-1] + [1] * (x.dim() - 2)
    sums = conv_integer(x, w, x_zero, w_zero, strides, dilations, pads, auto_pad, groups)
    if bias is not None:
        sums = sums + bias.reshape(by_channel)
    scale = x_scale * w_scale / y_scale
    return requantize(sums, scale.reshape(by_channel), y_zero, low, high, dtype)


def dynamic_quantize_matmul(a: Tensor, b: Tensor, b_scale: Tensor, b_zero) -> Tensor:
    """Return the product of floats, which are quantized first, with integers."""
    x, scale, zero = dynamic_quantize(a)
    return exact_matmul(x, b, zero, b_zero).to(torch.float32) * (scale * b_scale)


def dynamic_quantize_product(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of floats, which are rounded to their quantized values first, with floats."""
    x, scale, zero = dynamic_quantize(a)
    return torch.matmul(dequantize(x, scale, zero, torch.float32), b)
