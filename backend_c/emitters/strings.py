"""Strings: concatenation, which may grow in place, and formatted texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c import arguments
from scriptc.backend_c.arguments import REUSE, Args
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape
from scriptc.ir.core import Op
from scriptc.ir.types import STR

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def str_concat(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_str_concat", Args(*low.operands(op), REUSE), STR)


@emitter
def str_push(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_str_push", Args(*low.operands(op), REUSE), STR)


@emitter
def text(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_str_text", Args(arguments.text(op.attrs["format"]), *low.operands(op)), STR)
