"""ATen's functions that Python calls by another name, or with other arguments."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.images_decomposed import each
from scriptc.frontend.library.torch.slices_decomposed import slice_of


@decomposes("aten.slice")
def aten_slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return slice_of(input, dim, start, end, step)


@decomposes("aten._to_copy")
def to_copy(
    input: Tensor, *, dtype: torch.dtype | None = None, layout: torch.layout | None = None,
    device: torch.device | None = None, pin_memory: bool | None = None, non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> Tensor:  # fmt: skip
    return input.to(dtype=dtype, device=device, copy=True, memory_format=memory_format)


@decomposes("aten.lift_fresh_copy")
def lift_fresh_copy(input: Tensor) -> Tensor:
    return input.clone()


@decomposes("aten.copy")
def copy(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return input.clone().copy_(src)


@decomposes("aten._softmax")
def softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return torch.softmax(input, dim, torch.float32 if half_to_float else None)


@decomposes("aten._log_softmax")
def log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return torch.log_softmax(input, dim, torch.float32 if half_to_float else None)


@decomposes("aten.elu")
def elu(input: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    return torch.where(input > 0, input * scale, torch.expm1(input * input_scale) * (alpha * scale))


@decomposes("aten._cdist_forward")
def cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    return torch.cdist(x1, x2, p)


@decomposes("aten._pdist_forward")
def pdist_forward(input: Tensor, p: float = 2) -> Tensor:
    return torch.pdist(input, p)


@decomposes("aten._embedding_bag")
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return embedding_bag with ATen's arguments: a padding index of -1 means no padding."""
    return torch.embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        None if padding_idx < 0 else padding_idx,
    )  # fmt: skip


@decomposes("aten.convolution", "torch.convolution")
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int],
    transposed: bool, output_padding: list[int], groups: int,
) -> Tensor:  # fmt: skip
    count = weight.dim() - 2
    s, p, d, o = each(stride, count), each(padding, count), each(dilation, count), each(output_padding, count)
    if transposed:
        transpose = (torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d)[count - 1]
        return transpose(input, weight, bias, s, p, o, groups, d)
    forward = (torch.conv1d, torch.conv2d, torch.conv3d)[count - 1]
    return forward(input, weight, bias, s, p, d, groups)


@decomposes("aten._native_batch_norm_legit")
def batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, training: bool,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@decomposes("aten._native_batch_norm_legit.no_stats")
def batch_norm_no_stats(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@decomposes("aten._native_batch_norm_legit_no_training")
def batch_norm_no_training(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return torch.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


def _pad(count: int, mode: str, name: str) -> None:
    @decomposes(f"aten.{name}_pad{count}d")
    def pad(input: Tensor, padding: list[int]) -> Tensor:
        return torch.nn.functional.pad(input, list(padding), mode)


def _pool(count: int) -> None:
    average = (
        torch.nn.functional.adaptive_avg_pool1d, torch.nn.functional.adaptive_avg_pool2d,
        torch.nn.functional.adaptive_avg_pool3d,
    )[count - 1]  # fmt: skip

    @decomposes(f"aten._adaptive_avg_pool{count}d")
    def pool(input: Tensor, output_size: list[int]) -> Tensor:
        return average(input, tuple(output_size))


for _count in (1, 2, 3):
    _pad(_count, "reflect", "reflection")
    _pad(_count, "replicate", "replication")
    _pool(_count)


@decomposes("aten.native_dropout", "torch.native_dropout")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is False or p == 0:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    kept = torch.empty_like(input, dtype=torch.bool).bernoulli_(1 - p)
    return input * kept * (0.0 if p == 1 else 1 / (1 - p)), kept
