"""Elementwise ops on tensors. A number as an operand is converted to the element type of the tensor."""

from __future__ import annotations

from scriptc.ir.types import TensorType
from scriptc.onnx.writing.builder import Unsupported, dtype_of
from scriptc.onnx.writing.operators.rows import ROWS, Call, row, simple

simple({
    "tanh": "Tanh", "sigmoid": "Sigmoid", "exp": "Exp", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "erf": "Erf", "log": "Log", "sqrt": "Sqrt",
    "reciprocal": "Reciprocal", "neg": "Neg", "abs": "Abs", "sub": "Sub", "div": "Div", "pow": "Pow",
})  # fmt: skip
_FLOATS = ("f16", "bf16", "f32", "f64")


def _bools(name: str, other: str, of_bools: str) -> None:
    def made(c: Call) -> str:
        a, b = c.common(0, 1)
        return c(of_bools if c.dtype == "bool" else other, a, b)

    ROWS[name] = made


for _name, _other, _of_bools in (
    ("add", "Add", "Or"), ("mul", "Mul", "And"), ("maximum", "Max", "Or"), ("minimum", "Min", "And"),
    ("clamp.min", "Max", "Or"), ("clamp.max", "Min", "And"), ("bitwise_and", "BitwiseAnd", "And"),
    ("bitwise_or", "BitwiseOr", "Or"), ("bitwise_xor", "BitwiseXor", "Xor"),
):  # fmt: skip
    _bools(_name, _other, _of_bools)
for _name, _node in (("floor", "Floor"), ("ceil", "Ceil"), ("round", "Round")):
    ROWS[_name] = lambda c, node=_node: c(node, c[0]) if c.dtype in _FLOATS else c("Identity", c[0])  # type: ignore[misc]


@row("eq")
def eq(c: Call) -> str:
    return c("Equal", *c.common(0, 1))


@row("ne")
def ne(c: Call) -> str:
    return c("Not", c("Equal", *c.common(0, 1)))


@row("logical_and", "logical_or", "logical_xor")
def logical(c: Call) -> str:
    node = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}[c.op.name]
    return c(node, c.in_dtype(0, "bool"), c.in_dtype(1, "bool"))


@row("logical_not")
def logical_not(c: Call) -> str:
    return c("Not", c.in_dtype(0, "bool"))


@row("bitwise_not")
def bitwise_not(c: Call) -> str:
    return c("Not" if c.dtype == "bool" else "BitwiseNot", c[0])


@row("relu")
def relu(c: Call) -> str:
    return c("Relu", c[0]) if c.dtype in _FLOATS else c("Max", c[0], c.graph.constant(0, c.dtype))


@row("sign")
def sign(c: Call) -> str:
    if c.dtype == "bool":
        return c("Identity", c[0])
    made = c("Sign", c[0])
    return c("Where", c("IsNaN", c[0]), c.graph.constant(0, c.dtype), made) if c.dtype in _FLOATS else made


@row("pow.number")
def power(c: Call) -> str:
    exponent = c.op.operands[1].op
    known = exponent.attrs["value"] if exponent is not None and exponent.name == "const" else None
    if known in (0.5, -0.5) and c.dtype in _FLOATS:
        root = c("Sqrt", c.in_dtype(0, c.dtype))
        return root if known > 0 else c("Reciprocal", root)
    return c("Pow", *c.common(0, 1))


@row("lt", "le", "gt", "ge")
def order(c: Call) -> str:
    node = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}[c.op.name]
    a, b = c.common(0, 1)
    if any(isinstance(v.type, TensorType) and v.type.dtype == "bool" for v in c.op.operands):
        a, b = (c.graph.cast(n, "i32") for n in (a, b))
    return c(node, a, b)


@row("rsqrt")
def rsqrt(c: Call) -> str:
    return c("Reciprocal", c("Sqrt", c[0]))


@row("trunc")
def trunc(c: Call) -> str:
    if c.dtype not in _FLOATS:
        return c("Identity", c[0])
    return c("Where", c("Less", c[0], c.graph.constant(0, c.dtype)), c("Ceil", c[0]), c("Floor", c[0]))


@row("isnan", "isinf")
def is_special(c: Call) -> str:
    if dtype_of(c.type(0)) not in _FLOATS:
        return c("Expand", c.graph.constant(False, "bool"), c("Shape", c[0]))
    return c("IsNaN" if c.op.name == "isnan" else "IsInf", c[0])


@row("remainder")
def remainder(c: Call) -> str:
    a, b = c.common(0, 1)
    if c.dtype not in _FLOATS:
        if not c.nonzero(1):
            raise Unsupported("a remainder of whole tensors may divide by zero", "divide by a number, or compute it in floats")
        return c("Mod", a, b)
    r = c("Mod", a, b, fmod=1)
    zero = c.graph.constant(0, c.dtype)
    other = c("And", c("Not", c("Equal", r, zero)), c("Xor", c("Less", r, zero), c("Less", b, zero)))
    return c("Where", other, c("Add", r, b), r)


@row("where")
def where(c: Call) -> str:
    dtype = "u8" if c.dtype == "bool" else c.dtype  # runtimes have no Where of bools
    made = c("Where", c[0], c.in_dtype(1, dtype), c.in_dtype(2, dtype))
    return made if dtype == c.dtype else c.graph.cast(made, c.dtype)


@row("fill")
def fill(c: Call) -> str:
    return c("Expand", c.in_dtype(1, c.dtype), c("Shape", c[0]))


@row("cast")
def cast(c: Call) -> str:
    return c.graph.cast(c[0], c.dtype)


@row("clone", "contiguous", "plain", "alias")
def same(c: Call) -> str:
    return c("Identity", c[0])
