"""Elementwise arithmetic, comparison and conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import BITS, FLOATS, INTEGERS, SMALL_FLOATS, UNSIGNED
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.registry import operator
from scriptc.onnx.reading.values import Value, bool_value, int_value, ints, is_carried, number_text, other

UNARY = {
    "Acos": "torch.acos", "Acosh": "torch.acosh", "Asin": "torch.asin", "Asinh": "torch.asinh", "Atan": "torch.atan",
    "Atanh": "torch.atanh", "Cos": "torch.cos", "Cosh": "torch.cosh", "Erf": "torch.erf", "Exp": "torch.exp",
    "Log": "torch.log", "Reciprocal": "torch.reciprocal", "Sigmoid": "torch.sigmoid", "Sin": "torch.sin", "Sinh": "torch.sinh",
    "Sqrt": "torch.sqrt", "Tan": "torch.tan", "Tanh": "torch.tanh", "Relu": "torch.relu", "Softsign": "F.softsign",
    "Softplus": "ox.softplus", "Mish": "F.mish", "HardSwish": "F.hardswish", "IsNaN": "torch.isnan", "Not": "torch.logical_not",
    "Sign": "torch.sign", "Floor": "torch.floor", "Ceil": "torch.ceil", "Round": "torch.round", "Abs": "torch.abs",
    "Det": "torch.linalg.det", "BitwiseNot": "torch.bitwise_not",
}  # fmt: skip


@operator(*UNARY)
def unary(op: Operation) -> Any:
    return wrapped(op, f"{UNARY[op.node.op]}({op[0]})")


@operator("Neg")
def negate(op: Operation) -> Any:
    if op.is_host(0) and op.all_host():
        return _each(op, [op.value(0)], lambda a: f"-{a}")
    return f"-{op[0]}"


def wrapped(op: Operation, text: str) -> str:
    """Return arithmetic on integers in a wider carrier, cut to the bits of the element type."""
    dtype = op.out_dtype() or op.dtype(0)
    if is_carried(dtype) and dtype in INTEGERS and BITS[dtype] < 64:
        bits = BITS[dtype]
        if dtype in UNSIGNED:
            return f"({text}) & {hex(2**bits - 1)}"
        return f"((({text}) + {2 ** (bits - 1)}) & {hex(2**bits - 1)}) - {2 ** (bits - 1)}"
    return text


def _each(op: Operation, values: list[Value], one: Any) -> Any:
    """Return ints computed item by item; None if the number of items is not known."""
    parts = [op.writer.ints(v).items for v in values]
    if any(p is None for p in parts):
        return None
    lengths = {len(p) for p in parts if p is not None}
    scalar = all(v.form == "int" or v.form == "constant" and np.ndim(v.array) == 0 for v in values)
    size = max(lengths)
    if not lengths <= {1, size}:
        return None
    spread = [p if len(p) == size else p * size for p in parts if p is not None]
    made = [one(*items) for items in zip(*spread, strict=True)]
    return int_value(made[0]) if scalar else ints(made)


def folded(op: Operation, compute: Any) -> Any:
    """Return the text of two ints under an operator; a literal if both are literals."""

    def one(a: str, b: str) -> str:
        try:
            return str(int(compute(int(a), int(b))))
        except (ValueError, ZeroDivisionError):
            return ""

    return one


HOST = {
    "Add": (lambda a, b: a + b, "{} + {}"), "Sub": (lambda a, b: a - b, "{} - {}"), "Mul": (lambda a, b: a * b, "{} * {}"),
    "Div": (lambda a, b: int(a / b), "ox.truncated_quotient({}, {})"), "Min": (min, "min({}, {})"), "Max": (max, "max({}, {})"),
    "Mod": (lambda a, b: a % b, "{} % {}"),
}  # fmt: skip


def host(op: Operation) -> Any:
    """Return the result of an operator of two ints; None if an input is a tensor."""
    if op.count != 2 or not op.all_host() or op.node.op not in HOST or op.node.attributes.get("fmod"):
        return None
    compute, text = HOST[op.node.op]
    fold = folded(op, compute)
    return _each(op, [op.value(0), op.value(1)], lambda a, b: fold(a, b) or text.format(a, b))


def broadcast(op: Operation) -> tuple[str, str]:
    """Return both operands of an operator; the second one aligned by `axis` where the operator has `broadcast`."""
    left, right = (op[0], op.number(1)) if op.known(0) is not None else (op.number(0), op[1])
    if op.known(0) is None and op.known(1) is not None:
        left, right = op[0], op.number(1)
    axis = op.attr("axis")
    if op.version < 7 and op.attr("broadcast") and axis is not None:
        right = f"ox.aligned({op[1]}, {left}, {axis})"
    return left, right


BINARY = {"Add": "+", "Sub": "-", "Mul": "*", "And": "&", "Or": "|", "Xor": "^", "BitwiseAnd": "&", "BitwiseOr": "|",
          "BitwiseXor": "^"}  # fmt: skip


@operator(*BINARY)
def binary(op: Operation) -> Any:
    done = host(op)
    if done is not None:
        return done
    left, right = broadcast(op)
    return wrapped(op, f"{left} {BINARY[op.node.op]} {right}")


@operator("Div")
def divide(op: Operation) -> Any:
    done = host(op)
    if done is not None:
        return done
    left, right = broadcast(op)
    dtype = op.dtype(0) or op.dtype(1)
    if dtype is None:
        return f"ox.divide({op[0]}, {op[1]})"
    if dtype == "uint64":
        return f"ox.div_uint64({op[0]}, {op[1]})"
    if dtype in INTEGERS:
        return wrapped(op, f'torch.div({op[0]}, {right}, rounding_mode="trunc")')
    return f"{left} / {right}"


@operator("Mod")
def modulo(op: Operation) -> Any:
    done = host(op)
    if done is not None:
        return done
    if op.dtype(0) == "uint64":
        return f"ox.mod_uint64({op[0]}, {op[1]})"
    name = "fmod" if op.attr("fmod", 0) else "remainder"
    return f"torch.{name}({op[0]}, {op[1]})"


@operator("Pow")
def power(op: Operation) -> Any:
    left, right = op[0], op.number(1)
    dtype = op.dtype(0)
    if op.version < 7 and op.attr("broadcast"):
        left, right = broadcast(op)
    if op.dtype(1) == "uint64":
        wide = "torch.float64" if dtype in INTEGERS else op.torch_dtype(dtype)
        text = f"torch.pow({op[0]}.to({wide}), ox.from_uint64({op[1]}, {wide}))"
        return f"{text}.to({op.torch_dtype(dtype)})" if dtype in INTEGERS else text
    if dtype is not None and op.dtype(1) == dtype:
        return wrapped(op, f"torch.pow({left}, {right})")
    if dtype in INTEGERS:
        return f"torch.pow({op[0]}.to(torch.float64), {op[1]}).to({op.torch_dtype(dtype)})"
    return f"torch.pow({op[0]}, {op[1]}).to({op.torch_dtype(dtype)})" if dtype else f"torch.pow({op[0]}, {op[1]})"


COMPARED = {"Equal": "==", "Greater": ">", "Less": "<", "GreaterOrEqual": ">=", "LessOrEqual": "<="}


@operator(*COMPARED)
def compare(op: Operation) -> Any:
    sign = COMPARED[op.node.op]
    if op.dtype(0) == "string":
        return f"ox.strings_equal({op[0]}, {op[1]}, {op.need_rank(0)}, {op.need_rank(1)})"
    if op.all_host() and all(op.value(i).form != "ints" and np.ndim(op.value(i).array) == 0 for i in (0, 1)):
        return bool_value(f"{op.int_text(0)} {sign} {op.int_text(1)}")
    left, right = broadcast(op)
    if op.dtype(0) == "uint64" and sign != "==":
        return f"({op[0]} ^ -0x8000000000000000) {sign} ({op[1]} ^ -0x8000000000000000)"
    return f"{left} {sign} {right}"


def float_bound(op: Operation, index: int) -> str | None:
    """Return an input as a float if it is a constant without dims that is not NaN, else None."""
    array = op.known(index)
    if array is None or np.ndim(array) or op.dtype(index) not in FLOATS or np.isnan(array):
        return None
    return number_text(array, op.dtype(index) or "")


@operator("Max", "Min")
def extremum(op: Operation) -> Any:
    done = host(op)
    if done is not None:
        return done
    name = "maximum" if op.node.op == "Max" else "minimum"
    for tensor, number in ((0, 1), (1, 0)) if op.count == 2 else ():
        if (bound := float_bound(op, number)) is not None and op.known(tensor) is None:
            return f"torch.clamp({op[tensor]}, {'min' if name == 'maximum' else 'max'}={bound})"
    text = op[0]
    for index in range(1, op.count):
        if op.dtype(0) == "uint64":
            text = f"ox.{op.node.op.lower()}_uint64({text}, {op[index]})"
        else:
            text = f"torch.{name}({text}, {op[index]})"
    return text


@operator("Sum")
def add_all(op: Operation) -> Any:
    return " + ".join(op[i] for i in range(op.count))


@operator("Mean")
def mean(op: Operation) -> Any:
    return f"({' + '.join(op[i] for i in range(op.count))}) / {op.count}"


@operator("Where")
def where(op: Operation) -> Any:
    return f"torch.where({op[0]}, {op[1]}, {op[2]})"


@operator("BitShift")
def bit_shift(op: Operation) -> Any:
    dtype = op.dtype(0) or "int64"
    left = op.need("direction") == "LEFT"
    return f"ox.shift_{'left' if left else 'right'}({op[0]}, {op[1]}, {BITS[dtype]}, {dtype in UNSIGNED})"


@operator("Clip", until=10)
def clip_attributes(op: Operation) -> Any:
    low, high = op.attr("min"), op.attr("max")
    if low is None and high is None:
        return op[0]
    return f"torch.clamp({op[0]}, {low!r}, {high!r})"


@operator("Clip", since=11)
def clip(op: Operation) -> Any:
    bounds = [float_bound(op, i) if op.has(i) else "None" for i in (1, 2)]
    if None not in bounds and bounds != ["None", "None"]:
        return f"torch.clamp({op[0]}, {bounds[0]}, {bounds[1]})"
    text = op[0]
    if op.has(1):
        text = f"torch.maximum({text}, {op[1]})"
    if op.has(2):
        text = f"torch.minimum({text}, {op[2]})"
    return text


@operator("IsInf")
def is_inf(op: Operation) -> Any:
    positive, negative = op.attr("detect_positive", 1), op.attr("detect_negative", 1)
    if positive and negative:
        return f"torch.isinf({op[0]})"
    if not positive and not negative:
        return f"torch.zeros_like({op[0]}, dtype=torch.bool)"
    return f"torch.{'isposinf' if positive else 'isneginf'}({op[0]})"


@operator("Celu")
def celu(op: Operation) -> Any:
    return f"F.celu({op[0]}, {op.attr('alpha', 1.0)!r})"


@operator("Elu")
def elu(op: Operation) -> Any:
    return f"F.elu({op[0]}, {op.attr('alpha', 1.0)!r})"


@operator("LeakyRelu")
def leaky_relu(op: Operation) -> Any:
    return f"F.leaky_relu({op[0]}, {op.attr('alpha', 0.01)!r})"


@operator("ThresholdedRelu")
def thresholded_relu(op: Operation) -> Any:
    return f"torch.where({op[0]} > {op.attr('alpha', 1.0)!r}, {op[0]}, torch.zeros_like({op[0]}))"


@operator("Selu")
def selu(op: Operation) -> Any:
    alpha, gamma = op.attr("alpha", 1.6732632423543772), op.attr("gamma", 1.0507009873554805)
    return f"{gamma!r} * F.elu({op[0]}, {alpha!r})"


@operator("HardSigmoid")
def hard_sigmoid(op: Operation) -> Any:
    return f"torch.clamp({op[0]} * {op.attr('alpha', 0.2)!r} + {op.attr('beta', 0.5)!r}, 0, 1)"


@operator("Gelu")
def gelu(op: Operation) -> Any:
    return f'F.gelu({op[0]}, approximate="{op.attr("approximate", "none")}")'


@operator("Swish")
def swish(op: Operation) -> Any:
    alpha = op.attr("alpha", 1.0)
    return f"F.silu({op[0]})" if alpha == 1.0 else f"{op[0]} * torch.sigmoid({alpha!r} * {op[0]})"


@operator("PRelu")
def prelu(op: Operation) -> Any:
    if op.version < 7:
        return f"torch.where({op[0]} < 0, ox.aligned({op[1]}, {op[0]}, 1) * {op[0]}, {op[0]})"
    return f"torch.where({op[0]} < 0, {op[1]} * {op[0]}, {op[0]})"


@operator("Affine", "Scale", "ImageScaler", until=6)
def affine(op: Operation) -> Any:
    return f"{op[0]} * {op.attr('alpha', 1.0)!r} + {op.attr('beta', 0.0)!r}"


@operator("Shrink")
def shrink(op: Operation) -> Any:
    bias, at = op.attr("bias", 0.0), op.attr("lambd", 0.5)
    return f"ox.shrink({op[0]}, {bias!r}, {at!r})"


@operator("Cast")
def cast(op: Operation) -> Any:
    return convert(op, op.attr_dtype("to", "float32"), op.attr("saturate", 1), op.attr("round_mode", "up"))


@operator("CastLike")
def cast_like(op: Operation) -> Any:
    target = op.dtype(1) or op.out_dtype()
    if target is None:
        raise op.unsupported("the element type of its second input is not known")
    return convert(op, target, op.attr("saturate", 1), op.attr("round_mode", "up"))


def convert(op: Operation, target: str, saturate: int, round_mode: str) -> Any:
    """Return the first input with elements of another type."""
    if target in ("int64", "int32") and op.is_host(0) and op.value(0).form != "constant":
        return op.value(0)
    source = op.dtype(0)
    if target == source:
        return op[0]
    if target == "string":
        if source not in INTEGERS or source == "uint64":
            raise op.unsupported(f"elements of {source} have no fixed text")
        return other(f"ox.to_strings({op[0]})")
    if source == "string":
        if target not in INTEGERS and target not in ("float32", "float64") or target == "uint64":
            raise op.unsupported(f"strings as {target}")
        kind = "whole" if target in INTEGERS else "float"
        return f"ox.{kind}_numbers({op[0]}, {op.need_rank(0)}, {op.torch_dtype(target)})"
    if target in SMALL_FLOATS:
        if target == "float8e8m0":
            return f'ox.to_float8e8m0({op[0]}, "{round_mode}")'
        return f"ox.to_{target}({op[0]}, {bool(saturate)})"
    text = op[0]
    if target == "bool":
        return f"{text}.to(torch.bool)"
    if target in INTEGERS and is_carried(target) and BITS[target] < 64:
        bits = BITS[target]
        if target in UNSIGNED:
            return f"({text}.to(torch.int64) & {hex(2**bits - 1)}).to({op.torch_dtype(target)})"
        half = 2 ** (bits - 1)
        return f"((({text}.to(torch.int64) + {half}) & {hex(2**bits - 1)}) - {half}).to({op.torch_dtype(target)})"
    if target == "uint64" and source not in INTEGERS and source != "bool":
        return f"ox.to_uint64({text})"
    if source == "uint64" and target not in INTEGERS:
        return f"ox.from_uint64({text}, {op.torch_dtype(target)})"
    return f"{text}.to({op.torch_dtype(target)})"


@operator("BitCast")
def bit_cast(op: Operation) -> Any:
    source, target = op.dtype(0), op.attr_dtype("to", "float32")
    if source == target:
        return op[0]
    text = op[0]
    native = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}
    if source == "bool":
        text = f"{text}.to(torch.uint8)"
    elif source in ("uint16", "uint32"):
        text = f"{text}.to(torch.{native[source]})"
    if target == "bool":
        return f"{text}.view(torch.uint8).to(torch.bool)"
    if target in ("uint16", "uint32"):
        return f"{text}.view(torch.{native[target]}).to({op.torch_dtype(target)}) & {hex(2 ** BITS[target] - 1)}"
    if is_carried(target) and target != "uint64" or is_carried(source) and source not in native:
        raise op.unsupported(f"compiled tensors have no bits of {target} and {source}")
    return f"{text}.view({op.torch_dtype(target)})"


@operator("CumSum", ints=(1,))
def cumulative_sum(op: Operation) -> Any:
    return _cumulative(op, "cumsum")


@operator("CumProd", ints=(1,))
def cumulative_product(op: Operation) -> Any:
    return _cumulative(op, "cumprod")


def _cumulative(op: Operation, name: str) -> str:
    exclusive, backward = bool(op.attr("exclusive", 0)), bool(op.attr("reverse", 0))
    if exclusive or backward:
        return f"ox.{name}({op[0]}, {op.int_text(1)}, {exclusive}, {backward})"
    dtype = op.dtype(0)
    cast = f", dtype={op.torch_dtype(dtype)}" if dtype in INTEGERS else ""
    return f"torch.{name}({op[0]}, {op.int_text(1)}{cast})"


@operator("MatMul")
def matmul(op: Operation) -> Any:
    return f"torch.matmul({op[0]}, {op[1]})"


@operator("Gemm")
def gemm(op: Operation) -> Any:
    left = f"{op[0]}.t()" if op.attr("transA", 0) else op[0]
    alpha, beta = op.attr("alpha", 1.0), op.attr("beta", 1.0)
    if op.attr("transB", 0) and alpha == 1.0 and beta == 1.0 and op.has(2) and op.rank(2) == 1:
        return f"F.linear({left}, {op[1]}, {op[2]})"
    right = f"{op[1]}.t()" if op.attr("transB", 0) else op[1]
    text = f"torch.matmul({left}, {right})"
    if alpha != 1.0:
        text = f"{alpha!r} * {text}"
    if op.has(2):
        text = f"{text} + {op[2]}" if beta == 1.0 else f"{text} + {beta!r} * {op[2]}"
    return text


@operator("Einsum")
def einsum(op: Operation) -> Any:
    equation = op.need("equation").replace(" ", "")
    return f'torch.einsum("{equation}", {", ".join(op[i] for i in range(op.count))})'
