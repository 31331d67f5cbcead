"""Binary searches in sorted tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES


def _binary_search(line: Tensor, value: Tensor | float, right: bool) -> Tensor:
    """Return where ATen's binary search for each value ends, which depends on its steps if `line` has NaN or is not sorted."""
    low = torch.zeros(value.shape if isinstance(value, Tensor) else (), dtype=torch.int64)
    high = torch.full_like(low, line.size(-1))
    left = line.size(-1)  # the most elements between low and high
    while left > 0:
        middle = (low + high) >> 1
        at = torch.clamp(middle, max=line.size(-1) - 1)
        found = line[at] if line.dim() == 1 else torch.gather(line, -1, at)
        reached = found > value if right else found >= value
        searches = low < high
        high = torch.where(searches & reached, middle, high)
        low = torch.where(searches & torch.logical_not(reached), middle + 1, low)
        left = left // 2
    return low


@decomposes("torch.bucketize")
def bucketize(input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return _binary_search(boundaries, input, right).to(torch.int32 if out_int32 else torch.int64)


def _check_sorter(line: Tensor, sorter: Tensor) -> None:
    if sorter.shape != line.shape:
        sizes = f"boundary tensor {list(line.shape)}and got sorter tensor {list(sorter.shape)}"
        raise RuntimeError(f"torch.searchsorted(): boundary and sorter must have the same size, but got {sizes}")
    if sorter.dtype != torch.int64:
        found = NAMES[sorter.dtype]
        raise RuntimeError(f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {found}")
    if sorter.numel() > 0 and sorter.dim() > 0 and bool(torch.any((sorter < 0) | (sorter >= sorter.size(-1)))):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


def _check_searched(line: Tensor, values: tuple[int, ...]) -> None:
    if len(values) == 0 and line.dim() != 1:
        found = f"boundaries tensor dim({line.dim()}) and input value's dim(0) numel(1)"
        raise RuntimeError(
            f"torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got {found}"
        )
    if line.dim() == 0:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if line.dim() > 1 and (line.dim() != len(values) or tuple(line.shape[:-1]) != values[:-1]):
        found = f"boundaries tensor {list(line.shape)} and input value tensor {list(values)}"
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got {found}"
        )


@decomposes("torch.searchsorted")
def searchsorted(
    sorted_sequence: Tensor, input: Tensor | float, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    if side is not None and side != "left" and side != "right":
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        found = f"got side of {side} while right was True"
        raise RuntimeError(f"torch.searchsorted(): side and right can't be set to opposites, {found}")
    if sorter is not None:
        _check_sorter(sorted_sequence, sorter)
    _check_searched(sorted_sequence, tuple(input.shape) if isinstance(input, Tensor) else ())
    line = sorted_sequence if sorter is None else torch.gather(sorted_sequence, -1, sorter)
    return _binary_search(line, input, right or side == "right").to(torch.int32 if out_int32 else torch.int64)
