"""How many names and containers hold a tensor that the function made."""

from __future__ import annotations

from collections.abc import Iterable

from scriptc.frontend.values.abstract import AbstractValue
from scriptc.frontend.values.predicates import ssa_value
from scriptc.frontend.values.verbs import held_values
from scriptc.ir.core import Value


def is_held(value: Value, held: Iterable[AbstractValue], names: int) -> bool:
    """Return whether exactly `names` names hold a value, and no run-time list or object does. `held`: the values of
    all names."""
    if not all(op.has("PURE") or op.name.startswith(("check", "copy_")) for op in value.users()):
        return False
    return sum(holds(av, value) for av in held) == names


def holds(av: AbstractValue, value: Value) -> int:
    """Return how often an SSA value occurs in the value of a name. A value whose parts cannot be listed counts as
    one."""
    if (own := ssa_value(av)) is not None:
        return int(own is value)
    parts = held_values(av)
    return 1 if parts is None else sum(holds(part, value) for part in parts)

