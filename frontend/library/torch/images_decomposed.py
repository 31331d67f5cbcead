"""Convolutions and pools in any number of dims, in terms of those in two."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.convolution_checks_decomposed import (
    check_batch,
    check_same_padding,
    check_transposed_volumes,
    check_volumes,
)
from scriptc.frontend.library.torch.pool_checks_decomposed import (
    check_averages_of_bins,
    check_largest_of_bins,
    check_max_of_vectors,
    check_windows,
    window_count,
)

Size = int | tuple[int, ...]


def each(value: Any, count: int) -> tuple[int, ...]:
    """Return one number for each dim."""
    if isinstance(value, int):
        return (value,) * count
    return tuple(value) * count if len(value) == 1 else tuple(value)


def same_padding(
    input: Tensor, weight: Tensor, padding: object, stride: tuple[int, ...], dilation: tuple[int, ...], count: int
) -> Tensor:
    """Return the input with the zeros that padding="same" adds."""
    if padding != "same":
        return input
    check_same_padding(input, weight, count)
    if max(stride) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = tuple(dilation[i] * (weight.size(2 + i) - 1) for i in range(count))
    amounts = [n for i in range(count) for n in (totals[i] // 2, totals[i] - totals[i] // 2)]
    return torch.constant_pad_nd(input, [amounts[2 * (count - 1 - i // 2) + i % 2] for i in range(2 * count)])


def as_image(x: Tensor) -> Tensor:
    """Return [N, C, L] as images of one row.

    Like eager, copy a permuted input, which else looks like channels last.
    """
    return x.contiguous().unsqueeze(-2)


@decomposes("torch.conv1d", "torch.nn.functional.conv1d")
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int | str = 0, dilation: int = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    check_batch(input, "conv1d", 1)
    d = each(dilation, 1)
    x = same_padding(input, weight, padding, each(stride, 1), d, 1)
    p = (0,) if isinstance(padding, str) else each(padding, 1)
    image = torch.conv2d(
        as_image(x), weight.unsqueeze(-2), bias, (1, each(stride, 1)[0]), (0, p[0]), (1, d[0]), groups
    )
    return image.select(-2, 0)


@decomposes("torch.conv_tbc", "torch.nn.functional.conv_tbc")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Return the convolution of [T, N, C] over time by a weight [K, C, F]."""
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.size(2) != weight.size(1):
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.size(2) != bias.size(0):
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    added = bias.to(input.dtype)
    if input.is_floating_point():
        result = torch.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), added, padding=pad)
        return result.permute(2, 0, 1).contiguous()
    wide = torch.constant_pad_nd(input, (0, 0, 0, 0, pad, pad))
    steps = wide.size(0) - weight.size(0) + 1
    out = added.expand(steps, input.size(1), weight.size(2)).contiguous()
    for k in range(weight.size(0)):
        out = out + torch.matmul(wide[k : k + steps], weight[k])
    return out


@decomposes("torch.conv3d", "torch.nn.functional.conv3d", widens=True)
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int | str = 0, dilation: int = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """Return the sum, over the depth of the kernel, of 2-D convolutions of all slices."""
    check_batch(input, "conv3d", 3)
    x = input.unsqueeze(0) if input.dim() == 4 else input
    s, d = each(stride, 3), each(dilation, 3)
    x = same_padding(x, weight, padding, s, d, 3)
    p = (0, 0, 0) if isinstance(padding, str) else each(padding, 3)
    check_volumes(x, weight, bias, s, p, d, groups)
    x = torch.constant_pad_nd(x, [0, 0, 0, 0, p[0], p[0]])
    depth = (x.size(2) - d[0] * (weight.size(2) - 1) - 1) // s[0] + 1
    batch = x.size(0) * depth
    first = weight.select(2, 0)
    slices = x[:, :, 0 : (depth - 1) * s[0] + 1 : s[0]].transpose(1, 2).reshape(batch, x.size(1), x.size(3), x.size(4))
    total = torch.conv2d(slices, first, bias, s[1:], p[1:], d[1:], groups)
    for k in range(1, weight.size(2)):
        at = k * d[0]
        part = x[:, :, at : at + (depth - 1) * s[0] + 1 : s[0]].transpose(1, 2)
        part = part.reshape(batch, x.size(1), x.size(3), x.size(4))
        total = total + torch.conv2d(part, weight.select(2, k), None, s[1:], p[1:], d[1:], groups)
    result = total.reshape(x.size(0), depth, total.size(1), total.size(2), total.size(3)).transpose(1, 2)
    result = result.contiguous()
    return result.select(0, 0) if input.dim() == 4 else result


