"""Fourier transforms of tensors whose last dim holds the real and the imaginary part, and mel filters."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def complex_of(x: Tensor) -> Tensor:
    """Return the complex tensor whose parts the last dim holds; the imaginary part is 0 if that dim has the size 1."""
    count = x.shape[-1]
    return torch.complex(x[..., 0], x[..., count - 1] * (count - 1))


def transformed(x: Tensor, length, axis: int, inverse: bool, onesided: bool, real: bool) -> Tensor:
    """Return the discrete Fourier transform along `axis` in the precision of `x`; see `dft`."""
    if inverse and onesided:
        return torch.fft.irfft(complex_of(x), length, axis).unsqueeze(-1)
    if inverse:
        return torch.view_as_real(torch.fft.ifft(complex_of(x), length, axis))
    if onesided and real:
        return torch.view_as_real(torch.fft.rfft(x.squeeze(-1), length, axis))
    full = torch.fft.fft(complex_of(x), length, axis)
    return torch.view_as_real(full.narrow(axis, 0, full.shape[axis] // 2 + 1) if onesided else full)


def dft(x: Tensor, length, axis: int, inverse: bool, onesided: bool, real: bool) -> Tensor:
    """Return the discrete Fourier transform along `axis`, which counts the dim of the parts too.

    length: the length of the signal; None for the whole dim.
    onesided: return the frequencies that are not conjugates of others, or take such ones if `inverse`.
    real: the signal is known to be real, so that its last dim has the size 1.
    """
    at = axis if axis >= 0 else axis + x.dim()
    return transformed(x.to(torch.float64), length, at, inverse, onesided, real).to(x.dtype)


def stft(x: Tensor, step: int, window, length, onesided: bool, real: bool) -> Tensor:
    """Return the Fourier transforms of windows of the signals `x`, (batch, length, parts)."""
    if length is None:
        length = x.shape[1] if window is None else window.shape[0]
    frames = x.unfold(1, length, step).transpose(2, 3)
    if window is not None:
        frames = frames * window.unsqueeze(-1)
    if x.dtype != torch.float64:
        frames = frames.to(torch.float32)
    return transformed(frames, None, 2, False, onesided, real).to(x.dtype)


def mel_weight_matrix(bands: int, length: int, rate: int, low: float, high: float, dtype: torch.dtype) -> Tensor:
    """Return the triangles that sum the frequencies of a one-sided transform to bands of the mel scale."""
    low_mel, high_mel = 2595 * math.log10(1 + low / 700), 2595 * math.log10(1 + high / 700)
    mels = torch.arange(bands + 2).to(torch.float64) * ((high_mel - low_mel) / (bands + 2)) + low_mel
    hertz = 700 * (torch.pow(10.0, mels / 2595) - 1)
    bins = torch.floor((length + 1) * hertz / rate)
    left, center, right = bins[:-2], bins[1:-1], bins[2:]
    at = torch.arange(length // 2 + 1).to(torch.float64).unsqueeze(1)
    rising = torch.where(center == left, torch.ones_like(at - left), (at - left) / (center - left))
    made = torch.where((at >= left) & (at <= center), rising, torch.zeros_like(rising))
    return torch.where((at >= center) & (at < right), (right - at) / (right - center), made).to(dtype)
