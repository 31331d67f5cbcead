"""Operators that gather, scatter, reverse, crop or rearrange elements."""

from __future__ import annotations

import torch
from torch import Tensor


def flat_places(indices: Tensor, sizes, depth: int) -> Tensor:
    """Return the place of each index tuple in the flattened dims `sizes`."""
    at = torch.zeros(indices.shape[:-1], dtype=torch.int64)
    for k in range(depth):
        part = indices.select(-1, k).to(torch.int64)
        if bool(torch.any((part < -sizes[k]) | (part >= sizes[k]))):
            raise IndexError("an index is out of bounds")
        at = at * sizes[k] + torch.where(part < 0, part + sizes[k], part)
    return at


def product(sizes) -> int:
    total = 1
    for size in sizes:
        total = total * size
    return total


def gather_nd(x: Tensor, indices: Tensor, batch_dims: int, depth: int) -> Tensor:
    batch, rest = x.shape[:batch_dims], x.shape[batch_dims + depth :]
    sizes = x.shape[batch_dims : batch_dims + depth]
    at = flat_places(indices, sizes, depth).reshape(product(batch), -1)
    offset = (torch.arange(product(batch)) * product(sizes)).unsqueeze(1)
    made = x.reshape([product(batch) * product(sizes), product(rest)]).index_select(0, (at + offset).reshape(-1))
    return made.reshape(indices.shape[:-1] + rest)


def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, depth: int, reduction: str) -> Tensor:
    rest = product(x.shape[depth:])
    flat = x.reshape([product(x.shape[:depth]), rest])
    at = flat_places(indices, x.shape[:depth], depth).reshape(-1, 1).expand(-1, rest)
    parts = updates.reshape(at.shape)
    if reduction == "none":
        return flat.scatter(0, at, parts).reshape(x.shape)
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    return flat.scatter_reduce(0, at, parts, names[reduction]).reshape(x.shape)


def tensor_scatter(x: Tensor, update: Tensor, starts, axis: int, mode: str) -> Tensor:
    """Write `update` into `x` along `axis`, at a start of its own for each element of the first dim."""
    dim = axis if axis >= 0 else axis + x.dim()
    shape = [1] * x.dim()
    shape[dim] = -1
    at = torch.arange(update.shape[dim]).reshape(shape)
    if starts is not None:
        first = [1] * x.dim()
        first[0] = -1
        at = at + starts.to(torch.int64).reshape(first)
    if mode == "circular":
        at = at % x.shape[dim]
    return x.scatter(dim, at.expand(update.shape), update)


def reverse_sequence(x: Tensor, lengths: Tensor, batch_axis: int, time_axis: int) -> Tensor:
    by_batch, by_time = [1] * x.dim(), [1] * x.dim()
    by_batch[batch_axis], by_time[time_axis] = -1, -1
    count = lengths.to(torch.int64).reshape(by_batch)
    at = torch.arange(x.shape[time_axis]).reshape(by_time)
    return torch.gather(x, time_axis, torch.where(at < count, count - 1 - at, at).expand(x.shape))


def depth_to_space(x: Tensor, block: int, mode: str) -> Tensor:
    n, c, h, w = x.shape
    if mode == "DCR":
        made = x.reshape(n, block, block, c // (block * block), h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        made = x.reshape(n, c // (block * block), block, block, h, w).permute(0, 1, 4, 2, 5, 3)
    return made.reshape(n, c // (block * block), h * block, w * block)


def space_to_depth(x: Tensor, block: int, mode: str) -> Tensor:
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // block, block, w // block, block)
    made = parts.permute(0, 3, 5, 1, 2, 4) if mode == "DCR" else parts.permute(0, 1, 3, 5, 2, 4)
    return made.reshape(n, c * block * block, h // block, w // block)


def center_crop_pad(x: Tensor, shape, axes) -> Tensor:
    for i in range(len(shape)):
        axis = i if axes is None else axes[i]
        size = x.shape[axis]
        start = (size - shape[i]) // 2 if size >= shape[i] else -((shape[i] - size) // 2)
        at = torch.arange(shape[i]) + start
        sizes = [1] * x.dim()
        sizes[axis] = -1
        inside = ((at >= 0) & (at < size)).reshape(sizes)
        made = x.index_select(axis, torch.clamp(at, 0, size - 1))
        x = torch.where(inside, made, torch.zeros_like(made))
    return x


def eye_like(x: Tensor, k: int, dtype: torch.dtype) -> Tensor:
    return (torch.arange(x.shape[1]) - torch.arange(x.shape[0]).unsqueeze(1) == k).to(dtype)


def without(items, index: int):
    at = index if index >= 0 else index + len(items)
    return items[:at] + items[at + 1 :]


def unique(x: Tensor, axis, ordered: bool):
    """Return the distinct slices, the first place of each, the place of each slice in them, and the counts."""
    if axis is None:
        values, inverse, counts = torch.unique(x.reshape(-1), return_inverse=True, return_counts=True)
    else:
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=axis)
    places = torch.arange(inverse.shape[0])
    first = torch.full_like(counts, inverse.shape[0]).scatter_reduce(0, inverse, places, "amin")
    if not ordered:
        order = torch.argsort(first)
        values = values.index_select(0 if axis is None else axis, order)
        inverse = torch.argsort(order).index_select(0, inverse)
        first, counts = first.index_select(0, order), counts.index_select(0, order)
    return values, first, inverse, counts


def _cumulative_input(x: Tensor, axis: int, exclusive: bool, reverse: bool, first: int) -> Tensor:
    if reverse:
        x = torch.flip(x, (axis,))
    if exclusive:
        start = torch.full_like(x.narrow(axis, 0, 1), first)
        x = torch.cat([start, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    return x


def cumsum(x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    made = torch.cumsum(_cumulative_input(x, axis, exclusive, reverse, 0), axis, dtype=x.dtype)
    return torch.flip(made, (axis,)) if reverse else made


def cumprod(x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    made = torch.cumprod(_cumulative_input(x, axis, exclusive, reverse, 1), axis, dtype=x.dtype)
    return torch.flip(made, (axis,)) if reverse else made
