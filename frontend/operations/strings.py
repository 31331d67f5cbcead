"""Operators on run-time strings, and the characters of strings."""

from __future__ import annotations

from typing import NoReturn

from scriptc.frontend.operations.formatting import format_percent
from scriptc.frontend.operations.indices import integer, is_slice, slice_bounds
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.constant_demand import prefer_known, require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue, TupleValue
from scriptc.frontend.values.predicates import has_alternatives, is_known, is_run_time_text, is_text
from scriptc.frontend.values.verbs import class_name_of, materialize, type_of
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, INT

_COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}


def text_operator(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Return `a op b` of strings of which one is made at run time; None for other operands."""
    if op == "Add" and is_text(a) and is_text(b) and (is_run_time_text(a) or is_run_time_text(b)):
        return apply_op(reader, "str.concat", a, b)
    if has_alternatives(a) or has_alternatives(b) or (is_known(a) and is_known(b)):
        return None
    if op == "Mult" and (is_text(a) or is_text(b)):
        text, times = (a, b) if is_text(a) else (b, a)
        if type_of(times) in (INT, BOOL):
            return RuntimeValue(reader.emit.build("str.repeat", [materialize(reader, text), integer(reader, times)]))
    if op == "Mod" and is_text(a):
        return format_percent(reader, require_known(reader, a, "a format"), b)
    return None


def compare_texts(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return `a op b` of two strings of which one is made at run time."""
    if op in ("Eq", "NotEq"):
        prefer_known(reader, a, b)
        prefer_known(reader, b, a)
    return apply_op(reader, f"str.{_COMPARE[op]}", a, b)


def text_contains(reader: Reader, item: AbstractValue, text: AbstractValue) -> AbstractValue:
    if not is_text(item):
        name = class_name_of(reader, item)
        reader.emit.raise_error("TypeError", f"'in <string>' requires string as left operand, not {name}")
    return apply_op(reader, "str.contains", text, item)


def text_item(reader: Reader, text: AbstractValue, index: AbstractValue) -> AbstractValue:
    """Return `text[index]`."""
    if isinstance(index, (TupleValue, Known)) and not isinstance(getattr(index, "obj", None), int):
        if not is_slice(index):
            reader.emit.raise_error(
                "TypeError", f"string indices must be integers, not '{class_name_of(reader, index)}'"
            )
        start, stop, step = slice_bounds(reader, index)
        if step.op is None or step.op.name != "const":
            check_that(
                reader, reader.compare("NotEq", RuntimeValue(step), Known(0)), "ValueError", "slice step cannot be zero"
            )
        elif step.op.attrs["value"] == 0:
            reader.emit.raise_error("ValueError", "slice step cannot be zero")
        return RuntimeValue(reader.emit.build("str.slice", [materialize(reader, text), start, stop, step]))
    if type_of(index) not in (INT, BOOL):
        bad_index(reader, index)
    return RuntimeValue(
        reader.emit.build(
            "str.chr", [reader.emit.build("str.code", [materialize(reader, text), integer(reader, index)])]
        )
    )


def bad_index(reader: Reader, index: AbstractValue) -> NoReturn:
    reader.emit.raise_error("TypeError", f"string indices must be integers, not '{class_name_of(reader, index)}'")


def character(reader: Reader, text: Value, index: Value) -> AbstractValue:
    """Return `text[index]` for an index in bounds."""
    return RuntimeValue(reader.emit.build("str.chr", [reader.emit.build("str.code_at", [text, index])]))
