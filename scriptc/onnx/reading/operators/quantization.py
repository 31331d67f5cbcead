"""Quantized operators of ai.onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import BITS, INTEGERS, SMALL_FLOATS, UNSIGNED
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.operators.neural import spatial, window
from scriptc.onnx.reading.registry import operator


def limits(op: Operation, dtype: str) -> str:
    """Return the least and the largest element of an integer type, and the dtype that carries it, as arguments."""
    if dtype not in INTEGERS or BITS[dtype] > 16:
        raise op.unsupported(f"its result has the type {dtype}, which is not one of up to 16 bits")
    bits = BITS[dtype]
    low, high = (0, 2**bits - 1) if dtype in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return f"{low}, {high}, {op.torch_dtype(dtype)}"


def is_number(op: Operation, index: int) -> bool:
    """Return whether an input is written as a Python number."""
    return op.known(index) is not None and op.rank(index) == 0


def aligned(op: Operation, index: int, x: str) -> str:
    """Return a scale or a zero point as an operand of the tensor `x`."""
    block = op.attr("block_size", 0)
    if op.rank(index) == 0:
        return op.number(index)
    if op.rank(index) != 1 and not block:
        raise op.unsupported("a scale of several dims needs the attribute 'block_size'")
    return f"ox.along({op[index]}, {x}, {op.attr('axis', 1)}{f', {block}' if block else ''})"


def zero_point(op: Operation, index: int, x: str) -> str:
    return aligned(op, index, x) if op.has(index) else "0"


@operator("QuantizeLinear")
def quantize(op: Operation) -> Any:
    target = op.attr_dtype("output_dtype", (op.dtype(2) if op.has(2) else None) or "uint8")
    precision = op.attr_dtype("precision", op.dtype(1) or "float32")
    x, scale = op[0], aligned(op, 1, op[0])
    if op.dtype(0) != precision:
        x = f"{x}.to({op.torch_dtype(precision)})"
    if op.dtype(1) != precision and not is_number(op, 1):
        scale = f"{scale}.to({op.torch_dtype(precision)})"
    if target in SMALL_FLOATS:
        text = f"{x} / {scale}"
        if op.has(2) and (op.known(2) is None or np.any(np.asarray(op.known(2), np.float32))):
            text = f"{text} + {aligned(op, 2, op[0])}"
        return f"ox.to_{target}({text}, {bool(op.attr('saturate', 1))})"
    return f"ox.quantize({x}, {scale}, {zero_point(op, 2, op[0])}, {limits(op, target)})"


@operator("DequantizeLinear")
def dequantize(op: Operation) -> Any:
    target = op.attr_dtype("output_dtype", op.dtype(1) or "float32")
    return f"ox.dequantize({op[0]}, {aligned(op, 1, op[0])}, {zero_point(op, 2, op[0])}, {op.torch_dtype(target)})"


@operator("DynamicQuantizeLinear")
def dynamic_quantize(op: Operation) -> Any:
    return f"ox.dynamic_quantize({op[0]})" if op.outputs == 3 else f"ox.dynamic_quantize({op[0]})[:{op.outputs}]"


@operator("MatMulInteger")
def matmul_integer(op: Operation) -> Any:
    return f"ox.exact_matmul({op[0]}, {op[1]}, {op.optional(2)}, {op.optional(3)})"


@operator("ConvInteger")
def conv_integer(op: Operation) -> Any:
    zeros = f"{op.optional(2)}, {op.optional(3)}"
    return f"ox.conv_integer({op[0]}, {op[1]}, {zeros}, {window(op, spatial(op))}, {op.attr('group', 1)})"


@operator("QLinearMatMul")
def qlinear_matmul(op: Operation) -> Any:
    values = ", ".join(op.optional(i) for i in range(8))
    return f"ox.qlinear_matmul({values}, {limits(op, op.dtype(7) or 'uint8')})"


@operator("QLinearConv")
def qlinear_conv(op: Operation) -> Any:
    values = ", ".join(op.optional(i) for i in range(9))
    rest = f"{window(op, spatial(op, 3))}, {op.attr('group', 1)}"
    return f"ox.qlinear_conv({values}, {limits(op, op.dtype(7) or 'uint8')}, {rest})"
