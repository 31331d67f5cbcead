"""Walks over sequences: by known items, or by an index."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import TypeIs

from scriptc.frontend.values.abstract import AbstractValue, WalkMark
from scriptc.ir.core import Value


@dataclass
class Walk:
    """A walk over a sequence, by known items or by an index.

    items: the items, one by one. If there is a `limit`, only the items below that index count.
    count: the bounds of an index otherwise; None for an empty sequence.
    item: returns the item at an index.
    length: returns the present number of items, which may change with `lists`.
    """

    items: Iterable[AbstractValue] | None = None
    limit: Callable[[], AbstractValue] | None = None  # an upper bound of the number of `items`, known only at run time
    count: tuple[AbstractValue, AbstractValue, AbstractValue] | None = None
    item: Callable[[AbstractValue], AbstractValue] | None = None
    length: Callable[[], AbstractValue] | None = None
    lists: Sequence[Value] = ()
    finish: Callable[[], None] | None = None  # runs after the last item
    backward: Callable[[], Iterable[AbstractValue]] | None = None  # gives `items` from the last to the first, one by one


def is_spent(mark: WalkMark, contents: Container[Hashable]) -> bool:
    """Return whether an iterator has been walked. contents: of the heap."""
    return mark.spent or any(ident in contents for ident in mark.idents)


def is_mark(value: AbstractValue) -> TypeIs[WalkMark]:
    return isinstance(value, WalkMark)


def settled_mark(value: AbstractValue, contents: Container[Hashable]) -> AbstractValue:
    """Return a mark that tells whether the iterator has been walked, as the heap does; return another value as it is."""
    if not is_mark(value) or value.spent or not is_spent(value, contents):
        return value
    return WalkMark(value.idents, spent=True)


def mark_of(parts: Sequence[AbstractValue]) -> WalkMark:
    """Return the mark among the parts of an iterator, which is the last one."""
    mark = parts[-1]
    assert isinstance(mark, WalkMark)
    return mark
