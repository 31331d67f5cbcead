"""Ints whose operations need no test for overflow: they only count (`ir.counts`), or are proved to be small (`ir.bounds`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.values import Shape
from scriptc.ir.core import Op
from scriptc.ir.regions import is_loop

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def int_add(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _checked(low, op, "+")


@emitter
def int_sub(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _checked(low, op, "-")


@emitter
def int_mul(low: Lowerer, op: Op) -> Sequence[Shape]:
    return _checked(low, op, "*")


def _checked(low: Lowerer, op: Op, sign: str) -> Sequence[Shape]:
    if op.result in low.counts or (op.enclosing(is_loop) and low.bounds.is_exact(op)):
        return [low.expr(f"({{0}} {sign} {{1}})", low.operands(op), op.result.type, op)]
    return low.kernel(op, f"sc_{op.name.replace('.', '_')}")
