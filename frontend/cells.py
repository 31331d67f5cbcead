"""What containers hold, while it is being found: types with cells that are united where containers meet."""

from __future__ import annotations

from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    Container,
    DictType,
    Elem,
    JoinError,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    cells,
    join,
)

_SCALARS = (INT, FLOAT, BOOL, STR)


def is_storable(t: Type) -> bool:
    """Whether run-time containers may hold values of a type."""
    if isinstance(t, TupleType):
        return bool(t.items) and all(i != NEVER and is_storable(i) for i in t.items)
    if isinstance(t, OptionalType):
        return is_storable(t.item)
    return t in (*_SCALARS, NEVER, NONE) or isinstance(t, (TensorType, Container))


def is_hashable(t: Type) -> bool:
    """Whether values of a type may be keys at run time."""
    if isinstance(t, TupleType):
        return all(map(is_hashable, t.items))
    return t in _SCALARS


def unite(a: Type, b: Type) -> Type:
    """The join of two types, in which containers that stand for one another are found together from here on."""
    match a, b:
        case (ListType(), ListType()) | (DictType(), DictType()) | (SetType(), SetType()):
            for x, y in zip(cells(a), cells(b), strict=True):
                _link(x.find(), y.find())
            return a
        case TupleType(xs), TupleType(ys) if len(xs) == len(ys):
            return TupleType(tuple(map(unite, xs, ys)))
        case (OptionalType(), OptionalType()):
            return OptionalType(unite(a.item, b.item))
        case (OptionalType(), other) | (other, OptionalType()) if other not in (NONE, NEVER):
            held = a if isinstance(a, OptionalType) else b
            assert isinstance(held, OptionalType)
            return OptionalType(unite(held.item, other))
    return join(a, b)


def _link(left: Elem, right: Elem) -> None:
    if left is right:
        return
    if left.python != right.python:
        raise JoinError("containers of different classes")
    joined = unite(left.type, right.type)
    left.stale |= right.stale or any(cell.observed and cell.type != joined for cell in (left, right))
    left.type = joined
    left.fixed |= right.fixed
    left.observed |= right.observed
    right.link = left


def fresh(t: Type) -> Type:
    """The same type with cells of its own."""
    match t:
        case ListType(cell):
            return ListType(_copy(cell))
        case DictType(key, cell):
            return DictType(_copy(key), _copy(cell))
        case SetType(key):
            return SetType(_copy(key))
        case TupleType(items):
            return TupleType(tuple(map(fresh, items)))
        case OptionalType(item):
            return OptionalType(fresh(item))
    return t


def _copy(cell: Elem) -> Elem:
    cell = cell.find()
    return Elem(fresh(cell.type), python=cell.python)
