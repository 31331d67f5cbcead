"""Resizing, sampling on grids, and patches. Resizing kernels are separable, so that each dim is resized by itself."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.pool_checks_decomposed import check_unpooled


def resample(input: Tensor, dim: int, index: Tensor, weight: Tensor) -> Tensor:
    """Return sums over t of weight[t, i] times the element at index[t, i] along a dim."""
    raise NotImplementedError  # an op


def _sizes(input: Tensor, output_size: tuple[int, ...] | None, scales: tuple[float, ...] | None) -> tuple[int, ...]:
    """Return the sizes of the result, or raise where a size of the image or of the result is not positive."""
    if output_size is not None or scales is None:
        sizes = tuple(output_size or ())
    else:
        sizes = tuple(int(math.floor(input.size(2 + i) * scale)) for i, scale in enumerate(scales))
    positive = True
    for i, out in enumerate(sizes):
        positive = positive and input.size(2 + i) > 0 and out > 0
    if not positive:
        between = " and" if len(sizes) == 1 else ""
        given, wanted = _named(input.shape[2:]), _named(sizes)
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({given}){between} output ({wanted})"
        )
    if input.size(1) == 0:
        raise RuntimeError(
            f"Non-empty {input.dim()}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
    return sizes


def _named(sizes: tuple[int, ...]) -> str:
    return ", ".join([f"{name}: {size}" for name, size in zip("DHW"[3 - len(sizes) :], sizes, strict=True)])


def _step(n: int, out: int, scale: float | None) -> float:
    return 1.0 / scale if scale is not None and scale > 0 else n / out


def _of(scales: tuple[float, ...] | None, i: int) -> float | None:
    return None if scales is None else scales[i]


def _nearest(
    input: Tensor, output_size: tuple[int, ...] | None, scales: tuple[float, ...] | None, offset: float
) -> Tensor:
    result = input
    for i, out in enumerate(_sizes(input, output_size, scales)):
        n = input.size(2 + i)
        places = torch.floor((torch.arange(out).to(torch.float32) + offset) * _step(n, out, _of(scales, i)))
        result = torch.index_select(result, 2 + i, torch.clamp(places.to(torch.int64), 0, n - 1))
    return result


def _centers(n: int, out: int, scale: float | None, align_corners: bool, dtype: torch.dtype) -> Tensor:
    """Return the positions of the output's elements in the input."""
    steps = torch.arange(out).to(dtype)
    if align_corners:
        return steps * ((n - 1) / (out - 1) if out > 1 else 0.0)
    return (steps + 0.5) * _step(n, out, scale) - 0.5


def _linear(
    input: Tensor, output_size: tuple[int, ...] | None, align_corners: bool, scales: tuple[float, ...] | None
) -> Tensor:
    """Resize linearly.

    The last dim comes first: it is the slowest, and other dims have not grown yet.
    """
    result = input
    sizes = _sizes(input, output_size, scales)
    for i, out in tuple(enumerate(sizes))[::-1]:
        n = input.size(2 + i)
        places = torch.clamp(_centers(n, out, _of(scales, i), align_corners, input.dtype), min=0)
        low = torch.clamp(places.to(torch.int64), max=n - 1)
        high = torch.clamp(low + 1, max=n - 1)
        weight = torch.clamp(places - low, 0, 1)
        result = resample(result, 2 + i, torch.stack((low, high)), torch.stack((1 - weight, weight)))
    return result


def _cubic_weights(t: Tensor) -> list[Tensor]:
    """Return the weights of four neighbors, given the distance from the second."""
    a = -0.75

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


for _rank in (1, 2, 3):

    @decomposes(f"torch._C._nn.upsample_nearest{_rank}d")
    def upsample_nearest(
        input: Tensor, output_size: tuple[int, ...] | None, scale_factors: tuple[float, ...] | None = None
    ) -> Tensor:
        return _nearest(input, output_size, scale_factors, 0.0)

    @decomposes(f"torch._C._nn._upsample_nearest_exact{_rank}d")
    def upsample_nearest_exact(
        input: Tensor, output_size: tuple[int, ...] | None, scale_factors: tuple[float, ...] | None = None
    ) -> Tensor:
        return _nearest(input, output_size, scale_factors, 0.5)


@decomposes(
    "torch._C._nn.upsample_linear1d", "torch._C._nn.upsample_bilinear2d", "torch._C._nn.upsample_trilinear3d",
    widens=True,
)  # fmt: skip
def upsample_linear(
    input: Tensor,
    output_size: tuple[int, ...] | None,
    align_corners: bool,
    scale_factors: tuple[float, ...] | None = None,
) -> Tensor:
    return _linear(input, output_size, align_corners, scale_factors)


