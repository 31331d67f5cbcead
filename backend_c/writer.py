"""Lines of C: indentation, wrapping, comments with source lines."""

from __future__ import annotations

from collections.abc import Callable

from scriptc.backend_c.literals import c_string
from scriptc.ir.loc import Loc

WIDTH = 118
INDENT = "    "


def comment(text: str) -> str:
    return f"/* {text.replace('*/', '* /').replace('/*', '/ *')} */"


def wrap(line: str) -> list[str]:
    """Return a long line as several: broken before the `return` after a condition, else after commas."""
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + INDENT
    head, condition, tail = line.partition(") return ")
    if condition and line.lstrip().startswith("if "):
        return [*wrap(head + ")"), f"{indent}return {tail}"]
    lines = []
    while len(line) > WIDTH:
        end = _last_comma(line)
        if end <= len(indent) + len(INDENT):
            break
        lines.append(line[:end])
        line = indent + INDENT + line[end:].lstrip()
    return [*lines, line]


def _last_comma(line: str) -> int:
    """Return the end of the last comma within WIDTH that a space follows, outside of strings; 0 where there is none."""
    end, quoted, escaped = 0, False, False
    for i, (c, following) in enumerate(zip(line[:WIDTH], line[1:], strict=False), 1):
        quoted ^= c == '"' and not escaped
        escaped = c == "\\" and not escaped
        if c == "," and following == " " and not quoted:
            end = i
    return end


class Writer:
    """Collects the lines of one function body. `path`: see `LocTable`."""

    def __init__(self, *, debug: bool, path: Callable[[str], str] = str):
        self.debug = debug
        self.path = path
        self.depth = 1
        self.lines: list[str] = []
        self.at: tuple[str, int] | None = None

    def line(self, text: str) -> None:
        """Add the lines of one statement. For a debugger, all of them are at the user's line."""
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
        """Add a comment with the user's line, unless the statement before has the same line."""
        if self.at == (loc.file, loc.line):
            return
        self.at = (loc.file, loc.line)
        text = loc.text.strip()
        if text:
            file = loc.file.replace("\\", "/").rpartition("/")[2]
            note = f"{file}:{loc.line}: {text}"
            room = WIDTH - len(INDENT) * self.depth - 6
            self.line(comment(note if len(note) <= room else note[: room - 3] + "..."))
