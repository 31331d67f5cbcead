"""The C of expressions of the loop IR, from the templates of the rows: {0}, {1}, ... are operands, {{ and }} are braces."""

from __future__ import annotations

from functools import cache

from scriptc.backend_c.arguments import call_template
from scriptc.backend_c.ctypes import list_member
from scriptc.backend_c.elements import cast_text, element_template, number_literal
from scriptc.backend_c.literals import c_const, c_string
from scriptc.ir.core import Op
from scriptc.ir.dtypes import C_TYPES
from scriptc.ir.ops import OPS
from scriptc.ir.types import ElemType, PtrType, Type

_NARROW = frozenset({"u8", "i8", "i16"})  # C computes in int


def template(op: Op) -> str:
    """Return the C of an expression, or of the arguments of a call; "" for ops that the printer spells by itself."""
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(op)
    if op.has("EXPRESSION") and isinstance(op.defn.c, str):
        return _filled(op, op.defn.c)
    return ""


def constant(op: Op) -> str:
    """Return the C of a constant other than a string."""
    t, value = op.result.type, op.attrs["value"]
    return number_literal(value, t.dtype) if isinstance(t, ElemType) else c_const(value)


def _filled(op: Op, text: str) -> str:
    """The template with the attributes of an op in it."""
    for name, value in op.attrs.items():
        if f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", _attribute(name, value))
    if "{member}" in text:
        text = text.replace("{member}", list_member(op.result.type))
    if "{T}" in text:
        assert isinstance(op.result.type, PtrType)
        text = text.replace("{T}", "uint8_t" if op.result.type.dtype == "bool" else C_TYPES[op.result.type.dtype])
    return text


def _attribute(name: str, value: object) -> str:
    if name == "leaf":
        return "" if value == -1 else f".l->items[{value}]"
    if isinstance(value, tuple):  # names, each of which ends in NUL
        return c_string("".join(f"{item}\0" for item in value))
    return c_const(value)


def _computed(op: Op) -> str:
    t = op.result.type
    return _row_template(op.attrs["of"], op.attrs.get("dtype"), t.dtype if isinstance(t, ElemType) else None)


@cache
def _row_template(name: str, dtype: str | None, result: str | None) -> str:
    if dtype is None:
        return str(OPS[name].c)
    text, _ = element_template(name, dtype)
    return f"({C_TYPES[result]}){text}" if result in _NARROW else text


def _cast(op: Op) -> str:
    return cast_text(_number(op.operands[0].type), _number(op.result.type))


def _number(t: Type) -> str:
    """The dtype of an element, or that in which a Python number is held, whose name its type has."""
    return t.dtype if isinstance(t, ElemType) else str(t)


def _product(op: Op) -> str:
    factor = op.attrs["factor"]
    texts = [*(f"{{{i}}}" for i in range(len(op.operands))), *([str(factor)] if factor != 1 else [])]
    return f"({' * '.join(texts)})" if len(texts) > 1 else texts[0]


def _offset(op: Op) -> str:
    assert isinstance(op.defn.c, dict)
    step = op.attrs["step"]
    return _filled(op, op.defn.c["operand" if step is None else "one" if step == 1 else "number"])


_SPECIAL = {
    "c.expr": _computed, "c.cast": _cast, "c.product": _product, "c.offset": _offset, "c.call": call_template,
    "c.view": call_template,
}  # fmt: skip
