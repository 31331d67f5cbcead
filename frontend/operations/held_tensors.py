"""How many names and containers hold a tensor that the function made."""

from __future__ import annotations

from collections.abc import Iterable

from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    DictValue,
    GeneratorValue,
    IteratorValue,
    Known,
    KnownLengthListValue,
    ListValue,
    MaybeUnbound,
    ObjectValue,
    OneOf,
    PartialValue,
    RangeValue,
    ReversedValue,
    RuntimeValue,
    TupleValue,
    Unbound,
    ZipValue,
)
from scriptc.ir.core import Value


def is_held(value: Value, held: Iterable[AbstractValue], names: int) -> bool:
    """Whether so many names hold a value, and no list or object at run time. held: what all names are bound to."""
    if not all(op.has("PURE") or op.name.startswith(("check", "copy_")) for op in value.users()):
        return False
    return sum(holds(av, value) for av in held) == names


def holds(av: AbstractValue, value: Value) -> int:
    """In how many places a value stands in what a name is bound to; what cannot be looked into counts as one."""
    if isinstance(av, RuntimeValue):
        return int(av.value is value)
    parts = _parts(av)
    return 1 if parts is None else sum(holds(part, value) for part in parts)


def _parts(av: AbstractValue) -> Iterable[AbstractValue] | None:
    match av:
        case TupleValue(items):
            return items
        case KnownLengthListValue():
            return av.first.values()
        case ListValue():
            return av.items or ()
        case DictValue() | ObjectValue() | Content():
            return av.items.values()
        case OneOf():
            return av.alternatives.values()
        case PartialValue():
            return (av.func, *av.args, *av.kwargs.values())
        case MaybeUnbound():
            return (av.av,)
        case ZipValue(parts):
            return parts
        case ReversedValue(part) | IteratorValue(part) | GeneratorValue(sequence=part):
            return (part,)
        case Known() | RangeValue() | Unbound():
            return ()
    return None  # a function inside, for one, holds what its frame holds
