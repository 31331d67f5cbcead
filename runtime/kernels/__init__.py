"""The table of the C runtime: its files, and the functions that generated code calls.

A kernel is added in two places: its C, and its row in one of the files beside this one. `python -m
scriptc.runtime.kernels` writes the declarations (include/sc_kernels.h) and the unity build (src/sc_all.c) from the
rows; the tests compare both with the rows, and the rows with what the C compiler finds.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import core, objects, tensors
from .row import DECLARED, Kernel, Parameter, Source

__all__ = ["COMMON", "DECLARED", "FILES", "KERNELS", "SOURCES", "UNITY", "Kernel", "Parameter", "Source", "sources_of"]

# Compiled once per ISA level, in the order of the unity build.
UNITY: tuple[Source, ...] = (
    *(s for s in (*tensors.SOURCES, *objects.SOURCES) if not s.unless),
    *(s for s in tensors.SOURCES if s.unless),
)
COMMON = core.SOURCES  # files that do not depend on the ISA level
SOURCES: dict[str, Source] = {s.name: s for s in (*UNITY, *COMMON)}
KERNELS: dict[str, Kernel] = {k.name: k for s in SOURCES.values() for k in s.kernels} | {k.name: k for k in core.INLINE}
# The files, without `.c`, that a call of a kernel needs directly.
FILES: dict[str, tuple[str, ...]] = {k.name: (s.name,) for s in SOURCES.values() for k in s.kernels}
FILES |= {k.name: k.needs for k in core.INLINE}


def sources_of(kernels: Iterable[str]) -> list[str]:
    """Return the source files that a program which calls these kernels must be linked with."""
    found: set[str] = set()
    wanted = {file for name in kernels for file in FILES[name]}
    while wanted:
        found |= wanted
        wanted = {needed for name in wanted for needed in SOURCES[name].needs} - found
    return sorted(found)
