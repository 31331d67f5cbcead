"""One element of an elementwise op in C: conversions between element types, numbers, and the templates of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from scriptc.backend_c.literals import c_float, c_int
from scriptc.ir.core import Op, Value
from scriptc.ir.dtypes import C_TYPES, COMPLEX, FLOATING, PARTS, category
from scriptc.ir.errors import InternalError
from scriptc.ir.ops import OPS
from scriptc.ir.types import TensorType

HALF = {"f16", "bf16"}
NO_LITERALS = HALF | {"bool", "u8"}  # comparing these with a literal may draw a warning that it is always true
_KINDS = ("bool", "int", "float", "complex")


def dtype_of(value: Value) -> str | None:
    """The dtype of a tensor, None for a Python number."""
    return value.type.dtype if isinstance(value.type, TensorType) else None


def work_dtype(op: Op) -> str:
    """The dtype that an op is about: that of its result, or of its operands where the result is a predicate's or a part of
    complex ones."""
    result, operands = dtype_of(op.result), [d for v in op.operands if (d := dtype_of(v))]
    assert result is not None
    return operands[-1] if result == "bool" or COMPLEX.intersection(operands) else result


def is_cast(op: Op) -> bool:
    return op.defn.c == "cast"


def cast_text(source: str, target: str) -> str:
    """A conversion between compute or element types; {0} is a `source`."""
    if target == source:
        return "{0}"
    if source in COMPLEX and target not in COMPLEX | {"bool"}:
        return cast_text(PARTS[source], target).replace("{0}", "__real__ ({0})")
    if target in HALF:
        return f"sc_f32_to_{target}({{0}})" if source == "f32" else f"sc_f32_to_{target}((float){{0}})"
    if source in HALF:
        return cast_text("f32", target).replace("{0}", f"sc_{source}_to_f32({{0}})")
    if target == "bool":
        return "({0} != 0)"
    if source in FLOATING and target not in FLOATING | COMPLEX:
        if target == "i64":
            return f"sc_{source}_to_i64({{0}})"
        text = f"sc_{source}_to_i32({{0}})"
        return text if target == "i32" else f"({C_TYPES[target]}){text}"
    return f"({C_TYPES[target]}){{0}}"


@cache
def element_template(name: str, work: str) -> tuple[str, tuple[int, ...]]:
    """Return what computes one element in a dtype, and which operands of the row its {0}, {1}, ... are."""
    row = OPS[name]
    c = row.c
    if isinstance(c, Mapping):
        kind = _KINDS[category(work)]
        if kind not in c:
            raise InternalError(f"{name} has no {kind} form")
        c = c[kind]
    text = str(c).replace("{t}", work).replace("{T}", C_TYPES[work])
    used = tuple(i for i in range(len(row.args)) if f"{{{i}}}" in text)
    for position, i in enumerate(used):
        text = text.replace(f"{{{i}}}", f"{{{position}}}")
    return text, used


def number_literal(value: bool | int | float, dtype: str) -> str:
    """A Python number as an element, exactly as a conversion at run time would give it."""
    if dtype in FLOATING:
        return c_float(float(value), single=dtype == "f32")
    if dtype == "bool":
        return "true" if value else "false"
    if isinstance(value, float):
        return cast_text("f64", dtype).replace("{0}", c_float(value))
    return f"({C_TYPES[dtype]}){c_int(int(value))}" if value >= 0 else f"({C_TYPES[dtype]})({c_int(int(value))})"
