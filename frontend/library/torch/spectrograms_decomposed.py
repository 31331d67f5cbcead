"""Short-time Fourier transforms and their inverses, as in ATen's SpectralOps.cpp."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.fourier_decomposed import complex_transform, irfft, rfft


def checked_sizes(name: str, n_fft: int, hop: int, win_length: int, window: Tensor | None) -> None:
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if win_length <= 0 or win_length > n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and (window.dim() != 1 or window.size(0) != win_length):
        raise RuntimeError(f"{name}: expected a 1D window tensor of size equal to win_length={win_length}")


def whole_window(window: Tensor | None, win_length: int, n_fft: int, dtype: torch.dtype) -> Tensor:
    """Return the window centered in n_fft points."""
    kept = torch.ones(win_length, dtype=dtype) if window is None else window
    left = (n_fft - win_length) // 2
    return F.pad(kept, (left, n_fft - win_length - left)) if win_length < n_fft else kept


@decomposes("torch._VF.stft")
def stft(
    input: Tensor, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None, normalized: bool,
    onesided: bool | None, return_complex: bool | None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Transform frames of [L] or [batch, L], padded already, to [batch?, frequencies, frames]."""
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, "
            "and will further require that return_complex=True in a future PyTorch release."
        )
    if not input.is_complex() and not input.is_floating_point():
        raise RuntimeError("stft: expected a tensor of floating point or complex values")
    if input.dim() > 2 or input.dim() < 1:
        raise RuntimeError("stft: expected a 1D or 2D tensor")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    batch = input.unsqueeze(0) if input.dim() == 1 else input
    if n_fft <= 0 or n_fft > batch.size(1):
        raise RuntimeError(f"stft: expected 0 < n_fft <= {batch.size(1)}, but got n_fft={n_fft}")
    checked_sizes("stft", n_fft, hop, length, window)
    frames = batch.unfold(-1, n_fft, hop) * whole_window(window, length, n_fft, batch.dtype)
    norm = "ortho" if normalized else None
    if (not is_complex) if onesided is None else onesided:
        spectrum = rfft(frames, None, -1, norm)
    else:
        spectrum = complex_transform(frames, None, -1, norm, False)
    spectrum = spectrum.transpose(1, 2)
    if input.dim() == 1:
        spectrum = spectrum.squeeze(0)
    return spectrum if is_complex or return_complex else torch.view_as_real(spectrum.contiguous())


def added_up(frames: Tensor, hop: int) -> Tensor:
    """Add up frames [batch, count, n], `hop` apart, to [batch, n + hop (count - 1)]."""
    batch, count, n = frames.shape
    overlap = -(-n // hop)  # number of pieces of `hop` values in a frame
    pieces = F.pad(frames, (0, overlap * hop - n)).reshape(batch, count, overlap, hop)
    result = frames.new_zeros(batch, count + overlap - 1, hop)
    for k in range(overlap):
        result[:, k : k + count] += pieces[:, :, k]
    return result.reshape(batch, -1)[:, : n + hop * (count - 1)]


@decomposes("torch.istft", "Tensor.istft")
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """Return the signal [batch?, L] of a spectrogram [batch?, frequencies, frames]."""
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.dim() != 2 and input.dim() != 3:
        raise RuntimeError("istft: expected a tensor with 2 or 3 dimensions")
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    spectrum = (input.unsqueeze(0) if input.dim() == 2 else input).transpose(1, 2)
    half = spectrum.size(2) != n_fft if onesided is None else onesided
    if spectrum.size(2) != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError("istft: the frequencies of the input do not match n_fft")
    checked_sizes("istft", n_fft, hop, win, window)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = complex_transform(spectrum, None, -1, norm, True)
    else:
        frames = irfft(spectrum[..., : n_fft // 2 + 1], n_fft, -1, norm)
    shape = whole_window(window, win, n_fft, frames.dtype)
    if return_complex:
        weighted = frames * shape
        signal = torch.complex(added_up(weighted.real, hop), added_up(weighted.imag, hop))
    else:
        signal = added_up(frames * shape, hop)
    envelope = added_up((shape * shape).expand(1, spectrum.size(1), n_fft), hop)
    expected = n_fft + hop * (spectrum.size(1) - 1)
    start = n_fft // 2 if center else 0
    end = expected - start if length is None else start + length
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    if envelope.abs().min() < 1e-11:
        raise RuntimeError("istft: window overlap add min: 1")
    signal = signal / envelope
    if end > expected:
        signal = F.pad(signal, (0, end - expected))
    return signal.squeeze(0) if input.dim() == 2 else signal
