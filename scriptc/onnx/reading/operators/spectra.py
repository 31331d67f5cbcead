"""Fourier transforms and mel filters."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator


def is_real(op: Operation) -> bool:
    """Return whether the signal, whose last dim holds the parts, is known to be real."""
    dims = op.dims(0)
    return bool(dims) and dims[-1] == 1  # type: ignore[index]


def _options(op: Operation, onesided: int) -> str:
    return f"{bool(op.attr('inverse', 0))}, {bool(op.attr('onesided', onesided))}, {is_real(op)}"


@operator("DFT", until=19, ints=(1,))
def dft_attribute(op: Operation) -> Any:
    return f"ox.dft({op[0]}, {op.int_text(1) if op.has(1) else None}, {op.attr('axis', 1)}, {_options(op, 0)})"


@operator("DFT", since=20, ints=(1, 2))
def dft(op: Operation) -> Any:
    length, axis = op.int_text(1) if op.has(1) else None, op.int_text(2) if op.has(2) else -2
    return f"ox.dft({op[0]}, {length}, {axis}, {_options(op, 0)})"


@operator("STFT", ints=(1, 3))
def stft(op: Operation) -> Any:
    length = op.int_text(3) if op.has(3) else None
    return f"ox.stft({op[0]}, {op.int_text(1)}, {op.optional(2)}, {length}, {bool(op.attr('onesided', 1))}, {is_real(op)})"


@operator("MelWeightMatrix", ints=(0, 1, 2))
def mel_weight_matrix(op: Operation) -> Any:
    sizes = ", ".join(op.int_text(i) for i in range(3))
    dtype = op.torch_dtype(op.attr_dtype("output_datatype", "float32"))
    return f"ox.mel_weight_matrix({sizes}, {op.float_text(3)}, {op.float_text(4)}, {dtype})"
