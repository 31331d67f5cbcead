"""Python's numbers as 0-d tensors of int64, double and bool. Overflow and domain errors are those of the runtime."""

from __future__ import annotations

import math

from scriptc.onnx.writing.builder import Builder
from scriptc.onnx.writing.operators.rows import ROWS, Call, row, simple

simple({
    "int.add": "Add", "int.sub": "Sub", "int.mul": "Mul", "int.neg": "Neg", "int.abs": "Abs", "int.min": "Min",
    "int.max": "Max", "float.add": "Add", "float.sub": "Sub", "float.mul": "Mul", "float.truediv": "Div", "float.neg": "Neg",
    "float.abs": "Abs", "math.fabs": "Abs", "bool.not": "Not", "bool.and_": "And", "bool.or_": "Or", "bool.xor": "Xor",
    "bool.eq": "Equal", "math.sqrt": "Sqrt", "math.exp": "Exp", "math.log": "Log", "math.tanh": "Tanh", "math.sin": "Sin",
    "math.cos": "Cos", "math.isnan": "IsNaN", "math.isinf": "IsInf", "int.and_": "BitwiseAnd", "int.or_": "BitwiseOr",
    "int.xor": "BitwiseXor", "int.invert": "BitwiseNot", "float.pow": "Pow", "math.pow": "Pow",
}, numbers=True)  # fmt: skip
_COMPARE = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
simple({f"{kind}.{n}": node for kind in ("int", "float") for n, node in _COMPARE.items()}, numbers=True)
for _name in ("int.ne", "float.ne", "bool.ne"):
    ROWS[_name] = lambda c: c("Not", c("Equal", c[0], c[1]))
for _name, _dtype in (
    ("int.to_float", "f64"), ("int.to_bool", "bool"), ("float.to_bool", "bool"), ("bool.to_int", "i64"),
    ("bool.to_float", "f64"), ("float.to_int", "i64"), ("math.trunc", "i64"),
):  # fmt: skip
    ROWS[_name] = lambda c, dtype=_dtype: c.graph.cast(c[0], dtype)  # type: ignore[misc]
for _name, _node in (("math.floor", "Floor"), ("math.ceil", "Ceil"), ("float.round", "Round")):
    ROWS[_name] = lambda c, node=_node: c.graph.cast(c(node, c[0]), "i64")  # type: ignore[misc]


def nonzero_divisor(g: Builder, divisor: str) -> str:
    """Return an int divisor. A division by zero stops the model, where a kernel would stop the process."""
    if g.known(divisor):
        return divisor
    is_zero = g.cast(g.node("Equal", divisor, g.constant(0, "i64")), "i64")
    return g.node("Gather", g.node("Unsqueeze", divisor, g.ints(0)), is_zero, axis=0)


def floor_divide(g: Builder, a: str, b: str) -> str:
    """Return Python's `a // b` of ints."""
    b = nonzero_divisor(g, b)
    return g.node("Div", g.node("Sub", a, g.node("Mod", a, b)), b)


@row("int.floordiv")
def floordiv(c: Call) -> str:
    return floor_divide(c.graph, c[0], c[1])


@row("int.mod")
def mod(c: Call) -> str:
    return c("Mod", c[0], nonzero_divisor(c.graph, c[1]))


@row("mixed.eq", "mixed.ne", "mixed.lt", "mixed.le", "mixed.gt", "mixed.ge")
def mixed(c: Call) -> str:
    """Compare an int with a float exactly, as Python does: with the float's floor, where that is an int64."""
    g, kind = c.graph, c.op.name.partition(".")[2]
    inside = c("And", c("GreaterOrEqual", c[1], g.constant(-(2.0**63), "f64")), c("Less", c[1], g.constant(2.0**63, "f64")))
    far = c("Not", inside)  # true for NaN
    near = c("Where", far, g.constant(0, "f64"), c[1])
    whole = c("Floor", near)
    least, part = g.cast(whole, "i64"), c("Greater", near, whole)
    at = c("Equal", c[0], least)
    equal, less = c("And", at, c("Not", part)), c("Or", c("Less", c[0], least), c("And", at, part))
    close = {
        "eq": equal, "ne": c("Not", equal), "lt": less, "le": c("Or", less, equal), "gt": c("Not", c("Or", less, equal)),
        "ge": c("Not", less),
    }[kind]  # fmt: skip
    zero = g.constant(0, "f64")  # compares with a float that far as every int does
    apart = c("Not", c("Equal", zero, c[1])) if kind == "ne" else c(_COMPARE[kind], zero, c[1])
    chosen = c("Where", far, g.cast(apart, "u8"), g.cast(close, "u8"))
    return g.cast(chosen, "bool")


@row("int.pow")
def power(c: Call) -> str:
    return c("Pow", c[0], c[1])


@row("int.lshift")
def left_shift(c: Call) -> str:
    return c("Mul", c[0], c("Pow", c.graph.constant(2, "i64"), c[1]))


@row("int.rshift")
def right_shift(c: Call) -> str:
    g = c.graph
    most, two = g.constant(62, "i64"), g.constant(2, "i64")
    once = floor_divide(g, c[0], c("Pow", two, c("Min", c[1], most)))
    rest = c("Pow", two, c("Min", c("Max", c("Sub", c[1], most), g.constant(0, "i64")), g.constant(1, "i64")))
    return floor_divide(g, once, rest)


@row("float.min", "float.max")
def extreme(c: Call) -> str:
    second = c("Less", c[1], c[0]) if c.op.name == "float.min" else c("Greater", c[1], c[0])  # as Python compares NaN
    return c("Where", second, c[1], c[0])


@row("math.isfinite")
def is_finite(c: Call) -> str:
    return c("Not", c("Or", c("IsNaN", c[0]), c("IsInf", c[0])))


@row("math.log2", "math.log10")
def logarithm(c: Call) -> str:
    return c("Div", c("Log", c[0]), c.graph.constant(math.log(2 if c.op.name == "math.log2" else 10), "f64"))


@row("math.tan", "math.cosh")
def by_other_functions(c: Call) -> str:
    if c.op.name == "math.tan":  # runtimes have no Tan of doubles
        return c("Div", c("Sin", c[0]), c("Cos", c[0]))
    up, down = c("Exp", c[0]), c("Exp", c("Neg", c[0]))
    return c("Mul", c("Add", up, down), c.graph.constant(0.5, "f64"))


@row("math.copysign")
def copysign(c: Call) -> str:
    size, zero = c("Abs", c[0]), c.graph.constant(0, "f64")
    negative = c("Or", c("Less", c[1], zero), c("And", c("Equal", c[1], zero), c("Less", c("Reciprocal", c[1]), zero)))
    return c("Where", negative, c("Neg", size), size)


@row("int.truediv")
def truediv(c: Call) -> str:
    return c("Div", c.graph.cast(c[0], "f64"), c.graph.cast(nonzero_divisor(c.graph, c[1]), "f64"))


@row("item.float", "item.int", "item.bool")
def item(c: Call) -> str:
    return c.graph.cast(c("Reshape", c[0], c.graph.ints()), c.dtype)
