"""The table of source locations that a program's errors refer to."""

from __future__ import annotations

from collections.abc import Callable

from scriptc.backend_c.literals import c_path, c_string
from scriptc.ir.loc import Loc


class LocTable:
    """The rows of a program's table of locations.

    path: turns the path of a source file into the path that errors show.
    """

    def __init__(self, path: Callable[[str], str] = str) -> None:
        self.path = path
        self.rows: dict[Loc, int] = {}

    def row(self, loc: Loc) -> int:
        """Return the row of a location, by the line and the calls that the line was inlined through."""
        key = whole_lines(loc)
        if key not in self.rows:
            if key.inlined_at is not None:
                self.row(key.inlined_at)
            self.rows[key] = len(self.rows)
        return self.rows[key]

    def text(self) -> str:
        if not self.rows:
            return ""
        lines = ["static const sc_loc locs[] = {"]
        for loc in self.rows:
            parts = [c_path(self.path(loc.file)), c_string(loc.func), c_string(loc.text.strip())]
            outer = -1 if loc.inlined_at is None else self.rows[loc.inlined_at]
            lines.append(f"    {{{', '.join(parts)}, {loc.line}, {outer}}},")
        return "\n".join([*lines, "};", ""])


def whole_lines(loc: Loc) -> Loc:
    """Return the line of a location, with the lines of the calls that it was inlined through."""
    outer = loc.inlined_at and whole_lines(loc.inlined_at)
    return Loc(loc.file, loc.line, func=loc.func, inlined_at=outer)
