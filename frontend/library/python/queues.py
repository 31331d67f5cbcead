"""The constructor of collections.deque."""

from __future__ import annotations

from scriptc.frontend.library.python.queues_decomposed import Deque
from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue


@serves("collections.deque")
def deque(r: Reader, iterable: AbstractValue = Known(()), maxlen: AbstractValue = Known(None)) -> AbstractValue:
    made = ObjectValue(Deque)
    r.call(r.attribute(made, "__init__"), [iterable, maxlen], {})
    return made
