"""Python's numbers as 0-d tensors of int64, double and bool. Overflow and domain errors are those of the runtime."""

from __future__ import annotations

from scriptc.onnx.writing.builder import Builder
from scriptc.onnx.writing.operators.rows import ROWS, Call, row, simple

simple({
    "int.add": "Add", "int.sub": "Sub", "int.mul": "Mul", "int.neg": "Neg", "int.abs": "Abs", "int.min": "Min",
    "int.max": "Max", "float.add": "Add", "float.sub": "Sub", "float.mul": "Mul", "float.truediv": "Div", "float.neg": "Neg",
    "float.abs": "Abs", "math.fabs": "Abs", "bool.not": "Not", "bool.and_": "And", "bool.or_": "Or", "bool.xor": "Xor",
    "bool.eq": "Equal", "math.sqrt": "Sqrt", "math.exp": "Exp", "math.log": "Log", "math.tanh": "Tanh", "math.sin": "Sin",
    "math.cos": "Cos", "math.isnan": "IsNaN", "math.isinf": "IsInf",
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


@row("int.truediv")
def truediv(c: Call) -> str:
    return c("Div", c.graph.cast(c[0], "f64"), c.graph.cast(nonzero_divisor(c.graph, c[1]), "f64"))


@row("item.float", "item.int", "item.bool")
def item(c: Call) -> str:
    return c.graph.cast(c("Reshape", c[0], c.graph.ints()), c.dtype)