@decomposes("torch.conv_transpose1d", "torch.nn.functional.conv_transpose1d")
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0,
    output_padding: int = 0, groups: int = 1, dilation: int = 1,
) -> Tensor:  # fmt: skip
    check_batch(input, "conv_transpose1d", 1)
    image = torch.conv_transpose2d(
        as_image(input), weight.unsqueeze(-2), bias, (1, each(stride, 1)[0]), (0, each(padding, 1)[0]),
        (0, each(output_padding, 1)[0]), groups, (1, each(dilation, 1)[0]),
    )  # fmt: skip
    return image.select(-2, 0)


@decomposes("torch.conv_transpose3d", "torch.nn.functional.conv_transpose3d")
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0,
    output_padding: int = 0, groups: int = 1, dilation: int = 1,
) -> Tensor:  # fmt: skip
    """Put zeros between the elements of the input, and return its convolution with the reversed kernel."""
    count = 3
    check_batch(input, "conv_transpose3d", count)
    s, p, d, more = each(stride, count), each(padding, count), each(dilation, count), each(output_padding, count)
    x = input.unsqueeze(0) if input.dim() == count + 1 else input
    check_transposed_volumes(x, weight, bias, s, p, more, groups, d)
    spread = tuple((x.size(2 + i) - 1) * s[i] + 1 for i in range(count))
    wide = torch.zeros((x.size(0), x.size(1), *spread), dtype=x.dtype)
    steps = wide
    for i in range(count):
        steps = steps.transpose(0, 2 + i)[:: s[i]].transpose(0, 2 + i)
    steps.copy_(x)
    margins = tuple(d[i] * (weight.size(2 + i) - 1) - p[i] for i in range(count))
    amounts = [margins[count - 1 - j // 2] + (more[count - 1 - j // 2] if j % 2 == 1 else 0) for j in range(2 * count)]
    wide = torch.constant_pad_nd(wide, amounts)
    kernel = torch.flip(weight, tuple(range(2, 2 + count)))
    sizes = tuple(weight.size(2 + i) for i in range(count))
    per_group = weight.size(0) // groups
    kernel = kernel.reshape(groups, per_group, weight.size(1), *sizes).transpose(1, 2)
    kernel = kernel.reshape(groups * weight.size(1), per_group, *sizes)
    result = torch.conv3d(wide, kernel, bias, 1, 0, d, groups)
    return result.select(0, 0) if input.dim() == count + 1 else result


def conv_transpose_of_groups(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Size, padding: Size, output_padding: Size, groups: int,
    dilation: Size,
) -> Tensor:  # fmt: skip
    """Return conv_transpose2d for a number of groups that only run time knows."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    s, p, o, d = each(stride, 2), each(padding, 2), each(output_padding, 2), each(dilation, 2)
    deep = torch.conv_transpose3d(
        input.unsqueeze(-3), weight.unsqueeze(2), bias, (1, *s), (0, *p), (0, *o), groups, (1, *d)
    )
    return deep.squeeze(-3)


# ---- pools ----
def windows(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...],
    ceil_mode: bool, fill: float, count: int,
) -> Tensor:  # fmt: skip
    """Return the windows over the last `count` dims: positions, then elements of a window."""
    x = input
    for i in range(count):
        dim = input.dim() - count + i
        span = dilation[i] * (kernel[i] - 1) + 1
        n = x.size(dim)
        length = window_count(n, kernel[i], stride[i], padding[i], dilation[i], ceil_mode)
        right = max((length - 1) * stride[i] + span - n - padding[i], 0)
        amounts = [0] * (2 * (input.dim() - 1 - dim + i)) + [padding[i], right]
        x = torch.constant_pad_nd(x, amounts, fill)
        x = x.narrow(dim, 0, max((length - 1) * stride[i] + span, 0)).unfold(dim, span, stride[i])
        if dilation[i] > 1:
            x = x[..., :: dilation[i]]
    return x


def _avg_pool(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], ceil_mode: bool,
    count_include_pad: bool, divisor: int | None, count: int,
) -> Tensor:  # fmt: skip
    """Return means over windows.

    The divisor counts input and padding, but not what ceil_mode adds.
    """
    ones = (1,) * count
    dims = tuple(range(-count, 0))
    total = torch.sum(windows(input, kernel, stride, padding, ones, ceil_mode, 0.0, count), dims)
    if divisor is not None:
        return _divided(total, divisor)
    sizes = tuple(input.size(input.dim() - count + i) for i in range(count))
    present = torch.ones(sizes, dtype=input.dtype)
    if count_include_pad:
        present = torch.constant_pad_nd(present, [padding[count - 1 - j // 2] for j in range(2 * count)], 1.0)
        counted = torch.sum(windows(present, kernel, stride, (0,) * count, ones, ceil_mode, 0.0, count), dims)
    else:
        counted = torch.sum(windows(present, kernel, stride, padding, ones, ceil_mode, 0.0, count), dims)
    return _divided(total, counted)


def _divided(total: Tensor, count: Tensor | int) -> Tensor:
    return total / count if total.is_floating_point() else torch.div(total, count, rounding_mode="trunc")


def _average(count: int) -> None:
    names = (f"torch.avg_pool{count}d", f"torch.nn.functional.avg_pool{count}d", f"torch._C._nn.avg_pool{count}d")

    @decomposes(*names)
    def avg_pool(
        input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        kernel, pads = each(kernel_size, count), each(padding, count)
        steps = kernel if stride is None or (not isinstance(stride, int) and len(stride) == 0) else each(stride, count)
        if divisor_override is not None and divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        check_windows(input, kernel, steps, pads, (1,) * count, ceil_mode, "avg", count)
        return _avg_pool(input, kernel, steps, pads, ceil_mode, count_include_pad, divisor_override, count)


_average(1)
_average(3)


def _max_pool_indices(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...],
    ceil_mode: bool, count: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the largest elements of the windows, and their flat indices in the input."""
    lowest = -math.inf if input.is_floating_point() else torch.iinfo(input.dtype).min
    seen = windows(input, kernel, stride, padding, dilation, ceil_mode, lowest, count)
    places = torch.zeros((), dtype=torch.int64)
    for i in range(count):
        n = input.size(input.dim() - count + i)
        line = torch.arange(n).reshape(tuple(n if k == i else 1 for k in range(count)))
        sizes = tuple(input.size(input.dim() - count + k) for k in range(count))
        places = places * n + line.expand(sizes)
    where = windows(places, kernel, stride, padding, dilation, ceil_mode, -1, count)
    flat = seen.flatten(seen.dim() - count)
    best = torch.argmax(flat, -1, keepdim=True)
    flat_positions = where.flatten(where.dim() - count).expand(flat.shape)
    return torch.gather(flat, -1, best).select(-1, 0), torch.gather(flat_positions, -1, best).select(-1, 0)


def _max(count: int) -> None:
    with_indices = (f"torch.max_pool{count}d_with_indices", f"torch._C._nn.max_pool{count}d_with_indices")

    @decomposes(*with_indices)
    def max_pool_with_indices(
        input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        kernel, pads, spread = each(kernel_size, count), each(padding, count), each(dilation, count)
        steps = kernel if stride is None or (not isinstance(stride, int) and len(stride) == 0) else each(stride, count)
        check_windows(input, kernel, steps, pads, spread, ceil_mode, "max", count)
        return _max_pool_indices(input, kernel, steps, pads, spread, ceil_mode, count)

    if count == 2:
        return  # max_pool2d itself is a row

    @decomposes(f"torch.max_pool{count}d")
    def max_pool(
        input: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
        ceil_mode: bool = False,
    ) -> Tensor:  # fmt: skip
        kernel, pads, spread = each(kernel_size, count), each(padding, count), each(dilation, count)
        steps = kernel if stride is None or (not isinstance(stride, int) and len(stride) == 0) else each(stride, count)
        if count == 1:
            check_max_of_vectors(input, kernel[0], steps[0], pads[0], spread[0], ceil_mode)
        else:
            check_windows(input, kernel, steps, pads, spread, ceil_mode, "max", count)
        lowest = -math.inf if input.is_floating_point() else torch.iinfo(input.dtype).min
        seen = windows(input, kernel, steps, pads, spread, ceil_mode, lowest, count)
        for _ in tuple(range(count)):  # the gradient goes to the first of equal elements of a window
            seen = torch.max(seen, -1)[0]
        return seen


for _count in (1, 2, 3):
    _max(_count)


def _bin(x: Tensor, dim: int, k: int, count: int) -> Tensor:
    """Return the k-th of `count` bins along a dim. Bins may overlap."""
    n = x.size(dim)
    start, stop = k * n // count, ((k + 1) * n + count - 1) // count
    return x.narrow(dim, start, stop - start)


def _adaptive_average(input: Tensor, sizes: tuple[int | None, ...]) -> Tensor:
    """Return the mean over bins, one dim after the other; over all at once where each has one bin, as eager does."""
    if sizes == (1,) * len(sizes):
        return torch.mean(input, tuple(range(-len(sizes), 0)), True)
    result = input
    for i, wanted in enumerate(sizes):
        dim = input.dim() - len(sizes) + i
        if wanted is not None:
            parts = [torch.mean(_bin(result, dim, k, wanted), dim) for k in range(wanted)]
            result = torch.stack(parts, dim) if wanted != 0 else result.narrow(dim, 0, 0).clone()
    return result


def _adaptive(count: int) -> None:
    names = (
        f"torch.adaptive_avg_pool{count}d", f"torch.nn.functional.adaptive_avg_pool{count}d",
        f"torch._C._nn.adaptive_avg_pool{count}d",
    )  # fmt: skip

    @decomposes(*names)
    def adaptive_avg_pool(input: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
        sizes = each(output_size, count)
        check_averages_of_bins(input, sizes, not isinstance(output_size, int), count)
        return _adaptive_average(input, sizes)

    @decomposes(f"torch.adaptive_max_pool{count}d", f"torch._C._nn.adaptive_max_pool{count}d")
    def adaptive_max_pool(input: Tensor, output_size: int | tuple[int | None, ...]) -> tuple[Tensor, Tensor]:
        sizes = each(output_size, count)
        check_largest_of_bins(input, sizes, count)
        return _adaptive_max(input, sizes)


def _adaptive_max(input: Tensor, sizes: tuple[int | None, ...]) -> tuple[Tensor, Tensor]:
    """Return the largest element of each bin and its index, the first one of equals."""
    count = len(sizes)
    values = input
    own = tuple(input.size(input.dim() - count + i) for i in range(count))
    total = 1
    for n in own:
        total = total * n
    places = torch.arange(total).reshape(own).expand(input.shape)
    for i in reversed(range(count)):
        wanted = sizes[i]
        dim = input.dim() - count + i
        n = input.size(dim)
        if wanted is not None:
            best = [
                torch.argmax(_bin(values, dim, k, wanted), dim, keepdim=True) + k * n // wanted for k in range(wanted)
            ]
            index = torch.cat(best, dim) if wanted != 0 else places.narrow(dim, 0, 0)
            values, places = torch.gather(values, dim, index), torch.gather(places, dim, index)
    return values, places


for _count in (1, 2, 3):
    _adaptive(_count)