@decomposes("torch._C._nn.upsample_bicubic2d", widens=True)
def upsample_bicubic2d(
    input: Tensor,
    output_size: tuple[int, ...] | None,
    align_corners: bool,
    scale_factors: tuple[float, ...] | None = None,
) -> Tensor:
    result = input
    sizes = _sizes(input, output_size, scale_factors)
    for i, out in tuple(enumerate(sizes))[::-1]:
        n = input.size(2 + i)
        places = _centers(n, out, _of(scale_factors, i), align_corners, input.dtype)
        base = torch.floor(places)
        first = base.to(torch.int64)
        index = torch.stack([torch.clamp(first + (k - 1), 0, n - 1) for k in range(4)])
        result = resample(result, 2 + i, index, torch.stack(_cubic_weights(places - base)))
    return result


# ---- antialiased resizing ----


def _antialiased(
    input: Tensor, output_size: tuple[int, ...] | None, align_corners: bool, scales: tuple[float, ...] | None, width: int
) -> Tensor:
    """Resize with a filter of `width` elements, which grows with the step (ATen's UpSampleKernel.cpp)."""
    if input.dtype == torch.uint8:
        raise RuntimeError("antialiased resizing of uint8 images is not supported: convert to float, resize, and round")
    result = input
    sizes = _sizes(input, output_size, scales)
    for i, out in tuple(enumerate(sizes))[::-1]:
        n = input.size(2 + i)
        if align_corners:
            step = (n - 1) / (out - 1) if out > 1 else 0.0
        else:
            step = _step(n, out, _of(scales, i))
        grown = max(step, 1.0)
        support = width * 0.5 * grown
        centers = (torch.arange(out).to(input.dtype) + 0.5) * step
        low = torch.clamp((centers - support + 0.5).to(torch.int64), min=0)
        high = torch.clamp((centers + support + 0.5).to(torch.int64), max=n)
        index = low + torch.arange(2 * math.ceil(support) + 1).unsqueeze(1)
        distance = torch.abs((index - centers + 0.5) / grown)
        weight = _triangle(distance) if width == 2 else _cubic(distance)
        weight = torch.where(index < high, weight, 0.0)
        total = torch.sum(weight, 0)
        weight = weight / torch.where(total == 0, 1.0, total)
        result = resample(result, 2 + i, torch.clamp(index, max=n - 1), weight)
    return result


def _triangle(x: Tensor) -> Tensor:
    return torch.clamp(1 - x, min=0)


def _cubic(x: Tensor) -> Tensor:
    """Return the weight of an element at a distance, for Keys's cubic filter with a = -0.5."""
    a = -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


@decomposes("torch._C._nn._upsample_bilinear2d_aa", widens=True)
def upsample_bilinear_antialiased(
    input: Tensor, output_size: tuple[int, ...] | None, align_corners: bool, scale_factors: tuple[float, ...] | None = None
) -> Tensor:
    return _antialiased(input, output_size, align_corners, scale_factors, 2)


@decomposes("torch._C._nn._upsample_bicubic2d_aa", widens=True)
def upsample_bicubic_antialiased(
    input: Tensor, output_size: tuple[int, ...] | None, align_corners: bool, scale_factors: tuple[float, ...] | None = None
) -> Tensor:
    return _antialiased(input, output_size, align_corners, scale_factors, 4)


