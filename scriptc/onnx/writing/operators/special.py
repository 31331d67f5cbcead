"""Elementwise functions that ONNX has no operator for, from those that it has."""

from __future__ import annotations

import math

from scriptc.onnx.writing.builder import Unsupported, dtype_of
from scriptc.onnx.writing.operators.rows import Call, row, simple

simple({"asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "sgn": "Sign"})
_FLOATS = ("f16", "bf16", "f32", "f64")


def _negative(c: Call, x: str, dtype: str) -> str:
    """Return where the sign bit of numbers is set."""
    zero = c.graph.constant(0, dtype)
    return c("Or", c("Less", x, zero), c("And", c("Equal", x, zero), c("Less", c("Reciprocal", x), zero)))


def _log1p(c: Call, x: str, dtype: str) -> str:
    """Return log(1 + x), exact for small x: the rounding of 1 + x cancels."""
    one = c.graph.constant(1, dtype)
    wide = c("Add", x, one)
    made = c("Mul", c("Log", wide), c("Div", x, c("Sub", wide, one)))
    keeps = c("Or", c("Equal", wide, one), c("And", c("IsInf", x), c("Greater", x, one)))
    return c("Where", keeps, x, made)


@row("log1p")
def log1p(c: Call) -> str:
    return _log1p(c, c[0], c.dtype)


@row("expm1")
def expm1(c: Call) -> str:
    half = c("Mul", c[0], c.graph.constant(0.5, c.dtype))
    made = c("Mul", c.graph.constant(2, c.dtype), c("Mul", c("Sinh", half), c("Exp", half)))
    far = c("Greater", c("Abs", c[0]), c.graph.constant(1, c.dtype))
    return c("Where", far, c("Sub", c("Exp", c[0]), c.graph.constant(1, c.dtype)), made)


@row("exp2")
def exp2(c: Call) -> str:
    return c("Pow", c.graph.constant(2, c.dtype), c[0])


@row("log2", "log10")
def log(c: Call) -> str:
    base = 2 if c.op.name == "log2" else 10
    return c("Div", c("Log", c[0]), c.graph.constant(math.log(base), c.dtype))


@row("deg2rad", "rad2deg")
def degrees(c: Call) -> str:
    factor = math.pi / 180 if c.op.name == "deg2rad" else 180 / math.pi
    return c("Mul", c[0], c.graph.constant(factor, c.dtype))


def _of_no_float(c: Call, value: bool) -> str:
    return c("Expand", c.graph.constant(value, "bool"), c("Shape", c[0]))


@row("isfinite")
def isfinite(c: Call) -> str:
    if dtype_of(c.type(0)) not in _FLOATS:
        return _of_no_float(c, True)
    return c("Not", c("Or", c("IsNaN", c[0]), c("IsInf", c[0])))


@row("isposinf", "isneginf")
def is_signed_infinity(c: Call) -> str:
    if dtype_of(c.type(0)) not in _FLOATS:
        return _of_no_float(c, False)
    positive = int(c.op.name == "isposinf")
    return c("IsInf", c[0], detect_positive=positive, detect_negative=1 - positive)


@row("signbit")
def signbit(c: Call) -> str:
    dtype = dtype_of(c.type(0))
    if dtype in ("bool", "u8"):
        return _of_no_float(c, False)
    return _negative(c, c[0], dtype) if dtype in _FLOATS else c("Less", c[0], c.graph.constant(0, dtype))


@row("frac")
def frac(c: Call) -> str:
    down = c("Less", c[0], c.graph.constant(0, c.dtype))
    return c("Sub", c[0], c("Where", down, c("Ceil", c[0]), c("Floor", c[0])))


@row("sinc")
def sinc(c: Call) -> str:
    angle = c("Mul", c[0], c.graph.constant(math.pi, c.dtype))
    is_zero = c("Equal", c[0], c.graph.constant(0, c.dtype))
    return c("Where", is_zero, c.graph.constant(1, c.dtype), c("Div", c("Sin", angle), angle))


@row("copysign")
def copysign(c: Call) -> str:
    a, b = c.common(0, 1)
    size = c("Abs", a)
    return c("Where", _negative(c, b, c.dtype), c("Neg", size), size)


@row("fmax", "fmin")
def without_nan(c: Call) -> str:
    a, b = c.common(0, 1)
    if c.dtype == "bool":
        return c("Or" if c.op.name == "fmax" else "And", a, b)
    made = c("Max" if c.op.name == "fmax" else "Min", a, b)
    if c.dtype not in _FLOATS:
        return made
    return c("Where", c("IsNaN", a), b, c("Where", c("IsNaN", b), a, made))


@row("hypot")
def hypot(c: Call) -> str:
    a, b = (c("Abs", n) for n in c.common(0, 1))
    large, small, zero = c("Max", a, b), c("Min", a, b), c.graph.constant(0, c.dtype)
    part = c("Div", small, large)
    made = c("Mul", large, c("Sqrt", c("Add", c.graph.constant(1, c.dtype), c("Mul", part, part))))
    made = c("Where", c("Equal", large, zero), large, made)
    infinite = c("Or", c("IsInf", a), c("IsInf", b))
    return c("Where", infinite, c.graph.constant(math.inf, c.dtype), made)


@row("logaddexp", "logaddexp2")
def logaddexp(c: Call) -> str:
    a, b = c.common(0, 1)
    scale = c.graph.constant(math.log(2) if c.op.name == "logaddexp2" else 1, c.dtype)
    apart = c("Mul", c("Neg", c("Abs", c("Sub", a, b))), scale)
    apart = c("Where", c("Equal", a, b), c.graph.constant(0, c.dtype), apart)  # infinities of one sign
    return c("Add", c("Max", a, b), c("Div", _log1p(c, c("Exp", apart), c.dtype), scale))


@row("xlogy", "xlog1py")
def xlogy(c: Call) -> str:
    a, b = c.common(0, 1)
    made = c("Mul", a, c("Log", b) if c.op.name == "xlogy" else _log1p(c, b, c.dtype))
    is_zero = c("And", c("Equal", a, c.graph.constant(0, c.dtype)), c("Not", c("IsNaN", b)))
    return c("Where", is_zero, c.graph.constant(0, c.dtype), made)


@row("heaviside")
def heaviside(c: Call) -> str:
    a, b = c.common(0, 1)
    zero = c.graph.constant(0, c.dtype)
    return c("Where", c("Greater", a, zero), c.graph.constant(1, c.dtype), c("Where", c("Equal", a, zero), b, zero))


@row("atan2")
def atan2(c: Call) -> str:
    y, x = c.common(0, 1)
    g, dtype = c.graph, c.dtype
    far = c("And", c("IsInf", x), c("IsInf", y))
    near = c("And", c("Equal", x, g.constant(0, dtype)), c("Equal", y, g.constant(0, dtype)))
    slope = c("Div", c("Abs", y), c("Abs", x))
    slope = c("Where", far, g.constant(1, dtype), c("Where", near, g.constant(0, dtype), slope))
    angle = c("Atan", slope)
    angle = c("Where", _negative(c, x, dtype), c("Sub", g.constant(math.pi, dtype), angle), angle)
    return c("Where", _negative(c, y, dtype), c("Neg", angle), angle)


@row("fmod")
def fmod(c: Call) -> str:
    a, b = c.common(0, 1)
    if c.dtype not in _FLOATS and not c.nonzero(1):
        raise Unsupported("a remainder of whole tensors may divide by zero", "divide by a number, or compute it in floats")
    return c("Mod", a, b, fmod=1)


@row("floor_divide", "floor_div", "trunc_div")
def whole_division(c: Call) -> str:
    a, b = c.common(0, 1)
    g, dtype = c.graph, c.dtype
    if dtype in _FLOATS:
        if c.op.name == "trunc_div":
            made = c("Div", a, b)
            return c("Where", c("Less", made, g.constant(0, dtype)), c("Ceil", made), c("Floor", made))
        raise Unsupported("a floor division of floats has no exact ONNX form", "use torch.floor(a / b)")
    if not c.nonzero(1):
        raise Unsupported("a division of whole tensors may divide by zero", "divide by a number, or compute it in floats")
    if c.op.name == "trunc_div":
        return c("Div", a, b)
    return c("Div", c("Sub", a, c("Mod", a, b)), b)


@row("tanh_backward")
def tanh_backward(c: Call) -> str:
    return c("Mul", c[0], c("Sub", c.graph.constant(1, c.dtype), c("Mul", c[1], c[1])))


@row("sigmoid_backward")
def sigmoid_backward(c: Call) -> str:
    return c("Mul", c[0], c("Mul", c("Sub", c.graph.constant(1, c.dtype), c[1]), c[1]))


@row("bitwise_left_shift", "bitwise_right_shift")
def shift(c: Call) -> str:
    a = c.common(0, 1)[0]
    value = c.op.operands[1]
    bits = c.const(1) if value.op is not None and value.op.name == "const" else -1
    if not 0 <= bits < 7:
        raise Unsupported("this shift has no ONNX form", "multiply or divide by a power of two")
    power = c.graph.constant(2**bits, c.dtype)
    if c.op.name == "bitwise_left_shift":
        return c("Mul", a, power)
    return c("Div", c("Sub", a, c("Mod", a, power)), power)
