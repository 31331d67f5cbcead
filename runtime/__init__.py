"""Where the C runtime's headers and sources are."""

from pathlib import Path

INCLUDE_DIR = Path(__file__).parent / "include"
SOURCE_DIR = Path(__file__).parent / "src"


def kernel_sources() -> list[Path]:
    """The translation units that every compiled library links; sc_all.c would hold them all a second time."""
    return sorted(path for path in SOURCE_DIR.glob("*.c") if path.name != "sc_all.c")