# ---- grids ----
def _unnormalized(x: Tensor, n: int, align_corners: bool) -> Tensor:
    return (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2


def _reflected(x: Tensor, low: float, span: float) -> Tensor:
    """Reflect positions at both ends of [low, low + span]."""
    distance = torch.abs(x - low)
    whole = torch.floor(distance / span)
    extra = distance - whole * span
    return torch.where(torch.remainder(whole, 2) == 0, extra + low, span - extra + low)


def _place(x: Tensor, n: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Return positions in the input. A padding mode is 0 (zeros), 1 (border) or 2 (reflection)."""
    at = _unnormalized(x, n, align_corners)
    if padding_mode == 0:
        return at
    if padding_mode == 2:
        if align_corners:
            at = torch.zeros_like(at) if n <= 1 else _reflected(at, 0.0, n - 1)
        else:
            at = _reflected(at, -0.5, n)
    return torch.clamp(at, 0, n - 1)


def _sampled(input: Tensor, corners: tuple[Tensor, ...]) -> Tensor:
    """Return input[b, :, corners...] as [b, c, places...], and 0 for corners outside."""
    count = len(corners)
    batch, channels = input.size(0), input.size(1)
    sizes = tuple(input.size(2 + i) for i in range(count))
    fits = [(corners[i] >= 0) & (corners[i] <= sizes[i] - 1) for i in range(count)]
    steps = [torch.clamp(corners[i], 0, sizes[i] - 1).to(torch.int64) for i in range(count)]
    inside, flat = fits[0], steps[0]
    for i in range(1, count):
        inside = inside & fits[i]
        flat = flat * sizes[i] + steps[i]
    rows = input.flatten(2)
    index = flat.flatten(1).unsqueeze(1).expand(batch, channels, -1)
    picked = torch.gather(rows, 2, index).reshape(batch, channels, *corners[0].shape[1:])
    return torch.where(inside.unsqueeze(1), picked, 0.0)


def _grid_sample(input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Sample the input.

    The last dim of the grid has positions from the last dim of the input on.
    """
    count = input.dim() - 2
    places = tuple(
        _place(grid.select(-1, count - 1 - i), input.size(2 + i), padding_mode, align_corners) for i in range(count)
    )
    if mode == 1:
        return _sampled(input, tuple(torch.round(p) for p in places))
    low = tuple(torch.floor(p) for p in places)
    result = _corner(input, places, low, 0)
    for corner in range(1, 2**count):
        result = result + _corner(input, places, low, corner)
    return result


def _corner(input: Tensor, places: tuple[Tensor, ...], low: tuple[Tensor, ...], corner: int) -> Tensor:
    """Return one neighbor of each place times its weight.

    Bit i of `corner` is the upper neighbor in dim i.
    """
    upper = tuple(corner // 2**i % 2 for i in range(len(places)))
    fractions = tuple(places[i] - low[i] for i in range(len(places)))
    weight = fractions[0] if upper[0] else 1 - fractions[0]
    for i in range(1, len(places)):
        weight = weight * (fractions[i] if upper[i] else 1 - fractions[i])
    return _sampled(input, tuple(low[i] + upper[i] for i in range(len(places)))) * weight.unsqueeze(1)


def _bicubic_sample(input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool) -> Tensor:
    """Sample with cubic weights. Padding moves neighbors, not centers, into the input."""
    sizes = (input.size(2), input.size(3))
    at = tuple(_unnormalized(grid.select(-1, 1 - i), sizes[i], align_corners) for i in range(2))
    low = tuple(torch.floor(p) for p in at)
    weights = [_cubic_weights(at[i] - low[i]) for i in range(2)]
    parts = [
        _sampled(
            input, tuple(_inside(low[i] + ((a, b)[i] - 1), sizes[i], padding_mode, align_corners) for i in range(2))
        )
        * (weights[0][a] * weights[1][b]).unsqueeze(1)
        for a, b in [(k // 4, k % 4) for k in range(16)]
    ]
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def _inside(at: Tensor, n: int, padding_mode: int, align_corners: bool) -> Tensor:
    if padding_mode == 2:
        if align_corners:
            at = torch.zeros_like(at) if n <= 1 else _reflected(at, 0.0, n - 1)
        else:
            at = _reflected(at, -0.5, n)
    return at if padding_mode == 0 else torch.clamp(at, 0, n - 1)


@decomposes("torch.affine_grid_generator")
def affine_grid_generator(theta: Tensor, size: tuple[int, ...], align_corners: bool) -> Tensor:
    """Return a grid of source positions from -1 to 1, last dim first."""
    rank = len(size) - 2
    places = torch.ones((*size[2:], rank + 1), dtype=theta.dtype)
    for d in range(rank):
        n = size[2 + d]
        line = torch.linspace(-1, 1, n, dtype=theta.dtype) if n > 1 else torch.zeros(1, dtype=theta.dtype)
        along = line if align_corners else line * (n - 1) / n
        places.select(-1, rank - 1 - d).copy_(along.reshape(tuple(-1 if i == d else 1 for i in range(rank))))
    points = places.reshape(1, -1, rank + 1).expand(size[0], -1, -1)
    return torch.bmm(points, theta.transpose(1, 2)).reshape((size[0], *size[2:], rank))


def _check_grid(input: Tensor, grid: Tensor, interpolation_mode: int) -> None:
    sizes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    count = input.dim() - 2
    if input.size(0) != grid.size(0):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if grid.size(-1) != count:
        found = f"in last dimension, but got grid with sizes {list(grid.shape)}"
        raise RuntimeError(f"grid_sampler(): expected grid to have size {count} {found}")
    for dim in range(2, input.dim()):
        if input.size(dim) == 0:
            found = f"input has sizes {list(input.shape)} with dimension {dim} being empty"
            raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but {found}")
    rank = 4 if input.dim() == 4 else 5
    if input.dim() != rank or grid.dim() != rank:
        expected = f"expected {rank}D input and grid with same number of dimensions"
        raise RuntimeError(f"grid_sampler(): {expected}, but got {sizes}")
    if rank == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


@decomposes("torch.grid_sampler", "torch.grid_sampler_2d", "torch.grid_sampler_3d", widens=True)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    _check_grid(input, grid, interpolation_mode)
    if interpolation_mode == 2:
        return _bicubic_sample(input, grid, padding_mode, align_corners)
    return _grid_sample(input, grid, interpolation_mode, padding_mode, align_corners)


# ---- patches ----
def _check_patches(input: Tensor, expected: str, rank: int) -> None:
    """Raise eager's error unless the input has a rank, or one more with the batch, and only the batch may be empty."""
    filled = rank <= input.dim() <= rank + 1
    for dim in range(input.dim() - rank, input.dim()):
        filled = filled and input.size(dim) > 0
    if not filled:
        raise RuntimeError(f"Expected {expected}, but got: {list(input.shape)}")


def _counts(
    sizes: tuple[int, int], kernel: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, int],
    stride: tuple[int, int],
) -> tuple[int, int]:  # fmt: skip
    """Return how many patches there are along each dim of an image."""
    rows, columns = (
        (sizes[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)
    )
    return rows, columns


@decomposes("torch._C._nn.im2col")
def im2col(
    input: Tensor, kernel_size: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, int],
    stride: tuple[int, int],
) -> Tensor:  # fmt: skip
    _check_patches(input, "3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input", 3)
    counts = _counts((input.size(-2), input.size(-1)), kernel_size, dilation, padding, stride)
    if counts[0] < 1 or counts[1] < 1:
        raise RuntimeError(
            f"Given input with spatial size ({input.size(-2)}, {input.size(-1)}), kernel_size={kernel_size}, "
            f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding blocks as {counts}, but its "
            "components must be at least one."
        )
    x = input.unsqueeze(0) if input.dim() == 3 else input
    x = torch.constant_pad_nd(x, [padding[1], padding[1], padding[0], padding[0]])
    for i in range(2):
        x = x.unfold(2 + i, dilation[i] * (kernel_size[i] - 1) + 1, stride[i])[..., :: dilation[i]]
    batch, channels, h, w = x.size(0), x.size(1), x.size(2), x.size(3)
    columns = x.permute(0, 1, 4, 5, 2, 3).reshape(batch, channels * kernel_size[0] * kernel_size[1], h * w)
    return columns.select(0, 0) if input.dim() == 3 else columns


@decomposes("torch._C._nn.col2im")
def col2im(
    input: Tensor, output_size: tuple[int, int], kernel_size: tuple[int, int], dilation: tuple[int, int],
    padding: tuple[int, int], stride: tuple[int, int],
) -> Tensor:  # fmt: skip
    expected = "2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input"
    _check_patches(input, expected, 2)
    x = input.unsqueeze(0) if input.dim() == 2 else input
    if x.size(1) % (kernel_size[0] * kernel_size[1]) != 0:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x.size(1)} and kernel_size={kernel_size}."
        )
    channels = x.size(1) // (kernel_size[0] * kernel_size[1])
    wide = tuple(output_size[i] + 2 * padding[i] for i in range(2))
    counts = _counts(output_size, kernel_size, dilation, padding, stride)
    if counts[0] * counts[1] != x.size(2):
        raise RuntimeError(
            f"Given output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got input.size(2)={x.size(2)}."
        )
    parts = x.reshape(x.size(0), channels, kernel_size[0], kernel_size[1], counts[0], counts[1])
    result = torch.zeros(x.size(0), channels, wide[0], wide[1], dtype=x.dtype)
    for a in range(kernel_size[0]):
        for b in range(kernel_size[1]):
            top, left = a * dilation[0], b * dilation[1]
            bottom, right = top + (counts[0] - 1) * stride[0] + 1, left + (counts[1] - 1) * stride[1] + 1
            result[:, :, top : bottom : stride[0], left : right : stride[1]] += parts[:, :, a, b]
    result = result[:, :, padding[0] : padding[0] + output_size[0], padding[1] : padding[1] + output_size[1]]
    return result.select(0, 0) if input.dim() == 2 else result.contiguous()


def _unpool(input: Tensor, indices: Tensor, output_size: tuple[int, ...], count: int) -> Tensor:
    lead = tuple(input.shape[: input.dim() - count])
    total = 1
    for n in output_size:
        total = total * n
    flat = torch.zeros((*lead, total), dtype=input.dtype)
    placed = torch.scatter(flat, -1, indices.flatten(-count), input.flatten(-count))
    return placed.reshape(*lead, *output_size)


@decomposes("torch._C._nn.max_unpool2d")
def max_unpool2d(input: Tensor, indices: Tensor, output_size: tuple[int, ...]) -> Tensor:
    check_unpooled(input, indices, 2)
    return _unpool(input, indices, tuple(output_size), 2)


@decomposes("torch._C._nn.max_unpool3d")
def max_unpool3d(
    input: Tensor, indices: Tensor, output_size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...]
) -> Tensor:
    check_unpooled(input, indices, 3)
    return _unpool(input, indices, tuple(output_size), 3)
