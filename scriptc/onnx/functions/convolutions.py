"""Convolutions with pads that differ at both ends, transposed, of integers, and with offsets."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.onnx.functions.pooling import pads_of


def padded(x: Tensor, kernel, strides, dilations, pads, auto_pad: str) -> Tensor:
    """Return `x` with zeros around its spatial dims."""
    rank = x.dim() - 2
    widths = []
    for k in range(rank):
        i = rank - 1 - k
        before, after = pads_of(x.shape[i + 2], kernel[i], strides[i], dilations[i], pads[i], pads[i + rank], auto_pad)
        widths.append(before)
        widths.append(after)
    return F.pad(x, widths)


def conv(x: Tensor, w: Tensor, bias, strides, dilations, pads, auto_pad: str, groups: int) -> Tensor:
    rank = x.dim() - 2
    both = [0] * rank  # pads that are equal at both ends
    if auto_pad == "NOTSET" and pads[:rank] == pads[rank:]:
        both = pads[:rank]
    elif auto_pad != "VALID":
        x = padded(x, w.shape[2:], strides, dilations, pads, auto_pad)
    if rank == 1:
        return F.conv1d(x, w, bias, strides, both, dilations, groups)
    if rank == 2:
        return F.conv2d(x, w, bias, strides, both, dilations, groups)
    return F.conv3d(x, w, bias, strides, both, dilations, groups)


def conv_transpose(x: Tensor, w: Tensor, bias, strides, dilations, pads, auto_pad: str, groups: int, extra, shape) -> Tensor:
    """Return the transposed convolution. `extra` are zeros at the ends; `shape`, if given, decides the pads."""
    rank = x.dim() - 2
    if rank == 1:
        made = F.conv_transpose1d(x, w, None, strides, 0, 0, groups, dilations)
    elif rank == 2:
        made = F.conv_transpose2d(x, w, None, strides, 0, 0, groups, dilations)
    else:
        made = F.conv_transpose3d(x, w, None, strides, 0, 0, groups, dilations)
    widths = []
    for k in range(rank):
        i = rank - 1 - k
        before, after = pads[i], pads[i + rank]
        if shape is not None or auto_pad == "SAME_UPPER" or auto_pad == "SAME_LOWER":
            size = x.shape[i + 2] * strides[i] if shape is None else shape[len(shape) - rank + i]
            total = made.shape[i + 2] + extra[i] - size
            before = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            after = total - before
        elif auto_pad == "VALID":
            before, after = 0, 0
        widths.append(-before)
        widths.append(extra[i] - after)
    made = F.pad(made, widths)
    return made if bias is None else made + bias.reshape([1, -1] + [1] * rank)


def difference(x: Tensor, zero, dtype: torch.dtype) -> Tensor:
    """Return integers minus their zero point."""
    return x.to(dtype) if zero is None else x.to(dtype) - zero.to(dtype)


def conv_integer(x: Tensor, w: Tensor, x_zero, w_zero, strides, dilations, pads, auto_pad: str, groups: int) -> Tensor:
    """Return the convolution of integers of at most 16 bits, as sums that wrap at 32 bits."""
    if w_zero is not None:
        w_zero = w_zero.reshape([-1] + [1] * (w.dim() - 1))
    left, right = difference(x, x_zero, torch.float64), difference(w, w_zero, torch.float64)
    return conv(left, right, None, strides, dilations, pads, auto_pad, groups).to(torch.int64).to(torch.int32)


def sampled(x: Tensor, y: Tensor, at: Tensor) -> Tensor:
    """Return `x`, (N, C, H, W), at the points (N, G, K, Ho, Wo) of each of G groups of channels; zeros outside."""
    n, c, h, w = x.shape
    groups = y.shape[1]
    low_y, low_x = torch.floor(y), torch.floor(at)
    flat = x.reshape(n, groups, c // groups, h * w)
    made = torch.zeros([n, groups, c // groups, y.shape[2] * y.shape[3] * y.shape[4]], dtype=x.dtype)
    for dy in range(2):
        for dx in range(2):
            row, column = low_y + dy, low_x + dx
            share = (1 - torch.abs(y - row)) * (1 - torch.abs(at - column))
            valid = (row >= 0) & (row < h) & (column >= 0) & (column < w)
            share = torch.where(valid, share, torch.zeros_like(share)).reshape(n, groups, 1, -1)
            index = (torch.clamp(row, 0, h - 1) * w + torch.clamp(column, 0, w - 1)).to(torch.int64)
            index = index.reshape(n, groups, 1, -1).expand(made.shape)
            made = made + torch.gather(flat, 3, index) * share
    return made.reshape(n, c, y.shape[2], y.shape[3], y.shape[4])


def deform_conv(
    x: Tensor, w: Tensor, offset: Tensor, bias, mask, strides, dilations, pads, groups: int, offset_groups: int
) -> Tensor:
    """Return the 2-d convolution whose kernel elements are moved by offsets."""
    n, kh, kw = x.shape[0], w.shape[2], w.shape[3]
    ho, wo = offset.shape[2], offset.shape[3]
    moved = offset.reshape(n, offset_groups, kh * kw, 2, ho, wo)
    rows = (torch.arange(kh) * dilations[0]).repeat_interleave(kw).reshape(-1, 1, 1)
    columns = (torch.arange(kw) * dilations[1]).repeat(kh).reshape(-1, 1, 1)
    y = moved[:, :, :, 0] + (rows + (torch.arange(ho) * strides[0] - pads[0]).reshape(-1, 1)).to(x.dtype)
    at = moved[:, :, :, 1] + (columns + (torch.arange(wo) * strides[1] - pads[1])).to(x.dtype)
    parts = sampled(x, y, at)
    if mask is not None:
        c = x.shape[1]
        shares = mask.reshape(n, offset_groups, 1, kh * kw, ho, wo)
        parts = (parts.reshape(n, offset_groups, c // offset_groups, kh * kw, ho, wo) * shares).reshape(parts.shape)
    parts = parts.reshape(n, groups, -1, ho * wo)
    made = torch.matmul(w.reshape(groups, w.shape[0] // groups, -1), parts).reshape(n, w.shape[0], ho, wo)
    return made if bias is None else made + bias.reshape(1, -1, 1, 1)


def col2im(x: Tensor, shape, block, strides, dilations, pads) -> Tensor:
    """Add the columns of `x` to the blocks of an image that they were taken from."""
    rank = len(shape)
    n = x.shape[0]
    at = torch.zeros([1, 1], dtype=torch.int64)
    valid = torch.ones([1, 1], dtype=torch.bool)
    area, total = 1, 1
    for i in range(rank):
        count = (shape[i] + pads[i] + pads[i + rank] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        place = (torch.arange(block[i]) * dilations[i] - pads[i]).unsqueeze(1) + torch.arange(count) * strides[i]
        place = place.reshape(1, block[i], 1, count)
        fits = (place >= 0) & (place < shape[i])
        rows, columns = at.shape[0], at.shape[1]
        at = at.reshape(rows, 1, columns, 1) * shape[i] + torch.clamp(place, 0, shape[i] - 1)
        at = at.reshape(rows * block[i], columns * count)
        valid = (valid.reshape(rows, 1, columns, 1) & fits).reshape(rows * block[i], columns * count)
        area, total = area * block[i], total * shape[i]
    parts = x.reshape(n, x.shape[1] // area, area * at.shape[1])
    parts = torch.where(valid.reshape(-1), parts, torch.zeros_like(parts))
    made = torch.zeros([n, parts.shape[1], total], dtype=x.dtype)
    made = made.scatter_add(2, at.reshape(1, 1, -1).expand(parts.shape), parts)
    return made.reshape([n, parts.shape[1]] + [shape[i] for i in range(rank)])
