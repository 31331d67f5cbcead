"""Keep scriptc usable in forked children, which have the forking thread alone and a copy of the state of all threads.

The child replaces locks that another thread of the parent held. A module that another thread was importing could never
be imported in the child, so a fork waits until imports of scriptc's modules, and those that scriptc's code makes, have
ended. `scriptc.backend_c.cache` has its own handler.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any
from weakref import WeakSet

PATIENCE = 20.0  # seconds that a fork waits at most


class Lock:
    """A lock that the threads of one process share, and that is free in a forked child."""

    def __init__(self) -> None:
        self._forget()
        _locks.add(self)

    def _forget(self) -> None:
        self.lock = threading.RLock()


_locks: WeakSet[Lock] = WeakSet()


def _forget_locks() -> None:
    for lock in _locks:
        lock._forget()


# Weak references to the import locks, by module. A lock is held before its module is in `sys.modules`.
_module_locks: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "scriptc"


def _is_in_scriptc(frame: FrameType | None) -> bool:
    """Return whether a frame or one of its callers runs scriptc's code."""
    while frame is not None and not _is_ours(frame.f_globals.get("__name__") or ""):
        frame = frame.f_back
    return frame is not None


def _half_imported() -> Iterator[str]:
    """Yield the names of modules that other threads are importing: scriptc's, and those that its code asks for."""
    frames = sys._current_frames()
    for name, reference in list(_module_locks.items()):
        lock = reference()
        owner = lock.owner if lock is not None else None
        if owner not in (None, threading.get_ident()) and (_is_ours(name) or _is_in_scriptc(frames.get(owner))):
            yield name


def _is_importing() -> bool:
    """Return whether the calling thread is importing a module."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _await_imports() -> None:
    """Wait until no other thread is importing a module for scriptc."""
    deadline = time.monotonic() + PATIENCE
    while any(_half_imported()) and not _is_importing() and time.monotonic() < deadline:
        time.sleep(0.001)


os.register_at_fork(before=_await_imports, after_in_child=_forget_locks)
