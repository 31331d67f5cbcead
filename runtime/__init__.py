"""The C runtime (headers and sources) and the bridge that calls compiled libraries from Python."""

from pathlib import Path

INCLUDE_DIR = Path(__file__).parent / "include"
SOURCE_DIR = Path(__file__).parent / "src"


def c_sources() -> list[Path]:
    """The runtime's C files, one translation unit each. sc_all.c, which includes the others, is the other way to build
    them; the bridge is no part of a compiled program."""
    return sorted(path for path in SOURCE_DIR.glob("*.c") if path.name != "sc_all.c")
