"""Errors of pools for inputs and windows that do not fit, as eager raises them.

Eager's pools of vectors are those of images of one row, which their messages show.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.torch.dtype_names import NAMES


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Return how many windows there are along a dim. In ceil_mode, the last starts in the input or its left padding."""
    span = dilation * (kernel - 1) + 1
    count = (size + 2 * padding - span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count = count - 1
    return count


def _check_rank_of_vectors(input: Tensor, function: str) -> None:
    if input.dim() != 2 and input.dim() != 3:
        found = f"{input.dim()}-dimensional tensor for argument #1 'self' (while checking arguments for {function})"
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {found}")


def _image_shape(input: Tensor, count: int) -> list[int]:
    return [*input.shape[:-1], 1, input.size(-1)] if count == 1 else [*input.shape]


def _check_positive(what: str, sizes: tuple[int, ...], prefix: str) -> None:
    if min(sizes) <= 0:
        letters = "THW"[3 - len(sizes) :]
        found = " ".join([f"{prefix}{letters[i]}: {sizes[i]}" for i in range(len(sizes))])
        raise RuntimeError(f"{what} should be greater than zero, but got {found}")


def _times(sizes: tuple[int, ...] | list[int]) -> str:
    return "x".join([str(n) for n in sizes])


def check_windows(
    input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...],
    ceil_mode: bool, kind: str, count: int,
) -> None:  # fmt: skip
    """Raise the error of eager's pool of a kind, "max" or "avg", for the last `count` dims."""
    if count == 1:
        _check_rank_of_vectors(input, f"{kind}_pool1d")
        kernel, stride, padding, dilation = (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)
    elif input.dim() != count + 1 and input.dim() != count + 2:
        raise RuntimeError(f"non-empty {count + 1}D or {count + 2}D (batch mode) tensor expected for input")
    shape, rank = _image_shape(input, count), len(kernel)
    sizes, filled = shape[-rank:], shape[-rank - 1 :]
    for i in range(rank):
        if stride[i] == 0:
            raise RuntimeError("stride should not be zero")
        if padding[i] < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {padding[i]}")
        if padding[i] > ((kernel[i] - 1) * dilation[i] + 1) // 2:
            found = f"pad={padding[i]}, kernel_size={kernel[i]} and dilation={dilation[i]}"
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got {found}")
    _check_positive("kernel size", kernel, "k")
    _check_positive("stride", stride, "d")
    _check_positive("dilation", dilation, "dilation")
    if min(filled) == 0 and rank == 2:
        expected = "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input"
        raise RuntimeError(f"{expected}, but got:{shape}")
    if min(filled) == 0:
        function = "avg_pool3d()" if kind == "avg" else "max_pool3d_with_indices_out_cpu_template()"
        expected = "Expected input's non-batch dimensions to have positive length"
        found = f"input has a shape of {shape} and non-batch dimension 0 has length zero!"
        raise RuntimeError(f"{function}: {expected}, but {found}")
    if rank == 3 and kind == "avg" and (sizes[0] < kernel[0] or sizes[1] < kernel[1] or sizes[2] < kernel[2]):
        image, window = (" ".join([f"{p}{'THW'[i]}: {n[i]}" for i in range(3)]) for p, n in (("", sizes), ("k", kernel)))
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
    counts = [window_count(sizes[i], kernel[i], stride[i], padding[i], dilation[i], ceil_mode) for i in range(rank)]
    if min(counts) < 1:
        pooled = f"Calculated output size: ({filled[0]}x{_times(counts)})"
        raise RuntimeError(f"Given input size: ({_times(filled)}). {pooled}. Output size is too small")


