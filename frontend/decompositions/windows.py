"""Windows for spectra, and the values that torch.signal and torch.*_window give."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library import decomposes


def cosines(length: int, periodic: bool, terms: list[float], dtype: torch.dtype | None) -> Tensor:
    """terms[0] - terms[1] cos(x) + terms[2] cos(2x), x from 0 to 2 pi; a periodic window leaves out its last point."""
    kept = torch.get_default_dtype() if dtype is None else dtype
    if length < 0:
        raise RuntimeError("a window's length must not be negative")
    if length <= 1:
        return torch.ones(length, dtype=kept)
    points = length if periodic else length - 1
    x = torch.arange(length, dtype=kept) * (2 * math.pi / points)
    window = terms[0] - terms[1] * torch.cos(x)
    return window + terms[2] * torch.cos(2 * x) if len(terms) > 2 else window


@decomposes("torch.hann_window")
def hann_window(window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None) -> Tensor:
    return cosines(window_length, periodic, [0.5, 0.5], dtype)


@decomposes("torch.hamming_window")
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: torch.dtype | None = None
) -> Tensor:
    return cosines(window_length, periodic, [alpha, beta], dtype)


@decomposes("torch.blackman_window")
def blackman_window(window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None) -> Tensor:
    return cosines(window_length, periodic, [0.42, 0.5, 0.08], dtype)


@decomposes("torch.bartlett_window")
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None) -> Tensor:
    kept = torch.get_default_dtype() if dtype is None else dtype
    if window_length < 0:
        raise RuntimeError("a window's length must not be negative")
    if window_length <= 1:
        return torch.ones(window_length, dtype=kept)
    points = window_length if periodic else window_length - 1
    x = torch.arange(window_length, dtype=kept) * (2 / points)
    return torch.where(x <= 1, x, 2 - x)


@decomposes("torch.kaiser_window")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: torch.dtype | None = None
) -> Tensor:
    kept = torch.get_default_dtype() if dtype is None else dtype
    if window_length < 0:
        raise RuntimeError("a window's length must not be negative")
    if window_length <= 1:
        return torch.ones(window_length, dtype=kept)
    points = window_length if periodic else window_length - 1
    x = torch.arange(window_length, dtype=kept) * (2 / points) - 1
    return torch.special.i0(beta * torch.sqrt((1 - x * x).clamp(min=0))) / torch.special.i0(torch.tensor(beta, dtype=kept))
