"""Pools: a window is taken one dim at a time, since maxima and sums over windows are separable."""

from __future__ import annotations

import torch
from torch import Tensor


def pads_of(size: int, kernel: int, stride: int, dilation: int, before: int, after: int, auto_pad: str):
    """Return the pads of one dim, as `auto_pad` says."""
    if auto_pad == "VALID":
        return 0, 0
    if auto_pad == "NOTSET":
        return before, after
    total = max((-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size, 0)
    if auto_pad == "SAME_UPPER":
        return total // 2, total - total // 2
    return total - total // 2, total // 2


def windows(size: int, kernel: int, stride: int, dilation: int, before: int, after: int, ceil: bool) -> Tensor:
    """Return the position of each element of each window of one dim; positions of pads are out of bounds."""
    room = size + before + after - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + before:
        count = count - 1
    starts = torch.arange(max(count, 0)) * stride - before
    return starts.unsqueeze(1) + torch.arange(kernel) * dilation


def taken(x: Tensor, axis: int, at: Tensor) -> Tensor:
    """Return `x` with the dim `axis` replaced by the two dims of the indices `at`."""
    return x.index_select(axis, at.reshape(-1)).reshape(x.shape[:axis] + at.shape + x.shape[axis + 1 :])


def inside(at: Tensor, size: int, dilation: int) -> Tensor:
    """Return the positions with those of pads replaced by the nearest element of the same window."""
    at = torch.where(at < 0, at % dilation, at)
    return torch.where(at >= size, (size - 1) - (size - 1 - at) % dilation, at)


def max_pool(x: Tensor, kernel, strides, dilations, pads, auto_pad: str, ceil: bool) -> Tensor:
    rank = len(kernel)
    for i in range(rank):
        size = x.shape[i + 2]
        before, after = pads_of(size, kernel[i], strides[i], dilations[i], pads[i], pads[i + rank], auto_pad)
        at = windows(size, kernel[i], strides[i], dilations[i], before, after, ceil)
        x = torch.amax(taken(x, i + 2, inside(at, size, dilations[i])), i + 3)
    return x


def max_pool_indices(x: Tensor, kernel, strides, dilations, pads, auto_pad: str, ceil: bool, order: int):
    """Return the maxima and their indices in `x`; `order` 1 counts the spatial dims from the first to the last."""
    rank = len(kernel)
    count = 1
    flat = torch.zeros([1] * (rank + 2), dtype=torch.int64)
    for k in range(rank):
        axis = k + 2 if order == 1 else rank + 1 - k
        shape = [1] * (rank + 2)
        shape[axis] = -1
        flat = flat + (torch.arange(x.shape[axis]) * count).reshape(shape)
        count = count * x.shape[axis]
    flat = flat + (torch.arange(x.shape[0] * x.shape[1]) * count).reshape([x.shape[0], x.shape[1]] + [1] * rank)
    for k in range(rank):
        i = rank - 1 - k
        size = x.shape[i + 2]
        before, after = pads_of(size, kernel[i], strides[i], dilations[i], pads[i], pads[i + rank], auto_pad)
        at = inside(windows(size, kernel[i], strides[i], dilations[i], before, after, ceil), size, dilations[i])
        x, flat = taken(x, i + 2, at), taken(flat, i + 2, at)
        best = torch.argmax(x, i + 3, keepdim=True)
        x, flat = torch.gather(x, i + 3, best).squeeze(i + 3), torch.gather(flat, i + 3, best).squeeze(i + 3)
    return x, flat


def window_sums(x: Tensor, axis: int, at: Tensor) -> Tensor:
    """Return the sum of each window of one dim, where pads are zeros."""
    size = x.shape[axis]
    shape = [1] * (x.dim() + 1)
    shape[axis], shape[axis + 1] = at.shape[0], at.shape[1]
    valid = ((at >= 0) & (at < size)).reshape(shape)
    parts = taken(x, axis, torch.clamp(at, 0, max(size - 1, 0)))
    return torch.sum(torch.where(valid, parts, torch.zeros_like(parts)), axis + 1)


def average_pool(x: Tensor, kernel, strides, dilations, pads, auto_pad: str, ceil: bool, count_pads: bool) -> Tensor:
    rank = len(kernel)
    for i in range(rank):
        size = x.shape[i + 2]
        before, after = pads_of(size, kernel[i], strides[i], dilations[i], pads[i], pads[i + rank], auto_pad)
        at = windows(size, kernel[i], strides[i], dilations[i], before, after, ceil)
        counted = (at >= -before) & (at < size + after) if count_pads else (at >= 0) & (at < size)
        shape = [1] * x.dim()
        shape[i + 2] = -1
        x = window_sums(x, i + 2, at) / torch.sum(counted, 1).to(x.dtype).reshape(shape)
    return x


def lp_pool(x: Tensor, kernel, strides, dilations, pads, auto_pad: str, ceil: bool, p: int) -> Tensor:
    rank = len(kernel)
    made = torch.pow(torch.abs(x), p)
    for i in range(rank):
        size = x.shape[i + 2]
        before, after = pads_of(size, kernel[i], strides[i], dilations[i], pads[i], pads[i + rank], auto_pad)
        made = window_sums(made, i + 2, windows(size, kernel[i], strides[i], dilations[i], before, after, ceil))
    return torch.pow(made, 1.0 / p)


def global_lp_pool(x: Tensor, p: int) -> Tensor:
    return torch.pow(torch.sum(torch.pow(torch.abs(x), p), tuple(range(2, x.dim())), keepdim=True), 1.0 / p)


def max_unpool(x: Tensor, indices: Tensor, shape, kernel, strides, pads) -> Tensor:
    """Put each element of `x` at its index in a tensor of zeros."""
    rank = len(kernel)
    sizes = [x.shape[0], x.shape[1]]
    for i in range(rank):
        sizes.append((x.shape[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank])
    total = 1
    for size in sizes:
        total = total * size
    made = torch.zeros(total, dtype=x.dtype).scatter(0, indices.reshape(-1), x.reshape(-1)).reshape(sizes)
    if shape is None:
        return made
    for i in range(x.dim()):
        made = made.narrow(i, 0, min(sizes[i], shape[i]))
    widths = []
    for k in range(x.dim()):
        i = x.dim() - 1 - k
        widths.append(0)
        widths.append(shape[i] - made.shape[i])
    return torch.nn.functional.pad(made, widths)
