"""Ints that need no overflow check: counters (`ir.overflow_free`), and values proved to be small (`ir.bounds`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape
from scriptc.ir.core import Op
from scriptc.ir.regions import is_loop

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def checked(low: Lowerer, op: Op) -> Sequence[Shape]:
    """Compute by the `c` of the row if the result is proved to fit; else call its kernel, which may raise."""
    if op.result in low.overflow_free or (op.enclosing(is_loop) and low.bounds.is_exact(op)):
        return [low.computed(op)]
    assert op.defn.kernel is not None
    return low.kernel(op, op.defn.kernel)
