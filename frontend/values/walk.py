"""Walks over sequences: by known items, or by an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scriptc.frontend.values.abstract import AbstractValue
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
