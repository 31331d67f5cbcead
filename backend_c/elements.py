"""The C of one element of an elementwise op: conversions, numbers, and the templates of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from scriptc.backend_c.expressions import Expression, Form, Template, read_template
from scriptc.backend_c.literals import c_float, c_int, signed
from scriptc.ir.core import Op, Value
from scriptc.ir.dtypes import C_TYPES, COMPLEX, FLOATING, PARTS, category
from scriptc.ir.errors import InternalError
from scriptc.ir.ops import OPS
from scriptc.ir.types import TensorType

HALF = {"f16", "bf16"}
NO_LITERALS = HALF | {"bool", "u8"}  # comparing these with a literal may draw a warning that it is always true
_KINDS = ("bool", "int", "float", "complex")


def dtype_of(value: Value) -> str | None:
    """Return the dtype of a tensor, or None for a Python number."""
    return value.type.dtype if isinstance(value.type, TensorType) else None


def work_dtype(op: Op) -> str:
    """Return the dtype that an op computes in.

    This is the dtype of the result, but that of the operands where the result is a predicate or a part of complex
    elements.
    """
    result, operands = dtype_of(op.result), [d for v in op.operands if (d := dtype_of(v))]
    assert result is not None
    return operands[-1] if result == "bool" or COMPLEX.intersection(operands) else result


def is_cast(op: Op) -> bool:
    return op.defn.c == "cast"


@cache
def cast_template(source: str, target: str) -> Template:
    """Return the template of a conversion between two compute or element types."""
    if target == source:
        return read_template("{0}")
    if source in COMPLEX and target not in COMPLEX | {"bool"}:
        return cast_template(PARTS[source], target).around(_conversion("real"))
    if target in HALF:
        single = read_template("{0}") if source == "f32" else _conversion("number", T="float")
        return _conversion("to_half", target=target).around(single)
    if source in HALF:
        return cast_template("f32", target).around(_conversion("from_half", source=source))
    if target == "bool":
        return _conversion("nonzero")
    if source in FLOATING and target not in FLOATING | COMPLEX:
        if target in ("i64", "i32"):
            return _conversion("whole", source=source, target=target)
        whole = "i64" if (source, target) == ("f64", "u8") else "i32"  # as in sc_cast.h
        return _conversion("number", T=C_TYPES[target]).around(_conversion("whole", source=source, target=whole))
    return _conversion("number", T=C_TYPES[target])


def _conversion(name: str, **types: str) -> Template:
    c = OPS["c.cast"].c
    assert isinstance(c, Mapping)
    return read_template(c[name], **types)


@cache
def element_template(name: str, work: str) -> tuple[Template, tuple[int, ...]]:
    """Return the C of one element in a dtype, and which operands of the row its {0}, {1}, ... are."""
    row = OPS[name]
    c = row.c
    if isinstance(c, Mapping):
        kind = _KINDS[category(work)]
        if kind not in c:
            raise InternalError(f"{name} has no {kind} form")
        c = c[kind]
    return read_template(str(c), t=work, T=C_TYPES[work]).renumbered()


def number_literal(value: bool | int | float, dtype: str) -> Expression:
    """Return a Python number as an element, exactly as a conversion at run time would give it."""
    if dtype in FLOATING:
        return signed(c_float(float(value), dtype))
    if dtype == "bool":
        return Expression("true" if value else "false")
    if isinstance(value, float):
        return cast_template("f64", dtype).fill(lambda i: signed(c_float(value)))
    number = c_int(int(value))
    whole = Expression(number) if value >= 0 else Expression(f"({number})", Form.GROUP)
    return _conversion("number", T=C_TYPES[dtype]).fill(lambda i: whole)
