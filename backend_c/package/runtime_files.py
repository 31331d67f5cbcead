"""The files of the runtime that a package holds: all except those that only the bridge includes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from scriptc import runtime
from scriptc.runtime.kernels import COMMON, DECLARED, UNITY, sources_of

_FOLDERS = (runtime.INCLUDE_DIR, runtime.SOURCE_DIR, runtime.SOURCE_DIR / "package")
NAMES_HEADER = "runtime/include/sc_names.h"
# A definition that other files see: of a function or an object, or by a macro that takes its name first.
_DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|extern\b)(?:[a-z][\w *]*[ *]|[A-Z]\w*\()(sc_\w+)(?=[(\[;,]| =)", re.MULTILINE
)
PUBLIC_HEADER = "scriptc_api.h"
# In the package's include/, the bridge's, and the kernels of all programs.
_ELSEWHERE = {PUBLIC_HEADER, "sc_dlpack.h", "sc_all.c"}
_IN_HEADERS = [k.name for s in UNITY for k in s.kernels if k.header != DECLARED]  # inline functions call them
# Translation units of files that do not depend on the ISA level: two, which two compilers make at a time.
COMMON_UNIT, PACKAGE_UNIT = "runtime/sc_common.c", "runtime/sc_package.c"


def _place(path: Path) -> str:
    return os.path.normpath(f"runtime/{path.relative_to(runtime.INCLUDE_DIR.parent).as_posix()}")


def common_units() -> list[str]:
    """Return the translation units that do not depend on the ISA level, by their place in a package."""
    return [COMMON_UNIT, PACKAGE_UNIT]


def kernel_sources(kernels: Iterable[str]) -> list[str]:
    """Return the files of the runtime that a program which calls `kernels` includes for each ISA level, without `.c`."""
    needed = set(sources_of([*kernels, *_IN_HEADERS]))
    return [source.name for source in UNITY if source.name in needed]


def kernels_header(kernels: Iterable[str]) -> str:
    """Return sc_kernels.h for a program that calls `kernels`.

    Compilers warn of static functions that a unit does not define, so kernels of other files are declared extern.
    """
    included = set(kernel_sources(kernels))
    text = (runtime.INCLUDE_DIR / DECLARED).read_text(encoding="utf-8")
    first, *sections = text.split("\n/* ---- ")  # each begins with the name of a file
    for i, section in enumerate(sections):
        if section.partition(".c")[0] not in included:
            sections[i] = section.replace("SC_KERNEL ", "extern ")
    return "\n/* ---- ".join([first, *sections])


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
    found[COMMON_UNIT] = _unit(COMMON_UNIT, "the files of the runtime", _common_sources())
    found[PACKAGE_UNIT] = _unit(PACKAGE_UNIT, "the files that packages alone have", _package_sources())
    return {**found, NAMES_HEADER: _names_header(package)}


def _common_sources() -> list[Path]:
    return [runtime.SOURCE_DIR / f"{source.name}.c" for source in COMMON]


def _package_sources() -> list[Path]:
    return sorted(_FOLDERS[-1].glob("*.c"))


def _unit(place: str, held: str, sources: Sequence[Path]) -> str:
    return "\n".join([
        f"/* {Path(place).name} - {held} that do not depend on the ISA level, as one translation unit. Made by scriptc. */",
        "#ifndef _GNU_SOURCE", "#define _GNU_SOURCE /* which some of them ask for */", "#endif",
        *(f'#include "{path.name}"' for path in sources), "",
    ])  # fmt: skip


def _names_header(package: str) -> str:
    rows = [f"#define {name} {name}_in_{package}" for name in symbols()]
    return "\n".join([
        f"/* sc_names.h - the symbols of the runtime as {package} names them. Made by scriptc. */",
        "#ifndef SC_NAMES_H", "#define SC_NAMES_H", *rows, "#endif", "",
    ])  # fmt: skip


def symbols() -> list[str]:
    """Return the names of the functions and objects that C files of the runtime define for one another."""
    texts = [path.read_text(encoding="utf-8") for path in (*_common_sources(), *_package_sources())]
    return sorted({name for text in texts for name in _DEFINITION.findall(text)})


def _sources() -> dict[str, Path]:
    found = [path for folder in _FOLDERS for path in sorted(folder.glob("*.*")) if path.name not in _ELSEWHERE]
    return {_place(path): path for path in found if path.suffix in (".c", ".h", ".inc")}


def public_header() -> str:
    return (runtime.INCLUDE_DIR / PUBLIC_HEADER).read_text(encoding="utf-8")
