"""Filters of signals: operators of torchaudio."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


def _holds(condition: bool) -> None:
    """Raise an error as the checks of torchaudio do; their messages are positions in its sources."""
    if not condition:
        raise RuntimeError("cpu_lfilter_core_loop")


@decomposes("torch.ops.torchaudio._lfilter_core_loop")
def lfilter_core_loop(input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor) -> Tensor:
    """Subtract the last outputs, each times its coefficient, from each sample. The output begins with those of before."""
    waveform, output = input_signal_windows, padded_output_waveform
    _holds(waveform.is_contiguous() and a_coeff_flipped.is_contiguous() and output.is_contiguous())
    _holds(waveform.dtype == torch.float32 or waveform.dtype == torch.float64)
    _holds(waveform.dtype == a_coeff_flipped.dtype and waveform.dtype == output.dtype)
    order = a_coeff_flipped.size(1)
    _holds(waveform.size(0) == output.size(0) and waveform.size(1) == output.size(1))
    _holds(waveform.size(2) + order - 1 == output.size(2))
    for i in range(waveform.size(2)):
        sample = waveform[:, :, i]
        for k in range(order):
            sample = sample - output[:, :, i + k] * a_coeff_flipped[:, k]
        output[:, :, i + order - 1] = sample
    return output
