"""The objects outside that a reading depends on: those that become known, and the functions that are read.

A later process can take a variant from the disk if these objects are unchanged (`scriptc.warm_start`).
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
    """Note that the compiled code is valid in this process alone, so no later process may take it."""
    record_dependency(_OF_THIS_PROCESS)


_OF_THIS_PROCESS = object()  # no later process can name this object


def objects() -> Collection[Any]:
    """Return the objects noted so far."""
    return (_recorded.objects or {}).values()
