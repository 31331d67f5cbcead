"""Derivatives of convolutions, pools and resizing."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives
from scriptc.frontend.library.torch.backward_decomposed import (
    conv2d_backward_input,
    conv2d_backward_weight,
    max_pool2d_backward,
    spread_means,
)

Sizes = tuple[int, ...]


def _batched(x: Tensor) -> Tensor:
    return x.unsqueeze(0) if x.dim() == 3 else x


@derives("conv2d", "input")
def conv2d_input(
    grad: Tensor, input_sizes: Sizes, weight: Tensor, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    height, width = input_sizes[-2], input_sizes[-1]
    batch = conv2d_backward_input(_batched(grad), weight, height, width, stride, padding, dilation, groups)
    return batch.squeeze(0) if len(input_sizes) == 3 else batch


@derives("conv2d", "weight")
def conv2d_weight(
    grad: Tensor, input: Tensor, weight_sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    height, width = weight_sizes[2], weight_sizes[3]
    return conv2d_backward_weight(_batched(input), _batched(grad), height, width, stride, padding, dilation, groups)


@derives("conv2d", "bias")
@derives("conv_transpose2d", "bias")
def conv2d_bias(grad: Tensor) -> Tensor:
    return _batched(grad).sum((0, 2, 3))


@derives("conv_transpose2d", "input")
def conv_transpose2d_input(
    grad: Tensor, input_sizes: Sizes, weight: Tensor, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    windows = torch.conv2d(grad, weight, None, stride, padding, dilation, groups)
    return windows[..., : input_sizes[-2], : input_sizes[-1]].contiguous()


@derives("conv_transpose2d", "weight")
def conv_transpose2d_weight(
    grad: Tensor, input: Tensor, weight_sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    height, width = weight_sizes[2], weight_sizes[3]
    return conv2d_backward_weight(_batched(grad), _batched(input), height, width, stride, padding, dilation, groups)


@derives("max_pool2d", "self")
def max_pool2d(
    grad: Tensor, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Tensor:
    return max_pool2d_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode)


@derives("avg_pool2d", "self")
def avg_pool2d(
    grad: Tensor, self_sizes: Sizes, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    return spread_means(
        grad, self_sizes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@derives("resample", "self")
def resample(grad: Tensor, self_sizes: Sizes, index: Tensor, weight: Tensor, dim: int) -> Tensor:
    shape = (-1,) + (1,) * (len(self_sizes) - 1 - dim)
    total = torch.zeros(self_sizes, dtype=grad.dtype)
    for t in range(index.size(0)):
        total = total.index_add(dim, index[t], grad * weight[t].reshape(shape))
    return total
