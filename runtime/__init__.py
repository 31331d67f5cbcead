"""The C runtime (headers and sources) and the bridge that calls compiled libraries from Python."""

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

INCLUDE_DIR = Path(__file__).parent / "include"
SOURCE_DIR = Path(__file__).parent / "src"

# Patterns are compiled where they are used: most starts of a process build nothing.
# A function that other files may call, at its definition.
_DEFINITION = r"(?m)^(?!static|typedef|extern)\w[\w *]*?\b(\w+)\([^;{}]*\{"
# A function that headers define, with its body.
_INLINE = r"(?ms)^(?:static inline|SC_SCALAR|SC_STRING)\b[^;{}]*?\b(\w+)\([^;{}]*\{(.*?)^\}"
_PRIVATE_HEADER = r'(?m)^#include "(\w+)\.h"'


def c_sources() -> list[Path]:
    """The runtime's C files, one translation unit each. sc_all.c, which includes the others, is the other way to build
    them; the bridge is no part of a compiled program."""
    return sorted(path for path in SOURCE_DIR.glob("*.c") if path.name != "sc_all.c")


def needed_sources(program: str) -> list[Path]:
    """The C files that a program must be linked with: those that define a function it names, and what those need."""
    homes, needs = _dependencies(SOURCE_DIR)
    found: set[Path] = set()
    wanted = _named(program, homes, _inlines())
    while wanted:
        found |= wanted
        wanted = set().union(*(needs[path] for path in wanted)) - found
    return sorted(found)


@lru_cache(maxsize=2)
def _dependencies(folder: Path) -> tuple[dict[str, Path], dict[Path, set[Path]]]:
    """By function, the file that defines it; by file, the files it needs. sc_x.c's templates stand for what sc_x.h
    declares, so including sc_x.h is needing sc_x.c."""
    texts = {path: path.read_text(encoding="utf-8") for path in c_sources()}
    homes = {name: path for path, text in texts.items() for name in re.findall(_DEFINITION, text)}
    needs = {}
    inlines = _inlines()
    for path, text in texts.items():
        included = {folder / f"{stem}.c" for stem in re.findall(_PRIVATE_HEADER, text)}
        needs[path] = _named(text, homes, inlines) | (included & texts.keys())
    return homes, needs


def inline_functions() -> Collection[str]:
    """Return the names of the functions that headers define."""
    return _inlines().keys()


@lru_cache(maxsize=1)
def _inlines() -> dict[str, str]:
    """What the functions that headers define consist of."""
    headers = (path.read_text(encoding="utf-8") for path in INCLUDE_DIR.glob("*.h"))
    return {name: body for text in headers for name, body in re.findall(_INLINE, text)}


def _named(text: str, homes: dict[str, Path], inlines: dict[str, str]) -> set[Path]:
    """The files that define what a text names, be it through functions of headers."""
    names: set[str] = set()
    todo = [text]
    while todo:
        new = set(re.findall(r"\w+", todo.pop())) - names
        names |= new
        todo += [inlines[name] for name in new & inlines.keys()]
    return {homes[name] for name in names & homes.keys()}
