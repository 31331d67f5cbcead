"""The objects outside that a reading depends on: all that becomes known at compile time, and functions that are read.

A build that is remembered for later processes holds as long as these are what they were (`scriptc.warm_start`).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


class _Recorded(threading.local):
    objects: dict[int, Any] | None = None  # by id; None while no function is being read


_recorded = _Recorded()


@contextmanager
def noted() -> Iterator[None]:
    """Note, within the context, every object that is read."""
    outer, _recorded.objects = _recorded.objects, {}
    try:
        yield
    finally:
        _recorded.objects = outer


def record_dependency(obj: Any) -> None:
    """Note that the code depends on an object outside."""
    if _recorded.objects is not None:
        _recorded.objects[id(obj)] = obj


def forget(obj: Any) -> None:
    """Forget an object that was made from noted objects."""
    if _recorded.objects is not None:
        _recorded.objects.pop(id(obj), None)


def record_this_process() -> None:
    """Note that the code holds in this process alone: no later process finds it again."""
    record_dependency(_OF_THIS_PROCESS)


_OF_THIS_PROCESS = object()  # no later process can name this object


def objects() -> Collection[Any]:
    """Return the objects noted so far."""
    return (_recorded.objects or {}).values()
