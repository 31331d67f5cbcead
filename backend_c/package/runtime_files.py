"""Which files of the runtime a package needs: the closure of their #include lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from scriptc import runtime

_FOLDERS = (runtime.INCLUDE_DIR, runtime.SOURCE_DIR, runtime.SOURCE_DIR / "package")
_KERNELS = "sc_all.c"  # part of each level's translation unit
PUBLIC_HEADER = "scriptc_api.h"


def _path_of(name: str) -> Path | None:
    return next((folder / name for folder in _FOLDERS if (folder / name).is_file()), None)


def _closure(names: Iterable[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        path = None if name in found else _path_of(name)
        if path is not None:
            found[name] = path
            todo += re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    return found


def _place(path: Path) -> str:
    return os.path.normpath(f"runtime/{path.relative_to(runtime.INCLUDE_DIR.parent).as_posix()}")


def _common() -> list[Path]:
    in_level = set(_closure([_KERNELS]))
    files = [path for folder in _FOLDERS[1:] for path in sorted(folder.glob("*.c"))]
    return [path for path in files if path.name not in in_level]


def common_sources() -> list[str]:
    """C files that do not depend on the ISA level, as placed in a package: each is a translation unit of its own."""
    return list(map(_place, _common()))


def needed(program: str) -> dict[str, Path]:
    """Files by their place in the package, for a program's C text."""
    used = re.findall(r'^#include "([^"]+)"', program, re.MULTILINE)
    files = _closure([_KERNELS, *used, *(path.name for path in _common())])
    del files[PUBLIC_HEADER]  # it goes to include/
    return {_place(path): path for path in files.values()}


def public_header() -> str:
    return (runtime.INCLUDE_DIR / PUBLIC_HEADER).read_text(encoding="utf-8")
