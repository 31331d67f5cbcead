"""The inference of element types. A container has type variables, which a join of two containers unites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from scriptc.ir.types import (
    BOOL,
    COMPLEX,
    EXC,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    UNSEEN,
    Container,
    DictType,
    JoinError,
    ListType,
    OptionalType,
    ScalarType,
    SetType,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
    is_tuple,
    join,
    layout,
    tuple_of,
    type_variables,
)

_NAMES: dict[Type, str] = {
    INT: "int", FLOAT: "float", BOOL: "bool", NONE: "None", EXC: "exception", NEVER: "nothing", COMPLEX: "complex",
}  # fmt: skip
_SCALARS = (INT, FLOAT, BOOL, STR)
_MOST = 8  # the most alternatives of a union


def is_storable(t: Type) -> bool:
    """Return whether run-time containers may hold values of a type."""
    if isinstance(t, TupleType):
        return bool(t.items) and all(i != NEVER and is_storable(i) for i in t.items)
    if isinstance(t, OptionalType):
        return is_storable(t.item)
    return t in (*_SCALARS, NEVER, NONE) or isinstance(t, (TensorType, Container))


def holds(t: Type, variable: TypeVariable) -> bool:
    """Return whether values of a type contain the container of a type variable, so that it cannot hold them."""
    match t:
        case TupleType(items):
            return any(holds(i, variable) for i in items)
        case OptionalType(item):
            return holds(item, variable)
        case ListType() | DictType() | SetType():
            return any(c.find() is variable or holds(c.find().type, variable) for c in type_variables(t))
    return False


def mentions(t: Type, kind: type[Type]) -> bool:
    """Return whether values of a type are, or contain, values of a class of types."""
    match t:
        case _ if isinstance(t, kind):
            return True
        case TupleType(items):
            return any(mentions(i, kind) for i in items)
        case OptionalType(item):
            return mentions(item, kind)
        case ListType() | DictType() | SetType():
            return any(mentions(c.find().type, kind) for c in type_variables(t))
    return False


def is_hashable(t: Type) -> bool:
    """Return whether values of a type may be keys at run time."""
    if isinstance(t, TupleType):
        return not is_union(t) and all(map(is_hashable, t.items))
    if isinstance(t, ListType) and t.is_tuple:
        return t.elem == NEVER or is_hashable(t.elem)
    return t in _SCALARS


class Union:
    """The class that a union has as a tuple type.

    A union is a tuple of a number and a value of each of several types; the number selects one value. A call with such
    a tuple returns the selected value.
    """

    __name__ = "one of several kinds"

    def __init__(self, count: int):
        self.count = count

    def __call__(self, values: Sequence[Any]) -> Any:
        return values[1 + values[0]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Union) and self.count == other.count

    def __hash__(self) -> int:
        return hash(self.count)


def is_union(t: Type) -> TypeGuard[TupleType]:
    return isinstance(t, TupleType) and isinstance(t.cls, Union)


def spelt(t: Type) -> str:
    """Return a type as people write it: list[int], tuple[int, str], f32[?, ?]."""
    match t:
        case TensorType():
            return f"{t.dtype}[{', '.join('?' for _ in t.dims)}]" if t.dims is not None else f"{t.dtype}[...]"
        case TupleType(items):
            return " or ".join(map(spelt, items[1:])) if is_union(t) else f"tuple[{', '.join(map(spelt, items))}]"
        case ListType():
            return f"tuple[{spelt(t.elem)}, ...]" if t.is_tuple else f"list[{spelt(t.elem)}]"
        case DictType():
            return f"dict[{spelt(t.key)}, {spelt(t.elem)}]"
        case SetType():
            return f"set[{spelt(t.key)}]"
        case OptionalType(item):
            return f"{spelt(item)} or None"
    return _NAMES.get(t, str(t))


def unite(a: Type, b: Type, *, unions: bool = False) -> Type:
    """Return the join of two types, and unite the type variables of containers in them.

    unions: types without a join become a union.
    """
    try:
        return _union(a, b) if is_union(a) or is_union(b) else _united(a, b, unions)
    except JoinError:
        if not unions:
            raise
    return _union(a, b)


def _alternatives(t: Type) -> list[Type]:
    if is_union(t):
        return list(t.items[1:])
    return [NONE, t.item] if isinstance(t, OptionalType) else [t]


def _union(a: Type, b: Type) -> Type:
    """Return the union of two types, which may be unions; raise JoinError for too many alternatives."""
    kinds: dict[str, Type] = {}
    for t in (*_alternatives(a), *_alternatives(b)):
        if t == NEVER:
            continue
        if not is_storable(t):
            raise JoinError(f"{a} and {b}")
        kind = type_kind(t)
        kinds[kind] = _united(kinds[kind], t, False) if kind in kinds else t
    if len(kinds) > _MOST:
        raise JoinError(f"more than {_MOST} kinds")
    return TupleType((INT, *(kinds[k] for k in sorted(kinds))), Union(len(kinds)))


def is_numpy_box(t: Type) -> bool:
    """Return whether a tuple type holds a NumPy array or scalar."""
    return isinstance(t, TupleType) and hasattr(t.cls, "value_of")


def kinds_of(t: Type) -> frozenset[str]:
    """Return the kinds of the values of a type, which may be a union."""
    return frozenset(map(type_kind, _alternatives(t)))


def type_kind(t: Type) -> str:
    """Return the alternative of a union that values of a type belong to, as a key."""
    match t:
        case TensorType():
            return f"tensor {t.dtype} {t.rank}"
        case ListType():
            return "tuple" if t.is_tuple else "list"
        case TupleType() if is_numpy_box(t):
            return f"{t.cls.__name__} of {type_kind(t.items[0])}"
        case TupleType():
            return f"tuple of {len(t.items)}"
        case DictType():
            return "dict"
        case SetType():
            return "set"
    return str(t)


def _united(a: Type, b: Type, unions: bool) -> Type:
    match a, b:
        case (TupleType() | ListType(), TupleType() | ListType()) if _lengths_differ(a, b):
            return _any_length(a, b)
        case (ListType(), ListType()) | (DictType(), DictType()) | (SetType(), SetType()):
            is_keys = (not isinstance(a, ListType), False)
            for x, y, is_key in zip(type_variables(a), type_variables(b), is_keys, strict=False):
                _link(x.find(), y.find(), unions and not is_key)
            return a
        case TupleType(xs), TupleType(ys) if len(xs) == len(ys):
            if a.cls is not b.cls:
                raise JoinError("tuples of different classes")
            unions = unions and not is_numpy_box(a)
            return TupleType(tuple(unite(x, y, unions=unions) for x, y in zip(xs, ys, strict=True)), a.cls)
        case (OptionalType(), OptionalType()):
            return OptionalType(_united(a.item, b.item, False))
        case (OptionalType(), other) | (other, OptionalType()) if other not in (NONE, NEVER):
            held = a if isinstance(a, OptionalType) else b
            assert isinstance(held, OptionalType)
            return OptionalType(_united(held.item, other, False))
    if isinstance(a, TensorType) and isinstance(b, TensorType) and type_kind(a) != type_kind(b):
        raise JoinError(f"{a} and {b}")  # no op reads a tensor of unknown rank from a container
    return join(a, b)


def _lengths_differ(a: TupleType | ListType, b: TupleType | ListType) -> bool:
    """Return whether one type is a tuple, and the other is not a tuple of its length."""
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return len(a.items) != len(b.items)
    return isinstance(a, TupleType) or isinstance(b, TupleType) or a.is_tuple or b.is_tuple


def _any_length(a: TupleType | ListType, b: TupleType | ListType) -> Type:
    """Return the type of tuples of any length that holds tuples of both types. Tuples are values, so each has its own
    type variables."""
    elem: Type = NEVER
    for t in (a, b):
        if isinstance(t, ListType) and not t.is_tuple or isinstance(t, TupleType) and t.cls is not None:
            raise JoinError(f"{a} and {b}")
        for item in t.items if isinstance(t, TupleType) else (t.elem,):
            elem = unite(elem, item)
    if any(isinstance(t, ListType) and t.elem != NEVER and layout(t.elem) != layout(elem) for t in (a, b)):
        raise JoinError(f"{a} and {b}")  # existing items of such a tuple have another layout
    return tuple_of(elem)


def is_laid_out_anew(held: Type, wanted: Type) -> bool:
    """Return whether values of one type have another layout in a wider type: as tuples of any length, or as unions."""
    if is_union(wanted) or is_union(held):
        return held != NEVER and (held != wanted or not is_union(held))
    if isinstance(wanted, OptionalType):
        return is_laid_out_anew(held.item if isinstance(held, OptionalType) else held, wanted.item)
    return isinstance(held, TupleType) and (
        is_tuple(wanted) or (isinstance(wanted, TupleType) and any(map(is_laid_out_anew, held.items, wanted.items)))
    )


def _link(left: TypeVariable, right: TypeVariable, unions: bool) -> None:
    if left is right:
        return
    if left.python != right.python:
        raise JoinError("containers of different classes")
    fixed = left.fixed or right.fixed  # a container of the caller cannot hold a union
    joined = unite(left.type, right.type, unions=unions and not fixed)
    if fixed and is_union(joined):
        raise JoinError(f"{left.type} and {right.type}")
    if holds(joined, left) or holds(joined, right):
        raise JoinError("a container within itself")
    for variable in (left, right):
        is_wider = variable.observed and variable.type != joined
        converted = variable.fixed and layout(variable.type) != layout(joined)  # what the caller gives, as the function begins
        left.stale |= variable.stale or is_wider or converted or is_laid_out_anew(variable.type, joined)
    _link_refinements(left, right)
    left.type = joined
    left.fixed |= right.fixed
    left.observed |= right.observed
    right.link = left


def _link_refinements(left: TypeVariable, right: TypeVariable) -> None:
    """Give the first of two united type variables the length that both have, and the kinds that both have under keys."""
    length = left.length if right.length in (UNSEEN, left.length) else right.length if left.length == UNSEEN else None
    kinds: dict[Any, frozenset[str]] | None = None
    if left.key_kinds is not None and right.key_kinds is not None:
        none = frozenset[str]()
        kinds = {k: left.key_kinds.get(k, none) | right.key_kinds.get(k, none) for k in (*left.key_kinds, *right.key_kinds)}
    for variable in (left, right):
        left.outgrown |= variable.outgrown or (variable.counted and variable.length != length)
        held = variable.key_kinds or {}
        left.outgrown |= any(kinds is None or kinds[key] != held[key] for key in variable.narrowed)
    left.counted |= right.counted
    left.narrowed |= right.narrowed
    left.length, left.key_kinds = length, kinds


def fresh(t: Type) -> Type:
    """Return the same type with new type variables."""
    match t:
        case ListType(variable, any_length):
            return ListType(_copy(variable), any_length)
        case DictType(key, variable):
            return DictType(_copy(key), _copy(variable))
        case SetType(key):
            return SetType(_copy(key))
        case TupleType(items):
            return TupleType(tuple(map(fresh, items)), t.cls)
        case OptionalType(item):
            return OptionalType(fresh(item))
    return t


def _copy(variable: TypeVariable) -> TypeVariable:
    variable = variable.find()
    return TypeVariable(fresh(variable.type), length=UNSEEN, key_kinds={}, python=variable.python)


def is_of_numbers(t: Type) -> bool:
    """Return whether a type is a number, a string, or a list of these."""
    return isinstance(t, ScalarType) or (isinstance(t, ListType) and isinstance(t.elem, ScalarType))
