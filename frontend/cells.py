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
    is_tuple,
    join,
    tuple_of,
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
    if isinstance(t, ListType) and t.is_tuple:
        return t.elem == NEVER or is_hashable(t.elem)
    return t in _SCALARS


def unite(a: Type, b: Type) -> Type:
    """The join of two types, in which containers that stand for one another are found together from here on."""
    match a, b:
        case (TupleType() | ListType(), TupleType() | ListType()) if _lengths_differ(a, b):
            return _any_length(a, b)
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


def _lengths_differ(a: TupleType | ListType, b: TupleType | ListType) -> bool:
    """Whether one is a tuple, and not of the length of the other."""
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return len(a.items) != len(b.items)
    return isinstance(a, TupleType) or isinstance(b, TupleType) or a.is_tuple or b.is_tuple


def _any_length(a: TupleType | ListType, b: TupleType | ListType) -> Type:
    """The type of tuples of any length that holds tuples of both types. They are values, so each has cells of its own."""
    elem: Type = NEVER
    for t in (a, b):
        if isinstance(t, ListType) and not t.is_tuple:
            raise JoinError(f"{a} and {b}")
        for item in t.items if isinstance(t, TupleType) else (t.elem,):
            elem = unite(elem, item)
    if any(isinstance(t, ListType) and t.elem != NEVER and _form(t.elem) != _form(elem) for t in (a, b)):
        raise JoinError(f"{a} and {b}")  # what such a tuple holds already is laid out otherwise
    return tuple_of(elem)


def _form(t: Type) -> object:
    """Equal for types whose values are laid out alike."""
    if isinstance(t, TupleType):
        return tuple(map(_form, t.items))
    if isinstance(t, OptionalType):
        return "optional", _form(t.item)
    return "none" if t == NONE else "value"


def length_is_lost(held: Type, wanted: Type) -> bool:
    """Whether values of a type become, in a place of another, tuples of any length, which have a form of their own."""
    if isinstance(held, TupleType):
        return is_tuple(wanted) or (
            isinstance(wanted, TupleType) and any(map(length_is_lost, held.items, wanted.items))
        )
    if isinstance(held, OptionalType):
        return isinstance(wanted, OptionalType) and length_is_lost(held.item, wanted.item)
    return isinstance(wanted, OptionalType) and length_is_lost(held, wanted.item)


def _link(left: Elem, right: Elem) -> None:
    if left is right:
        return
    if left.python != right.python:
        raise JoinError("containers of different classes")
    joined = unite(left.type, right.type)
    for cell in (left, right):
        left.stale |= cell.stale or (cell.observed and cell.type != joined) or length_is_lost(cell.type, joined)
    left.type = joined
    left.fixed |= right.fixed
    left.observed |= right.observed
    right.link = left


def fresh(t: Type) -> Type:
    """The same type with cells of its own."""
    match t:
        case ListType(cell, any_length):
            return ListType(_copy(cell), any_length)
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
