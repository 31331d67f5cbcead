"""How many names and containers hold a tensor that the function made."""

from __future__ import annotations

from collections.abc import Iterable

from scriptc.frontend.values.abstract import (
    AV,
    Content,
    DictV,
    Dyn,
    GeneratorV,
    IteratorV,
    Known,
    KnownLengthListV,
    ListV,
    Maybe,
    ObjectV,
    OneOf,
    PartialV,
    RangeV,
    ReversedV,
    Tup,
    Unbound,
    ZipV,
)
from scriptc.ir.core import Value


def is_held(value: Value, held: Iterable[AV], names: int) -> bool:
    """Whether so many names hold a value, and no list or object at run time. held: what all names are bound to."""
    if not all(op.has("PURE") or op.name.startswith(("check", "copy_")) for op in value.users()):
        return False
    return sum(holds(av, value) for av in held) == names


def holds(av: AV, value: Value) -> int:
    """In how many places a value stands in what a name is bound to; what cannot be looked into counts as one."""
    if isinstance(av, Dyn):
        return int(av.value is value)
    parts = _parts(av)
    return 1 if parts is None else sum(holds(part, value) for part in parts)


def _parts(av: AV) -> Iterable[AV] | None:
    match av:
        case Tup(items):
            return items
        case KnownLengthListV():
            return av.first.values()
        case ListV():
            return av.items or ()
        case DictV() | ObjectV() | Content():
            return av.items.values()
        case OneOf():
            return av.alternatives.values()
        case PartialV():
            return (av.func, *av.args, *av.kwargs.values())
        case Maybe():
            return (av.av,)
        case ZipV(parts):
            return parts
        case ReversedV(part) | IteratorV(part) | GeneratorV(sequence=part):
            return (part,)
        case Known() | RangeV() | Unbound():
            return ()
    return None  # a function inside, for one, holds what its frame holds