def check_max_of_vectors(
    input: Tensor, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> None:
    """Raise the error of eager's max_pool1d, which does not return indices."""
    fits = input.dim() == 2 or input.dim() == 3
    if not fits or input.size(-1) == 0 or input.size(-2) == 0:
        expected = "Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input"
        raise RuntimeError(f"max_pool1d: {expected}, but got:{list(input.shape)}")
    for name, size in (("kernel_size", kernel), ("stride", stride)):
        if size <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {size}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        found = f"padding={padding} and kernel_size={kernel}"
        raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got {found}")
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    count = window_count(input.size(-1), kernel, stride, padding, dilation, ceil_mode)
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")


def _check_bins(shape: list[int], function: str, first: int) -> None:
    for dim in range(first, len(shape)):
        if shape[dim] == 0:
            raise RuntimeError(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{shape} with dimension {dim} being empty"
            )


def check_averages_of_bins(input: Tensor, sizes: tuple[int | None, ...], are_listed: bool, count: int) -> None:
    """Raise the error of eager's adaptive_avg_pool. `are_listed`: the sizes were given as a tuple or a list."""
    if count > 1 and are_listed and input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    if count == 1:
        _check_rank_of_vectors(input, "adaptive_avg_pool1d")
    if len(sizes) != count:
        _refuse_size("adaptive_avg_pool", len(sizes), count)
    function = f"adaptive_avg_pool{max(count, 2)}d"
    given = [-1 if n is not None and n < 0 else 0 for n in sizes]
    if min(given) < 0:
        row = [1, *sizes] if count == 1 else [*sizes]
        separator = "," if count == 3 else ", "
        found = f"{{{row[0]}, {separator.join([str(n) for n in row[1:]])}}}"
        raise RuntimeError(f"{function}: elements of output_size must be greater than or equal to 0 but received {found}")
    if sizes == (1,) * count:  # the mean of all elements, which eager does not check
        return
    ranks = (count + 1, count + 2)
    if count > 1 and input.dim() not in ranks:
        raise RuntimeError(f"{function}(): Expected {ranks[0]}D or {ranks[1]}D tensor, but got {list(input.shape)}")
    first = 1 if count == 3 else input.dim() - 1 if count == 1 else input.dim() - 2
    _check_bins(_image_shape(input, count), function, first)


def check_largest_of_bins(input: Tensor, sizes: tuple[int | None, ...], count: int) -> None:
    """Raise the error of eager's adaptive_max_pool."""
    ranks = (count + 1, count + 2)
    if count == 1:
        _check_rank_of_vectors(input, "adaptive_max_pool1d")
    elif input.dim() not in ranks:
        raise RuntimeError(
            f"adaptive_max_pool{count}d(): Expected {ranks[0]}D or {ranks[1]}D tensor, but got: {list(input.shape)}"
        )
    if len(sizes) != count:
        _refuse_size("adaptive_max_pool", len(sizes), count)
    _check_bins([*input.shape], f"adaptive_max_pool{count}d", 1)
    for n in sizes:
        if n is not None and n < 0:
            pooled = [*input.shape[: input.dim() - count], *([1, *sizes] if count == 1 else sizes)]
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {pooled}")


def _refuse_size(function: str, found: int, count: int) -> None:
    if count == 1:
        raise RuntimeError(f"{function}1d() argument 'output_size' should contain one int (got {found})")
    raise RuntimeError(f"{function}{count}d: output_size must be {count}")


def check_unpooled(input: Tensor, indices: Tensor, count: int) -> None:
    """Raise the error of eager's max_unpool2d or max_unpool3d for an input or indices that do not fit."""
    if indices.dtype != torch.int64:
        found = f" but got: {NAMES[indices.dtype]}" if count == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{found}")
    if input.dim() != count + 1 and input.dim() != count + 2:
        expected = f"Input to max_unpooling{count}d should be a {count + 1}d or {count + 2}d Tensor"
        raise RuntimeError(f"{expected}, but got a tensor with {input.dim()} dimensions.")
    shape = [*input.shape]
    if shape != [*indices.shape]:
        found = f"indices tensor with shape: {[*indices.shape]}"
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({shape}) but got {found}")
    for dim in range(1, input.dim()):
        if shape[dim] == 0:
            raise RuntimeError(
                f"max_unpooling{count}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but "
                f"got {shape} with dimension {dim} being empty."
            )
