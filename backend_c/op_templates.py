"""The templates of the expressions of the loop IR, from the rows."""

from __future__ import annotations

from functools import cache

from scriptc.backend_c.arguments import call_template
from scriptc.backend_c.c_types import list_member
from scriptc.backend_c.elements import cast_template, element_template, number_literal
from scriptc.backend_c.expressions import Expression, Template, read_template
from scriptc.backend_c.literals import c_const, c_string
from scriptc.ir.core import Op
from scriptc.ir.dtypes import C_TYPES
from scriptc.ir.ops import OPS
from scriptc.ir.types import ElemType, PtrType, Type

_NARROW = frozenset({"u8", "i8", "i16"})  # C promotes these to int


def template(op: Op) -> Template:
    """Return the template of an expression or of the arguments of a view; an empty one for other ops."""
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(op)
    if op.has("EXPRESSION") and isinstance(op.defn.c, str):
        return _bound(op, op.defn.c)
    return Template(())


def constant(op: Op) -> Expression:
    """Return the C of a constant other than a string."""
    t, value = op.result.type, op.attrs["value"]
    return number_literal(value, t.dtype) if isinstance(t, ElemType) else c_const(value)


def _bound(op: Op, text: str) -> Template:
    """Return a template of a row with the attributes and the types of an op in it."""
    fields = tuple((name, _attribute(name, value)) for name, value in op.attrs.items())
    return _with_fields(text, fields, op.result.type)


@cache
def _with_fields(text: str, attributes: tuple[tuple[str, str], ...], result: Type) -> Template:
    fields = dict(attributes)
    if "{member}" in text:
        fields["member"] = list_member(result)
    if isinstance(result, PtrType):
        fields["T"] = "uint8_t" if result.dtype == "bool" else C_TYPES[result.dtype]
    return read_template(text, **fields)


def _attribute(name: str, value: object) -> str:
    if name == "leaf":
        return "" if value == -1 else f".l->items[{value}]"
    if isinstance(value, tuple):  # names, each of which ends in NUL
        return c_string("".join(f"{item}\0" for item in value))
    return "" if value is None else c_const(value).text


def _computed(op: Op) -> Template:
    t = op.result.type
    return _row_template(op.attrs["of"], op.attrs.get("dtype"), t.dtype if isinstance(t, ElemType) else None)


@cache
def _row_template(name: str, dtype: str | None, result: str | None) -> Template:
    if dtype is None:
        return read_template(str(OPS[name].c))
    found, _ = element_template(name, dtype)
    return cast_template("i32", str(result)).around(found) if result in _NARROW else found


def _cast(op: Op) -> Template:
    return cast_template(_number(op.operands[0].type), _number(op.result.type))


def _number(t: Type) -> str:
    """Return the dtype of an element, or the dtype that holds a Python number, which the name of its type is."""
    return t.dtype if isinstance(t, ElemType) else str(t)


def _product(op: Op) -> Template:
    factor = op.attrs["factor"]
    texts = [*(f"{{{i}}}" for i in range(len(op.operands))), *([str(factor)] if factor != 1 else [])]
    return read_template(f"({' * '.join(texts)})" if len(texts) > 1 else texts[0])


def _offset(op: Op) -> Template:
    assert isinstance(op.defn.c, dict)
    step = op.attrs["step"]
    return _bound(op, op.defn.c["operand" if step is None else "one" if step == 1 else "number"])


_SPECIAL = {
    "c.expr": _computed, "c.cast": _cast, "c.product": _product, "c.offset": _offset, "c.view": call_template,
}  # fmt: skip
