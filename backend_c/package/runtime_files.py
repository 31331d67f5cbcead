"""The files of the runtime that a package holds: all except those that only the bridge includes."""

from __future__ import annotations

import os
from pathlib import Path

from scriptc import runtime
from scriptc.runtime.kernels import COMMON

_FOLDERS = (runtime.INCLUDE_DIR, runtime.SOURCE_DIR, runtime.SOURCE_DIR / "package")
PUBLIC_HEADER = "scriptc_api.h"
_ELSEWHERE = {PUBLIC_HEADER, "sc_dlpack.h"}  # in the package's include/, and the bridge's


def _place(path: Path) -> str:
    return os.path.normpath(f"runtime/{path.relative_to(runtime.INCLUDE_DIR.parent).as_posix()}")


def common_sources() -> list[str]:
    """Return the C files that do not depend on the ISA level, by their place in a package."""
    kernels = [runtime.SOURCE_DIR / f"{source.name}.c" for source in COMMON]
    return list(map(_place, [*kernels, *sorted(_FOLDERS[-1].glob("*.c"))]))


def files() -> dict[str, Path]:
    """Return the files by their place in the package."""
    found = [path for folder in _FOLDERS for path in sorted(folder.glob("*.*")) if path.name not in _ELSEWHERE]
    return {_place(path): path for path in found if path.suffix in (".c", ".h", ".inc")}


def public_header() -> str:
    return (runtime.INCLUDE_DIR / PUBLIC_HEADER).read_text(encoding="utf-8")
