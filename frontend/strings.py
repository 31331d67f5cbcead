"""Operators on strings of which some are known only at run time, and their characters."""

from __future__ import annotations

from typing import NoReturn

from scriptc.frontend.context import Context
from scriptc.frontend.text import Texts
from scriptc.frontend.values import AV, Dyn, Known, OneOf, Tup, is_run_time_text, is_text
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, INT

_COMPARE = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}


class Strings(Texts, Context):
    """Mixin: operators, comparisons and items of strings."""

    def text_operator(self, op: str, a: AV, b: AV) -> AV | None:
        """`a op b` where it is an operator of strings of which some are made at run time; None where it is not."""
        if op == "Add" and is_text(a) and is_text(b) and (is_run_time_text(a) or is_run_time_text(b)):
            return self.op("str.concat", a, b)
        if isinstance(a, OneOf) or isinstance(b, OneOf) or (isinstance(a, Known) and isinstance(b, Known)):
            return None
        if op == "Mult" and (is_text(a) or is_text(b)):
            text, times = (a, b) if is_text(a) else (b, a)
            if self.type_of(times) in (INT, BOOL):
                return Dyn(self.build("str.repeat", [self.value(text), self.integer(times)]))
        if op == "Mod" and is_text(a):
            return self.percent(self.known(a, "a format"), b)
        return None

    def compare_texts(self, op: str, a: AV, b: AV) -> AV:
        """`a op b` of two strings, one of which is made at run time."""
        if op in ("Eq", "NotEq"):
            self.prefer_known(a, b)
            self.prefer_known(b, a)
        return self.op(f"str.{_COMPARE[op]}", a, b)

    def text_contains(self, item: AV, text: AV) -> AV:
        if not is_text(item):
            name = self.type_name(item)
            self.raises_at_run_time("TypeError", f"'in <string>' requires string as left operand, not {name}")
        return self.op("str.contains", text, item)

    def text_item(self, text: AV, index: AV) -> AV:
        """text[index]"""
        if isinstance(index, (Tup, Known)) and not isinstance(getattr(index, "obj", None), int):
            if not self.is_slice(index):
                self.raises_at_run_time("TypeError", f"string indices must be integers, not '{self.type_name(index)}'")
            start, stop, step = self.slice_bounds(index)
            if step.op is None or step.op.name != "const":
                self.check_that(self.compare("NotEq", Dyn(step), Known(0)), "ValueError", "slice step cannot be zero")
            elif step.op.attrs["value"] == 0:
                self.raises_at_run_time("ValueError", "slice step cannot be zero")
            return Dyn(self.build("str.slice", [self.value(text), start, stop, step]))
        if self.type_of(index) not in (INT, BOOL):
            self.bad_index(index)
        return Dyn(self.build("str.chr", [self.build("str.code", [self.value(text), self.integer(index)])]))

    def bad_index(self, index: AV) -> NoReturn:
        self.raises_at_run_time("TypeError", f"string indices must be integers, not '{self.type_name(index)}'")

    def character(self, text: Value, index: Value) -> AV:
        """text[index] for an index that lies within it."""
        return Dyn(self.build("str.chr", [self.build("str.code_at", [text, index])]))
