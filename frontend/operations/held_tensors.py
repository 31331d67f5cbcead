"""How many names and containers hold a tensor that the function made."""

from __future__ import annotations

from collections.abc import Iterable

from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import ssa_value
from scriptc.frontend.values.verbs import held_values
from scriptc.ir.core import Value


def is_held(value: Value, held: Iterable[AbstractValue], names: int) -> bool:
    """Whether so many names hold a value, and no list or object at run time. held: what all names are bound to."""
    if not all(op.has("PURE") or op.name.startswith(("check", "copy_")) for op in value.users()):
        return False
    return sum(holds(av, value) for av in held) == names


def holds(av: AbstractValue, value: Value) -> int:
    """In how many places a value stands in what a name is bound to; what cannot be looked into counts as one."""
    if (own := ssa_value(av)) is not None:
        return int(own is value)
    parts = held_values(av)
    return 1 if parts is None else sum(holds(part, value) for part in parts)

