"""The files of the runtime that a package holds: all except those that only the bridge includes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scriptc import runtime
from scriptc.runtime.kernels import COMMON

_FOLDERS = (runtime.INCLUDE_DIR, runtime.SOURCE_DIR, runtime.SOURCE_DIR / "package")
NAMES_HEADER = "runtime/include/sc_names.h"
# A definition that other files see: of a function or an object, or by a macro that takes its name first.
_DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|extern\b)(?:[a-z][\w *]*[ *]|[A-Z]\w*\()(sc_\w+)(?=[(\[;,]| =)", re.MULTILINE
)
PUBLIC_HEADER = "scriptc_api.h"
_ELSEWHERE = {PUBLIC_HEADER, "sc_dlpack.h"}  # in the package's include/, and the bridge's


def _place(path: Path) -> str:
    return os.path.normpath(f"runtime/{path.relative_to(runtime.INCLUDE_DIR.parent).as_posix()}")


def common_sources() -> list[str]:
    """Return the C files that do not depend on the ISA level, by their place in a package."""
    kernels = [runtime.SOURCE_DIR / f"{source.name}.c" for source in COMMON]
    return list(map(_place, [*kernels, *sorted(_FOLDERS[-1].glob("*.c"))]))


def files(package: str) -> dict[str, str]:
    """Return the texts of the files by their place in the package.

    Every C file first includes the header that gives the runtime's symbols names of their own in each package. So one
    program may link several packages statically, also of different versions of scriptc.
    """
    found = {
        path: f'#include "{Path(NAMES_HEADER).name}"\n{text}' if path.endswith(".c") else text
        for path, source in _sources().items()
        for text in [source.read_text(encoding="utf-8")]
    }
    return {**found, NAMES_HEADER: _names_header(package)}


def _names_header(package: str) -> str:
    rows = [f"#define {name} {name}_in_{package}" for name in symbols()]
    return "\n".join([
        f"/* sc_names.h - the symbols of the runtime as {package} names them. Made by scriptc. */",
        "#ifndef SC_NAMES_H", "#define SC_NAMES_H", *rows, "#endif", "",
    ])  # fmt: skip


def symbols() -> list[str]:
    """Return the names of the functions and objects that C files of the runtime define for one another."""
    sources = _sources()
    texts = [sources[path].read_text(encoding="utf-8") for path in common_sources()]
    return sorted({name for text in texts for name in _DEFINITION.findall(text)})


def _sources() -> dict[str, Path]:
    found = [path for folder in _FOLDERS for path in sorted(folder.glob("*.*")) if path.name not in _ELSEWHERE]
    return {_place(path): path for path in found if path.suffix in (".c", ".h", ".inc")}


def public_header() -> str:
    return (runtime.INCLUDE_DIR / PUBLIC_HEADER).read_text(encoding="utf-8")
