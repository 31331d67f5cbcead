"""C texts that are made from tables in Python: declarations of kernels, the unity build, and enums of the bridge."""

from __future__ import annotations

import textwrap
from enum import IntEnum
from pathlib import Path

from ..spec_kinds import Guard, NodeKind
from . import DECLARED, SOURCES, UNITY
from .row import Kernel, Source

RUNTIME = Path(__file__).parent.parent
_WIDTH = 128
_AGAIN = "python -m scriptc.runtime.kernels"


def texts() -> dict[Path, str]:
    """Return the content of each written file."""
    return {
        RUNTIME / "include" / DECLARED: declarations(),
        RUNTIME / "src" / "sc_all.c": unity(),
        RUNTIME / "src" / "bridge" / "spec_kinds.h": kinds(),
    }


def declarations() -> str:
    parts = [
        f"/* {DECLARED} - the kernels that generated code calls, by the file that defines them. A kernel that returns an",
        " * object returns a reference that the caller owns, or NULL after sc_raise(); one that returns an int returns 0, or",
        " * -1 after sc_raise(), unless it says otherwise. Messages and types of exceptions are eager's.",
        f" * Written from runtime/kernels by `{_AGAIN}`. */",
        "#ifndef SC_KERNELS_H", "#define SC_KERNELS_H", '#include "sc.h"', "",
        "typedef struct sc_packed sc_packed; /* sc_ops.h */",
        *(text for file in SOURCES.values() if (text := _section(file))), "", "#endif",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _section(file: Source) -> str:
    rows = [line for k in file.kernels if k.header == DECLARED for line in _declaration(k)]
    title = f"---- {file.name}.c" + (f": {file.about}" if file.about else "") + " ----"
    return "\n".join(["", *_comment(title), *rows]) if rows else ""


def _declaration(kernel: Kernel) -> list[str]:
    """Return the lines that declare a kernel, with its note after the declaration if there is room, else above."""
    text = f"SC_KERNEL {kernel.prototype};"
    beside = f"{text} /* {kernel.note} */"
    if kernel.note and len(beside) <= _WIDTH:
        return [beside]
    lines, pad = [""], " " * (text.index("(") + 1)
    for parameter in text.split(", "):
        if lines[-1] and len(lines[-1]) + len(parameter) + 3 > _WIDTH:
            lines[-1] += ","
            lines.append(pad + parameter)
        else:
            lines[-1] += (", " if lines[-1] else "") + parameter
    return [*(_comment(kernel.note) if kernel.note else []), *lines]


def _comment(text: str) -> list[str]:
    lines = textwrap.wrap(f"/* {text}", _WIDTH - 3, subsequent_indent=" * ", break_long_words=False)
    return [*lines[:-1], f"{lines[-1]} */"]


def unity() -> str:
    lines = [
        "/* sc_all.c - every file that depends on the ISA level in one translation unit, for programs that include the runtime",
        " * (SC_UNITY): one unit per level, in which unused operations cost nothing.",
        f" * Written from runtime/kernels by `{_AGAIN}`. */",
        "#ifndef SC_UNITY", "#define SC_UNITY 1", "#endif",
    ]  # fmt: skip
    macro = ""
    for file in UNITY:
        if file.unless != macro:
            lines += ["#endif"] if macro else []
            lines += [f"#ifndef {file.unless} /* set by tests of the files above alone */"] if file.unless else []
            macro = file.unless
        lines.append(f'#include "{file.name}.c"')
    return "\n".join([*lines, *(["#endif"] if macro else [])]) + "\n"


def kinds() -> str:
    """Return the header with the kinds of specs and guards, which the bridge's C switches on."""
    lines = [
        "/* spec_kinds.h - the kinds of specs and guards; runtime/spec_kinds.py says what each is.",
        f" * Written from there by `{_AGAIN}`. */",
        "#ifndef SC_SPEC_KINDS_H", "#define SC_SPEC_KINDS_H", "",
        *_enum("node_kind", "N", NodeKind), "", *_enum("guard_kind", "G", Guard), "", "#endif",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _enum(name: str, prefix: str, members: type[IntEnum]) -> list[str]:
    if [m.value for m in members] != list(range(len(members))):
        raise ValueError(f"{members.__name__} is not numbered from 0 on")
    text = f"enum {name} {{ {', '.join(f'{prefix}_{m.name}' for m in members)} }};"
    return textwrap.wrap(text, _WIDTH, subsequent_indent="    ")
