"""The C runtime (headers and sources) and the bridge that calls compiled libraries from Python."""

from pathlib import Path

INCLUDE_DIR = Path(__file__).parent / "include"
SOURCE_DIR = Path(__file__).parent / "src"


def c_sources() -> list[Path]:
    """The runtime's C files, those of the bridge excepted: they are no part of a compiled program."""
    return sorted(SOURCE_DIR.glob("*.c"))
