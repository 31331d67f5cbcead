"""The table of source locations that a program's errors refer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scriptc.backend_c.literals import c_path, c_string
from scriptc.ir.loc import Loc


class LocTable:
    """The rows of a program's table of locations.

    path: turns the path of a source file into the path that errors show.
    """

    def __init__(self, path: Callable[[str], str] = str) -> None:
        self.path = path
        self.rows: list[Loc] = []
        self._index: dict[Loc, int] = {}
        self._runs: dict[tuple[Loc, ...], int] = {}

    def row(self, loc: Loc) -> int:
        """Return the row of a location, by the line and the calls that the line was inlined through."""
        key = whole_lines(loc)
        if key not in self._index:
            self._add(key)
        return self._index[key]

    def run(self, locs: Sequence[Loc]) -> int:
        """Return the first of consecutive rows of several locations."""
        keys = tuple(map(whole_lines, locs))
        if len(keys) == 1:
            return self.row(keys[0])
        if keys not in self._runs:
            for key in keys:
                if key.inlined_at is not None:
                    self.row(key.inlined_at)
            self._runs[keys] = len(self.rows)
            for key in keys:
                self._add(key)
        return self._runs[keys]

    def _add(self, key: Loc) -> None:
        if key.inlined_at is not None:
            self.row(key.inlined_at)
        self._index.setdefault(key, len(self.rows))
        self.rows.append(key)

    def text(self) -> str:
        if not self.rows:
            return ""
        lines = ["static const sc_loc locs[] = {"]
        for loc in self.rows:
            parts = [c_path(self.path(loc.file)), c_string(loc.func), c_string(loc.text.strip())]
            outer = -1 if loc.inlined_at is None else self._index[loc.inlined_at]
            lines.append(f"    {{{', '.join(parts)}, {loc.line}, {outer}}},")
        return "\n".join([*lines, "};", ""])


def whole_lines(loc: Loc) -> Loc:
    """Return the line of a location, with the lines of the calls that it was inlined through."""
    outer = loc.inlined_at and whole_lines(loc.inlined_at)
    return Loc(loc.file, loc.line, func=loc.func, inlined_at=outer)
