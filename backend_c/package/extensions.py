"""The C extensions that a package calls: their sources, and how CMake and the Python loader compile them."""

from __future__ import annotations

from typing import Any

from scriptc import runtime
from scriptc.backend_c.extensions.library import INCLUDE_DIR, SUPPORT
from scriptc.backend_c.extensions.trampolines import trampolines
from scriptc.backend_c.package.interface import Package
from scriptc.ir.extern import LIBRARIES, ExternLibrary

_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-DSC_EXTENSION_EXPORT=")
_HEADERS, _SUPPORT = "runtime/include/extension", "runtime/src/extension"


def libraries(package: Package) -> list[ExternLibrary]:
    """Return the extensions that the program calls. Raise ValueError if they cannot be in one library."""
    found = [LIBRARIES[key] for key in package.program.extensions]
    homes: dict[str, str] = {}
    for library in found:
        if library.with_cuda:
            raise ValueError(f"the extension {library.name} is built with_cuda, and packages run on the CPU alone")
        for name in (f"an extension {library.name}", *(f"a function {p.name}" for p in library.prototypes)):
            if name in homes:
                raise ValueError(f"the package calls two extensions that have {name}, which one library cannot hold")
            homes[name] = library.key
    return found


def _folder(library: ExternLibrary) -> str:
    return f"src/extensions/{library.name}"


def files(package: Package) -> dict[str, str | bytes]:
    """Return the files of the extensions, by their place in the package."""
    found: dict[str, str | bytes] = {}
    for library in libraries(package):
        given = library.built_from
        found |= {f"{_folder(library)}/{name}": text.encode(errors="surrogateescape") for name, text in given.files}
        found[f"{_folder(library)}/scriptc_calls.c"] = trampolines(library.prototypes, given.headers, library.key)
    if found:
        support = [path for path in sorted((runtime.SOURCE_DIR / "extension").glob("*.*")) if path.suffix in (".c", ".inc")]
        found |= {f"{_HEADERS}/{path.name}": path.read_text(encoding="utf-8") for path in sorted(INCLUDE_DIR.glob("*.h"))}
        found |= {f"{_SUPPORT}/{path.name}": path.read_text(encoding="utf-8") for path in support}
    return found


def recipe(package: Package) -> list[dict[str, Any]]:
    """Return what is compiled with which flags, for the manifest."""
    rows: list[dict[str, Any]] = []
    for library in libraries(package):
        given, folder = library.built_from, _folder(library)
        rows.append({
            "sources": [f"{folder}/{name}" for name in (*given.sources, "scriptc_calls.c")],
            "include": [_HEADERS, folder, *(f"{folder}/{name}" for name in given.include_dirs)],
            "flags": [*_FLAGS, *given.flags],
        })  # fmt: skip
    if rows:
        sources = [f"{_SUPPORT}/{path.name}" for path in SUPPORT]
        rows.append({"sources": sources, "include": [_HEADERS], "flags": list(_FLAGS)})
    return rows


def linked(package: Package) -> list[str]:
    """Return the options of the linker that the extensions need."""
    return list(dict.fromkeys(flag for library in libraries(package) for flag in library.built_from.libraries))


def cmake(package: Package) -> str:
    """Return the part of CMakeLists.txt that compiles the extensions."""
    lines = []
    for i, row in enumerate(recipe(package)):
        target = f"{package.name}_extension{i}"
        sources, flags = " ".join(map(_quoted, row["sources"])), " ".join(map(_quoted, row["flags"]))
        folders = " ".join(f'"${{CMAKE_CURRENT_SOURCE_DIR}}/{name}"' for name in row["include"])
        lines += [
            f"add_library({target} OBJECT {sources})",
            f"target_compile_options({target} PRIVATE {flags})",
            f"target_include_directories({target} PRIVATE {folders})",
            f"use_sanitizers({target})",
            f"target_sources({package.name} PRIVATE $<TARGET_OBJECTS:{target}>)",
        ]
    if options := linked(package):
        lines.append(f"target_link_libraries({package.name} PUBLIC {' '.join(map(_quoted, options))})")
    return "\n".join(["", "# ---- C extensions ----", "", *lines, ""]) if lines else ""


def _quoted(text: str) -> str:
    return f"[==[{text}]==]"
