"""Quantized operators of com.microsoft. Most compute on floats between a scale of the input and one of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.operators.microsoft import DOMAIN, check_rank_of_mask, scale_of, short, with_present
from scriptc.onnx.reading.operators.neural import spatial, window
from scriptc.onnx.reading.operators.quantization import (
    aligned,
    dequantize,
    limits,
    matmul_integer,
    qlinear_conv,
    quantize,
    zero_point,
)  # fmt: skip
from scriptc.onnx.reading.operators.recurrent import by_steps
from scriptc.onnx.reading.registry import operator

operator("QuantizeLinear", domain=DOMAIN)(quantize)
operator("DequantizeLinear", domain=DOMAIN)(dequantize)
operator("MatMulInteger16", domain=DOMAIN)(matmul_integer)


def as_floats(op: Operation, index: int) -> str:
    """Return a quantized input as floats; its scale and zero point follow it."""
    x = op[index]
    return f"ox.dequantize({x}, {aligned(op, index + 1, x)}, {zero_point(op, index + 2, x)}, torch.float32)"


def as_result(op: Operation, text: str, scale: int) -> str:
    """Return floats as elements of the result; the inputs `scale` and the next one are its scale and zero point."""
    dtype = (op.dtype(scale + 1) if op.has(scale + 1) else None) or op.dtype(0)
    zero = op.number(scale + 1) if op.has(scale + 1) else "0"
    return f"ox.quantize({text}, {op.number(scale)}, {zero}, {limits(op, dtype or 'uint8')})"


def unary(name: str, write: Callable[[Operation, str], str]) -> None:
    """Register an operator with the inputs x, its scale and zero point, and the scale and zero point of the result."""
    operator(name, domain=DOMAIN)(lambda op: as_result(op, write(op, as_floats(op, 0)), 3))


def channels_moved(op: Operation, text: str, write: Callable[[str], str]) -> str:
    """Return the result of `write`, which takes and returns channels in the second dim."""
    return f"{write(f'{text}.movedim(-1, 1)')}.movedim(1, -1)" if op.attr("channels_last", 0) else write(text)


def average_pool(op: Operation, text: str) -> str:
    kernel = op.need("kernel_shape")
    rest = f"{bool(op.attr('ceil_mode', 0))}, {bool(op.attr('count_include_pad', 0))}"
    return channels_moved(op, text, lambda x: f"ox.average_pool({x}, {kernel}, {window(op, len(kernel))}, {rest})")


def softmax(op: Operation, text: str) -> str:
    if op.need("opset") < 13 and op.attr("axis", -1) not in (-1, op.need_rank(0) - 1):
        raise op.unsupported("its softmax is over several dims")
    return f"torch.softmax({text}, {op.attr('axis', -1)})"


unary("QLinearSigmoid", lambda op, x: f"torch.sigmoid({x})")
unary("QLinearLeakyRelu", lambda op, x: f"F.leaky_relu({x}, {short(op.attr('alpha', 0.01))})")
unary("QLinearSoftmax", softmax)
unary("QLinearReduceMean", lambda op, x: f"torch.mean({x}, {tuple(op.need('axes'))}, keepdim={bool(op.need('keepdims'))})")
unary("QLinearGlobalAveragePool", lambda op, x: channels_moved(op, x, lambda y: f"ox.global_average_pool({y})"))
unary("QLinearAveragePool", average_pool)


@operator("QLinearAdd", "QLinearMul", domain=DOMAIN)
def quantized_binary(op: Operation) -> Any:
    sign = "+" if op.node.op == "QLinearAdd" else "*"
    return as_result(op, f"{as_floats(op, 0)} {sign} {as_floats(op, 3)}", 6)


@operator("QLinearConcat", domain=DOMAIN)
def quantized_concat(op: Operation) -> Any:
    parts = ", ".join(as_floats(op, index) for index in range(2, op.count, 3))
    text = f"torch.cat([{parts}], {op.need('axis')})"
    return f"ox.quantize({text}, {op.number(0)}, {op.number(1)}, {limits(op, op.dtype(1) or 'uint8')})"


@operator("QLinearWhere", domain=DOMAIN)
def quantized_where(op: Operation) -> Any:
    text = f"torch.where({op[0]}, {as_floats(op, 1)}, {as_floats(op, 4)})"
    return f"ox.quantize({text}, {op.number(7)}, {op.number(8)}, {limits(op, op.dtype(8) or 'uint8')})"


@operator("QLinearConv", domain=DOMAIN)
def quantized_conv(op: Operation) -> Any:
    if not op.attr("channels_last", 0):
        return qlinear_conv(op)
    values = ", ".join(op.optional(i) for i in range(1, 9))
    rest = f"{window(op, spatial(op, 3))}, {op.attr('group', 1)}"
    call = f"ox.qlinear_conv({op[0]}.movedim(-1, 1), {values}, {limits(op, op.dtype(7) or 'uint8')}, {rest})"
    return f"{call}.movedim(1, -1)"


@operator("NhwcMaxPool", domain=DOMAIN)
def max_pool(op: Operation) -> Any:
    kernel = op.need("kernel_shape")
    rest = f"{kernel}, {window(op, len(kernel))}, {bool(op.attr('ceil_mode', 0))}"
    return f"ox.max_pool({op[0]}.movedim(-1, 1), {rest}).movedim(1, -1)"


@operator("QGemm", domain=DOMAIN)
def quantized_gemm(op: Operation) -> Any:
    left, right = (f"{op[i]}.t()" if op.attr(name, 0) else op[i] for i, name in ((0, "transA"), (3, "transB")))
    sums = f"ox.exact_matmul({left}, {right}, {op.optional(2)}, {op.optional(5)})"
    if op.has(6):
        sums = f"{sums} + {op[6]}"
    scale = f"{op[1]} * {op[4]}"
    if op.attr("alpha", 1.0) != 1.0:
        scale = f"{scale} * {short(op.attr('alpha', 1.0))}"
    if not op.has(7):
        return f"({sums}).to(torch.float32) * ({scale})"
    return f"ox.requantize({sums}, {scale} / {op[7]}, {op.optional(8)}, {limits(op, op.dtype(8) or 'uint8')})"


@operator("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(op: Operation) -> Any:
    dtype = op.torch_dtype(op.dtype(2) or "float32")
    sums = f"ox.exact_matmul({op[0]}, {op[1]}, {op.optional(4)}, {op.optional(5)}).to(torch.float32)"
    text = f"({sums} * (ox.by_row({op[2]}, {op[0]}) * {op[3]})).to({dtype})"
    return f"{text} + {op[6]}" if op.has(6) else text


@operator("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(op: Operation) -> Any:
    text = f"ox.dynamic_quantize_matmul({op[0]}, {op[1]}, {op[2]}, {op.optional(3)})"
    return f"{text} + {op[4]}" if op.has(4) else text


@operator("QAttention", domain=DOMAIN)
def quantized_attention(op: Operation) -> Any:
    if op.attr("do_rotary", 0) or op.attr("past_present_share_buffer", 0):
        raise op.unsupported("it rotates its inputs, or shares a buffer of past keys")
    check_rank_of_mask(op, 5, 0)
    sums = f"ox.exact_matmul({op[0]}, {op[1]}, {op.optional(6)}, {op.optional(7)}).to(torch.float32)"
    values = f"{sums} * ({op[3]} * {op[4]}) + {op[2]}, {op.optional(5)}, {op.optional(8)}, None"
    rest = f"{op.need('num_heads')}, None, {bool(op.attr('unidirectional', 0))}, {scale_of(op)}"
    text = f"ox.attention_of_projections({values}, {rest}, {short(op.attr('mask_filter_value', -10000.0))})"
    return with_present(op, text)


@operator("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(op: Operation) -> Any:
    """Return an LSTM whose weights are bytes; inputs and states are quantized before each product with weights."""
    weights = []
    for index, scale in ((1, 8), (2, 10)):
        by_column = op.need_rank(scale) == 2
        shape = "[:, None, :]" if by_column else "[:, None, None]"
        text = f"ox.dequantize({op[index]}, {op[scale]}{shape}, {op[scale + 1]}{shape}, torch.float32).transpose(1, 2)"
        weights.append(op.named("w" if index == 1 else "r", text))
    return by_steps(op, "LSTM", weights, ", ox.dynamic_quantize_product")


@operator("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(op: Operation) -> Any:
    rank, dtype = op.need_rank(0), op.dtype(0)
    if op.attr("gather_axis", 0) != 0 or op.attr("quantize_axis", 1) % rank != rank - 1:
        raise op.unsupported("it gathers blocks along another axis than the first one")
    if dtype not in ("uint8", "int4", "uint4"):
        raise op.unsupported(f"its elements are {dtype}")
    bits = op.attr("bits", 4) if dtype == "uint8" else 8
    default = 2 ** (op.attr("bits", 4) - 1) if dtype == "uint8" else 0
    values = f"{op[0]}, {op[1]}, {op[2]}, {op.optional(3)}"
    return f"ox.gather_block_quantized({values}, {bits}, {op.attr('block_size', 128)}, {default})"
