"""Caught exceptions, and the cells that carry values to handlers.

`try` runs its first region. If an op in the region raises, the second region runs with the exception. The `yield` of
either gives the results. The second region does not see values of the first; a handler gets them through cells, which
the first region writes at each change.
"""

from __future__ import annotations

from scriptc.ir.opdef import ALL_PHASES, OpDef, TypeRuleError
from scriptc.ir.ops.rules import Attrs, Operands, fixed, given
from scriptc.ir.types import BOOL, CellType, Type

_CELL = frozenset({"cell"})


def _get(operands: Operands, attrs: Attrs) -> tuple[Type, ...]:
    t = operands[0].type
    if not isinstance(t, CellType):
        raise TypeRuleError(f"expected a cell, not {t}")
    return (t.item,)


ROWS = [
    OpDef("try", "() -> Value", given, frozenset({"CONTROL"}), emit="try_", phases=ALL_PHASES),
    # Raises an exception again, with its first location.
    OpDef("reraise", "(Value exception) -> ()", fixed(), frozenset({"TERMINATOR"}), raises=True, emit="reraise",
          phases=ALL_PHASES),
    # Returns whether an exception is of one of the classes or, if not `exact`, of a derived class.
    OpDef("exc.is", "(Value exception, *, str[] classes, bool exact) -> Value", fixed(BOOL), frozenset({"PURE"}),
          emit="exc_is"),
    OpDef("cell.new", "(Value initial) -> Value", given, frozenset({"ALLOCATES"}), emit="cell_new"),
    OpDef("cell.get", "(Value cell) -> Value", _get, frozenset({"PURE", "FETCHES"}), reads=_CELL, emit="cell_get"),
    OpDef("cell.set", "(Value cell, Value value) -> ()", fixed(), writes=_CELL, emit="cell_set"),
]  # fmt: skip
