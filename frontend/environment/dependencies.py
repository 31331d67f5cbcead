"""The objects outside that a reading meets: whatever becomes known at compile time, and each function whose source is read.

A build that is remembered for later processes holds as long as these are what they were (`scriptc.warm_start`).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


class _Met(threading.local):
    objects: dict[int, Any] | None = None  # by id; None while nothing is read


_met = _Met()


@contextmanager
def noted() -> Iterator[None]:
    """Note, within the context, every object that is read."""
    outer, _met.objects = _met.objects, {}
    try:
        yield
    finally:
        _met.objects = outer


def meet(obj: Any) -> None:
    if _met.objects is not None:
        _met.objects[id(obj)] = obj


def forget(obj: Any) -> None:
    """Forget an object that was made from noted objects."""
    if _met.objects is not None:
        _met.objects.pop(id(obj), None)


def meet_this_process() -> None:
    """Note that the code holds in this process alone: no later process finds it again."""
    meet(_OF_THIS_PROCESS)


_OF_THIS_PROCESS = object()  # which has no name


def objects() -> Collection[Any]:
    """Return the objects noted so far."""
    return (_met.objects or {}).values()
