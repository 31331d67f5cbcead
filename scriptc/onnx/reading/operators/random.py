"""Random numbers. They come from torch's generator; the attribute `seed` is not used."""

from __future__ import annotations

from typing import Any

from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import number_text


def scaled(text: str, factor: float, offset: float) -> str:
    if factor != 1.0:
        text = f"{text} * {number_text(factor, 'float32')}"
    return text if offset == 0.0 else f"{text} + {number_text(offset, 'float32')}"


def _made(op: Operation, function: str, factor: float, offset: float) -> str:
    if op.node.op.endswith("Like"):
        dtype = op.torch_dtype(op.attr_dtype("dtype", op.dtype(0) or "float32"))
        return scaled(f"torch.{function}({op[0]}.shape, dtype={dtype})", factor, offset)
    dtype = op.torch_dtype(op.attr_dtype("dtype", "float32"))
    return scaled(f"torch.{function}({op.need('shape')}, dtype={dtype})", factor, offset)


@operator("RandomUniform", "RandomUniformLike")
def uniform(op: Operation) -> Any:
    low, high = op.attr("low", 0.0), op.attr("high", 1.0)
    return _made(op, "rand", high - low, low)


@operator("RandomNormal", "RandomNormalLike")
def normal(op: Operation) -> Any:
    return _made(op, "randn", op.attr("scale", 1.0), op.attr("mean", 0.0))


@operator("Bernoulli")
def bernoulli(op: Operation) -> Any:
    target = op.attr_dtype("dtype", op.dtype(0) or "float32")
    text = f"torch.bernoulli({op[0]})"
    return text if target == op.dtype(0) else f"{text}.to({op.torch_dtype(target)})"


@operator("Multinomial")
def multinomial(op: Operation) -> Any:
    dtype = op.torch_dtype(op.attr_dtype("dtype", "int32"))
    return f"torch.multinomial(torch.softmax({op[0]}, 1), {op.attr('sample_size', 1)}, True).to({dtype})"
