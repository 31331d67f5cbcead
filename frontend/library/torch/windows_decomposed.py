"""The windows of torch.signal and torch.*_window."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def window(length: int, periodic: bool, span: float, dtype: torch.dtype | None, form: Callable[[Tensor], Tensor]) -> Tensor:
    """Return form(x) for x from 0 to `span`. A periodic window leaves out its last point."""
    kept = torch.get_default_dtype() if dtype is None else dtype
    if length < 0:
        raise RuntimeError("a window's length must not be negative")
    if length <= 1:
        return torch.ones(length, dtype=kept)
    points = length if periodic else length - 1
    return form(torch.arange(length, dtype=kept) * (span / points))


def cosines(length: int, periodic: bool, a: float, b: float, c: float, dtype: torch.dtype | None) -> Tensor:
    form = lambda x: a - b * torch.cos(x) + c * torch.cos(2 * x)  # noqa: E731
    return window(length, periodic, 2 * math.pi, dtype, form)


@decomposes("torch.hann_window")
def hann_window(window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None) -> Tensor:
    return cosines(window_length, periodic, 0.5, 0.5, 0.0, dtype)


@decomposes("torch.hamming_window")
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: torch.dtype | None = None
) -> Tensor:
    return cosines(window_length, periodic, alpha, beta, 0.0, dtype)


@decomposes("torch.blackman_window")
def blackman_window(window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None) -> Tensor:
    return cosines(window_length, periodic, 0.42, 0.5, 0.08, dtype)


@decomposes("torch.bartlett_window")
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None) -> Tensor:
    return window(window_length, periodic, 2.0, dtype, lambda x: torch.where(x <= 1, x, 2 - x))


@decomposes("torch.kaiser_window")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: torch.dtype | None = None
) -> Tensor:
    def form(x: Tensor) -> Tensor:
        root = torch.sqrt((1 - (x - 1) * (x - 1)).clamp(min=0))
        return torch.special.i0(beta * root) / torch.special.i0(torch.tensor(beta, dtype=x.dtype))

    return window(window_length, periodic, 2.0, dtype, form)
