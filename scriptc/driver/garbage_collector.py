"""The garbage collector, out of the way of what makes many objects that are all in use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """For loading our modules and for compiling. Either would set off a collection of all that torch has made, which takes
    longer than the rest of a warm start."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
