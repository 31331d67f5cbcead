"""The leaves in the loop IR that hold a value of the tensor IR.

A `Shape` is one loop IR value, or a tuple of shapes: tuples, `none` (no value at all) and optional numbers (a flag and
the number) have no representation of their own. An optional object is typed as the object; None is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, NONE, OptionalType, TupleType, Type, is_counted

Shape = Value | tuple["Shape", ...]


def flag_and_number(t: Type) -> bool:
    """Return whether a type is an optional that needs a flag."""
    return isinstance(t, OptionalType) and not is_counted(t)


def flat_types(t: Type) -> list[Type]:
    """Return the types of the leaves that hold one value of type `t`."""
    if t == NONE:
        return []
    if isinstance(t, TupleType):
        return [leaf for item in t.items for leaf in flat_types(item)]
    if isinstance(t, OptionalType):
        return [BOOL, *flat_types(t.item)] if flag_and_number(t) else [t.item]
    return [t]


def flatten(shape: Shape) -> list[Value]:
    return [shape] if isinstance(shape, Value) else [leaf for item in shape for leaf in flatten(item)]


def unflatten(t: Type, leaves: Iterator[Value]) -> Shape:
    if t == NONE:
        return ()
    if isinstance(t, TupleType):
        return tuple(unflatten(item, leaves) for item in t.items)
    if isinstance(t, OptionalType) and flag_and_number(t):
        return (next(leaves), unflatten(t.item, leaves))
    return next(leaves)


def flat_names(name: str, types: Sequence[Type]) -> list[str]:
    return [name] if len(types) == 1 else [f"{name}_{i}" if name else "" for i in range(len(types))]


Make = Callable[[Type], Value]


def widen(shape: Shape, held: Type, wanted: Type, undef: Make, flag: Callable[[bool], Value]) -> Shape:
    """Return a value of type `held` in the form of type `wanted`, of which `held` is a subtype."""
    if isinstance(wanted, TupleType) and isinstance(held, TupleType):
        assert isinstance(shape, tuple)
        items = zip(shape, held.items, wanted.items, strict=True)
        return tuple(widen(s, h, w, undef, flag) for s, h, w in items)
    if not isinstance(wanted, OptionalType):
        return shape
    item = held.item if isinstance(held, OptionalType) else held
    if held == NONE:
        leaves = flat_types(wanted)
        head = [flag(False)] if flag_and_number(wanted) else []
        return unflatten(wanted, iter([*head, *map(undef, leaves[len(head) :])]))
    if not flag_and_number(wanted):
        return shape
    if isinstance(held, OptionalType):
        assert isinstance(shape, tuple)
        return (shape[0], widen(shape[1], item, wanted.item, undef, flag))
    return (flag(True), widen(shape, item, wanted.item, undef, flag))


def narrow(shape: Shape, held: Type, wanted: Type) -> Shape:
    """Return a value held as type `held` in the form of its subtype `wanted`, which the value is known to have."""
    if wanted == NONE:
        return ()
    if isinstance(wanted, TupleType) and isinstance(held, TupleType):
        assert isinstance(shape, tuple)
        return tuple(narrow(s, h, w) for s, h, w in zip(shape, held.items, wanted.items, strict=True))
    if isinstance(held, OptionalType) and flag_and_number(held):
        assert isinstance(shape, tuple)
        inner = narrow(shape[1], held.item, wanted.item if isinstance(wanted, OptionalType) else wanted)
        return (shape[0], inner) if isinstance(wanted, OptionalType) else inner
    return shape
