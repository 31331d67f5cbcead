"""Pause the garbage collector while many objects are made that all stay in use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while modules are imported or a function is compiled.

    Both make enough objects to start a collection. It visits all objects of torch, which takes longer than a warm
    start.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
