"""Walks over sequences: by known items, or by an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scriptc.frontend.values.abstract import AbstractValue
from scriptc.ir.core import Value


@dataclass
class Walk:
    """A walk over a sequence. `items`: known, one by one, of which those come whose index is below `limit`, where there
    is one. Else `count` bounds an index (None: the sequence is empty) and `item` gives the value at it. `length` asks anew
    for the number of items, where that of `lists` may change."""

    items: Iterable[AbstractValue] | None = None
    limit: Callable[[], AbstractValue] | None = None  # an upper bound of the number of `items`, known only at run time
    count: tuple[AbstractValue, AbstractValue, AbstractValue] | None = None
    item: Callable[[AbstractValue], AbstractValue] | None = None
    length: Callable[[], AbstractValue] | None = None
    lists: Sequence[Value] = ()
    finish: Callable[[], None] | None = None  # runs after the last item
