"""Lines of C: indentation, wrapping, comments with source lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from scriptc.backend_c.literals import c_string
from scriptc.ir.loc import Loc

WIDTH = 118
INDENT = "    "


def comment(text: str) -> str:
    return f"/* {text.replace('*/', '* /').replace('/*', '/ *')} */"


def wrap(line: str) -> list[str]:
    """Breaks a long line: before the `return` behind a condition, else behind a comma outside of strings."""
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + INDENT
    head, condition, tail = line.partition(") return ")
    if condition and line.lstrip().startswith("if "):
        return [*wrap(head + ")"), f"{indent}return {tail}"]
    lines = []
    while len(line) > WIDTH:
        breaks = [m.end() for m in re.finditer(r'"(?:\\.|[^"\\])*"|,(?= )', line) if m[0] == "," and m.end() <= WIDTH]
        if not breaks or breaks[-1] <= len(indent) + len(INDENT):
            break
        lines.append(line[: breaks[-1]])
        line = indent + INDENT + line[breaks[-1] :].lstrip()
    return [*lines, line]


class Writer:
    """Collects the lines of one function body. path: see `LocTable`."""

    def __init__(self, *, debug: bool, path: Callable[[str], str] = str):
        self.debug = debug
        self.path = path
        self.depth = 1
        self.lines: list[str] = []
        self.at: tuple[str, int] | None = None

    def line(self, text: str) -> None:
        """One statement. For a debugger, all of its lines are at the user's line."""
        for piece in wrap(INDENT * self.depth + text):
            if self.debug and self.at is not None:
                self.lines.append(f"#line {self.at[1]} {c_string(self.path(self.at[0]))}")
            self.lines.append(piece)

    def label(self, name: str) -> None:
        self.lines.append(f"{INDENT * (self.depth - 1)}{name}:;")

    def open(self, text: str) -> None:
        self.line(text)
        self.depth += 1

    def close(self, text: str = "}") -> None:
        self.depth -= 1
        self.line(text)

    def source(self, loc: Loc) -> None:
        """The user's line, where it is not that of the statement before."""
        if self.at == (loc.file, loc.line):
            return
        self.at = (loc.file, loc.line)
        text = loc.text.strip()
        if text:
            file = re.split(r"[/\\]", loc.file)[-1]
            note = f"{file}:{loc.line}: {text}"
            room = WIDTH - len(INDENT) * self.depth - 6
            self.line(comment(note if len(note) <= room else note[: room - 3] + "..."))
