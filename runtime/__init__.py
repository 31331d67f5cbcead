"""The C runtime (headers and sources) and the bridge that calls compiled libraries from Python."""

from collections.abc import Iterable
from pathlib import Path

INCLUDE_DIR = Path(__file__).parent / "include"
SOURCE_DIR = Path(__file__).parent / "src"


def c_sources() -> list[Path]:
    """Return the runtime's C files, one translation unit each.

    sc_all.c, which includes the others, is the other way to build them. The bridge is no part of a compiled program.
    """
    from .kernels import SOURCES

    return sorted(SOURCE_DIR / f"{name}.c" for name in SOURCES)


def needed_sources(kernels: Iterable[str]) -> list[Path]:
    """Return the C files that a program must be linked with which calls these kernels."""
    from .kernels import sources_of

    return [SOURCE_DIR / f"{name}.c" for name in sources_of(kernels)]
