"""Cores of this machine: which one is idle, how large the last cache is, and running a thread on one core."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def idlest_core(seconds: float) -> int | None:
    """Return the core that was idle longest in the next `seconds`; None where the system does not tell."""
    try:
        allowed = os.sched_getaffinity(0)
        before = _idle()
        time.sleep(seconds)
        idle = {core: ticks - before[core] for core, ticks in _idle().items() if core in allowed}
    except (AttributeError, OSError, KeyError, ValueError):  # such as on macOS
        return None
    return max(idle, key=lambda core: idle[core]) if idle else None


def _idle() -> dict[int, int]:
    """Return the clock ticks that each core has been idle."""
    lines = (line.split() for line in Path("/proc/stat").read_text(encoding="ascii").splitlines())
    return {int(words[0][3:]): int(words[4]) for words in lines if words[0].startswith("cpu") and words[0] != "cpu"}


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Run the block on one core, in the calling thread; None leaves it to the system."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def last_cache() -> int:
    """Return the bytes of the largest cache of a core; 0 where the system does not tell."""
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    sizes = [0]
    for entry in sorted(_CACHES.glob("index*/size")):
        try:
            text = entry.read_text(encoding="ascii").strip()
            sizes.append(int(text[:-1]) * units[text[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return max(sizes)
