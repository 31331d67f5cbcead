"""Operators on images: resizing, regions of interest, grids, boxes."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def source_positions(how: str, size: int, count: int, scale: float, roi_start: float, roi_end: float) -> Tensor:
    """Return where each of `count` elements of the result lies in a dim with `size` elements."""
    at = torch.arange(count, dtype=torch.float64)
    length = scale * size
    if how == "align_corners":
        return at * 0.0 if length == 1 else at * (size - 1) / (length - 1)
    if how == "asymmetric":
        return at / scale
    if how == "tf_crop_and_resize":
        if length == 1:
            made = at * 0.0 + (roi_end - roi_start) * (size - 1) / 2
        else:
            made = at * (roi_end - roi_start) * (size - 1) / (length - 1)
        return made + roi_start * (size - 1)
    if how == "pytorch_half_pixel" and length == 1:
        return at * 0.0 - 0.5
    made = (at + 0.5) / scale - 0.5
    if how == "half_pixel_symmetric":
        made = made + size / 2 * (1 - count / length)
    return made


def nearest(at: Tensor, how: str) -> Tensor:
    if how == "floor":
        return torch.floor(at)
    if how == "ceil":
        return torch.ceil(at)
    if how == "round_prefer_ceil":
        return torch.floor(at + 0.5)
    return torch.ceil(at - 0.5)


def kernel_shares(distance: Tensor, mode: str, a: float) -> Tensor:
    """Return the share of an element at a distance, in the linear or the cubic kernel."""
    d = torch.abs(distance)
    if mode == "linear":
        return torch.clamp(1 - d, 0.0, 1.0)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return torch.where(d <= 1, near, torch.where(d < 2, far, torch.zeros_like(d)))


def resize_axis(
    x: Tensor, axis: int, at: Tensor, scale: float, mode: str, rounding: str, a: float, exclude: bool, antialias: bool
) -> Tensor:
    """Return `x` with the elements of one dim at the positions `at`."""
    size = x.shape[axis]
    if mode == "nearest":
        return x.index_select(axis, torch.clamp(nearest(at, rounding), 0, size - 1).to(torch.int64))
    shrink = min(scale, 1.0) if antialias else 1.0
    reach = 1 if mode == "linear" else 2
    first = math.floor(-reach / shrink) + 1
    low = torch.ceil(at) - 1  # a position on an element counts as the end of the interval before it
    places = low.unsqueeze(1) + torch.arange(first, 2 - first)
    shares = kernel_shares((places - at.unsqueeze(1)) * shrink, mode, a)
    if antialias:
        shares = shares / torch.sum(shares, 1, keepdim=True)
    if exclude:
        shares = torch.where((places >= 0) & (places < size), shares, torch.zeros_like(shares))
        total = torch.sum(shares, 1, keepdim=True)
        shares = shares / torch.where(total == 0, torch.ones_like(total), total)
    index = torch.clamp(places, 0, size - 1).to(torch.int64)
    parts = x.index_select(axis, index.reshape(-1)).reshape(x.shape[:axis] + index.shape + x.shape[axis + 1 :])
    shape = [1] * parts.dim()
    shape[axis], shape[axis + 1] = index.shape[0], index.shape[1]
    return torch.sum(parts * shares.to(x.dtype).reshape(shape), axis + 1)


def stretch(sizes, x: Tensor, axes, policy: str):
    """Return the sizes and scales of the dims `axes`, for the sizes that a model asks for."""
    scales = [sizes[i] / x.shape[axes[i]] for i in range(len(sizes))]
    if policy == "stretch":
        return [sizes[i] for i in range(len(sizes))], scales
    scale = scales[0]
    for other in scales:
        scale = min(scale, other) if policy == "not_larger" else max(scale, other)
    return [int(scale * x.shape[axes[i]] + 0.5) for i in range(len(sizes))], [scale for _ in scales]


def resize(
    x: Tensor, roi, scales, sizes, axes, mode: str, how: str, rounding: str, a: float, exclude: bool, antialias: bool,
    outside: float, policy: str,
) -> Tensor:  # fmt: skip
    dims = [i for i in range(x.dim())] if axes is None else [i if i >= 0 else i + x.dim() for i in axes]
    if sizes is None:
        factors = [float(scales[i]) for i in range(len(dims))]
        counts = [math.floor(factors[i] * x.shape[dims[i]]) for i in range(len(dims))]
    else:
        counts, factors = stretch(sizes, x, dims, policy)
    made = x if x.is_floating_point() or mode == "nearest" else x.to(torch.float64)
    if mode != "nearest" and (x.dtype == torch.float16 or x.dtype == torch.bfloat16):
        made = x.to(torch.float32)
    beyond = torch.zeros([1] * x.dim(), dtype=torch.bool)
    for i in range(len(dims)):
        axis = dims[i]
        size = made.shape[axis]
        start = 0.0 if roi is None else float(roi[i])
        end = 1.0 if roi is None else float(roi[i + len(dims)])
        if counts[i] != size or factors[i] != 1.0 or start != 0.0 or end != 1.0:
            at = source_positions(how, size, counts[i], factors[i], start, end)
            made = resize_axis(made, axis, at, factors[i], mode, rounding, a, exclude, antialias)
            if how == "tf_crop_and_resize":
                shape = [1] * x.dim()
                shape[axis] = -1
                beyond = beyond | ((at < 0) | (at > size - 1)).reshape(shape)
    if how == "tf_crop_and_resize":
        made = torch.where(beyond, torch.full((), outside, dtype=made.dtype), made)
    if made.dtype == x.dtype:
        return made
    if x.is_floating_point():
        return made.to(x.dtype)
    made = torch.round(made)
    if x.dtype == torch.uint8:
        made = torch.clamp(made, 0, 255)
    elif x.dtype == torch.int8:
        made = torch.clamp(made, -128, 127)
    return made.to(x.dtype)


def affine_grid(theta: Tensor, size, align_corners: bool) -> Tensor:
    return F.affine_grid(theta, size, align_corners)


def lrn(x: Tensor, size: int, alpha: float, beta: float, bias: float) -> Tensor:
    before, after = (size - 1) // 2, size // 2
    channels = x.shape[1]
    squares = x * x
    total = torch.zeros_like(x)
    for step in range(-before, after + 1):
        at = torch.arange(channels) + step
        shape = [1] * x.dim()
        shape[1] = -1
        inside = ((at >= 0) & (at < channels)).reshape(shape)
        part = squares.index_select(1, torch.clamp(at, 0, channels - 1))
        total = total + torch.where(inside, part, torch.zeros_like(part))
    return x / torch.pow(bias + alpha / size * total, beta)


def overlaps(boxes: Tensor, box: Tensor) -> Tensor:
    """Return the intersection over union of each box (x, y, x, y) with another one; 0 for boxes without area."""
    width = torch.minimum(boxes[:, 2], box[2]) - torch.maximum(boxes[:, 0], box[0])
    height = torch.minimum(boxes[:, 3], box[3]) - torch.maximum(boxes[:, 1], box[1])
    common = torch.clamp(width, min=0) * torch.clamp(height, min=0)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    union = areas + area - common
    good = (common > 0) & (areas > 0) & (area > 0) & (union > 0)
    return torch.where(good, common / torch.where(good, union, torch.ones_like(union)), torch.zeros_like(common))


def non_max_suppression(boxes: Tensor, scores: Tensor, most: int, overlap: float, least, center: int) -> Tensor:
    """Return rows (batch, class, box) of the boxes that no better box overlaps."""
    if center == 1:
        half = boxes[:, :, 2:] / 2
        corners = torch.cat([boxes[:, :, :2] - half, boxes[:, :, :2] + half], 2)
    else:
        first, second = boxes[:, :, :2], boxes[:, :, 2:]
        corners = torch.cat([torch.minimum(first, second), torch.maximum(first, second)], 2)
    rows = [torch.zeros([0, 3], dtype=torch.int64)]
    for batch in range(scores.shape[0]):
        for label in range(scores.shape[1]):
            mark = scores[batch, label]
            order = torch.argsort(mark, descending=True, stable=True)
            if least is not None:
                order = order[mark.index_select(0, order) > least]
            kept = 0
            while kept < most and order.shape[0] > 0:
                best = order[0]
                rows.append(torch.stack([torch.full_like(best, batch), torch.full_like(best, label), best]).unsqueeze(0))
                kept += 1
                rest = order[1:]
                shared = overlaps(corners[batch].index_select(0, rest), corners[batch].index_select(0, order[:1])[0])
                order = rest[shared <= overlap]
    return torch.cat(rows, 0)


def bin_samples(start: Tensor, length: Tensor, bins: int, count: int) -> Tensor:
    """Return the positions of `count` samples in each of `bins` equal parts of an interval."""
    step = length / bins
    part = (torch.arange(count).to(start.dtype) + 0.5) / count
    return start + (torch.arange(bins).to(start.dtype).unsqueeze(1) + part) * step


def roi_align(
    x: Tensor, rois: Tensor, batches: Tensor, height: int, width: int, samples: int, scale: float, half: bool, mode: str
) -> Tensor:
    h, w = x.shape[2], x.shape[3]
    shift = 0.5 if half else 0.0
    made = [torch.zeros([0, x.shape[1], height, width], dtype=x.dtype)]
    for n in range(rois.shape[0]):
        corner = rois[n] * scale - shift
        wide, high = corner[2] - corner[0], corner[3] - corner[1]
        if not half:
            wide, high = torch.clamp(wide, min=1.0), torch.clamp(high, min=1.0)
        rows = samples if samples > 0 else int(torch.ceil(high / height))
        columns = samples if samples > 0 else int(torch.ceil(wide / width))
        y = bin_samples(corner[1], high, height, rows).reshape(-1, 1)
        at = bin_samples(corner[0], wide, width, columns).reshape(1, -1)
        valid = (y >= -1) & (y <= h) & (at >= -1) & (at <= w)
        y, at = torch.clamp(y, 0, h - 1), torch.clamp(at, 0, w - 1)
        top, left = torch.floor(y), torch.floor(at)
        image = x[int(batches[n])].reshape(x.shape[1], h * w)
        shares = [(1 - (y - top)) * (1 - (at - left)), (1 - (y - top)) * (at - left), (y - top) * (1 - (at - left)),
                  (y - top) * (at - left)]  # fmt: skip
        bottom, right = torch.clamp(top + 1, max=h - 1), torch.clamp(left + 1, max=w - 1)
        places = [top * w + left, top * w + right, bottom * w + left, bottom * w + right]
        parts = []
        for k in range(4):
            share = torch.where(valid, shares[k], torch.zeros_like(shares[k]))
            picked = image.index_select(1, places[k].to(torch.int64).reshape(-1))
            parts.append(picked.reshape(x.shape[1], height, rows, width, columns) * share.reshape(height, rows, width, columns))
        if mode == "avg":
            made.append(torch.mean(parts[0] + parts[1] + parts[2] + parts[3], (2, 4)).unsqueeze(0))
        else:
            largest = torch.maximum(torch.maximum(parts[0], parts[1]), torch.maximum(parts[2], parts[3]))
            made.append(torch.amax(largest, (2, 4)).unsqueeze(0))
    return torch.cat(made, 0)


def max_roi_pool(x: Tensor, rois: Tensor, shape, scale: float) -> Tensor:
    """Return the maxima of a grid of bins over each region; a bin without elements gives 0."""
    parts = x.index_select(0, rois[:, 0].to(torch.int64))
    for axis in range(2):  # rows, then columns
        size = x.shape[axis + 2]
        edges = rois[:, 1:].to(torch.float32) * scale
        edges = torch.copysign(torch.floor(torch.abs(edges) + 0.5), edges)  # to the nearest, ties away from 0
        first, last = edges[:, 1 - axis].reshape(-1, 1), edges[:, 3 - axis].reshape(-1, 1)
        width = torch.clamp(last - first + 1, min=1) / shape[axis]
        bins = torch.arange(shape[axis]).to(torch.float32)
        start = torch.clamp(torch.floor(bins * width) + first, 0, size).unsqueeze(-1)
        end = torch.clamp(torch.ceil((bins + 1) * width) + first, 0, size).unsqueeze(-1)
        at = torch.arange(size).to(torch.float32)
        inside = (at >= start) & (at < end)
        made = []
        for i in range(shape[axis]):
            mask = inside[:, i].reshape([-1, 1, size, 1] if axis == 0 else [-1, 1, 1, size])
            made.append(torch.amax(torch.where(mask, parts, torch.full_like(parts, -float("inf"))), axis + 2))
        parts = torch.stack(made, axis + 2)
    return torch.where(torch.isneginf(parts), torch.zeros_like(parts), parts)


def decode_image(data: Tensor, pixels: str) -> Tensor:
    """Decode the bytes of an image file by PIL, which compiled code lacks."""
    import io

    from PIL import Image

    image = Image.open(io.BytesIO(bytes(data.tolist()))).convert("L" if pixels == "Grayscale" else "RGB")
    made = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).reshape(image.height, image.width, -1)
    return torch.flip(made, (2,)) if pixels == "BGR" else made
