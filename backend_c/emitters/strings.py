"""Strings: what grows in place, and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.args import REUSE, Args
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.literals import c_string
from scriptc.backend_c.values import Shape
from scriptc.ir.core import Op
from scriptc.ir.types import STR

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def str_concat(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_str_concat", Args("cx", *low.operands(op), REUSE), STR)


@emitter
def str_push(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_str_push", Args("cx", *low.operands(op), REUSE), STR)


@emitter
def text(low: Lowerer, op: Op) -> Sequence[Shape]:
    format = c_string(op.attrs["format"]).replace("{", "{{").replace("}", "}}")
    return low.call(op, "sc_str_text", Args("cx", format, *low.operands(op)), STR)
