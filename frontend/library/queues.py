"""collections.deque."""

from __future__ import annotations

from scriptc.frontend.decompositions.queues import Deque
from scriptc.frontend.library.registry import serves
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AV, Known, ObjectV


@serves("collections.deque")
def deque(r: Reader, iterable: AV = Known(()), maxlen: AV = Known(None)) -> AV:  # noqa: B008
    made = ObjectV(Deque)
    r.call(r.attribute(made, "__init__"), [iterable, maxlen], {})
    return made
