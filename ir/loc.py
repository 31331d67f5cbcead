"""Source locations: absolute positions in the user's files, with the chain of calls they were inlined through."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loc:
    """A span of source text. Lines count from 1, columns from 0; `end_col` is exclusive, as in `ast`."""

    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    func: str = ""
    inlined_at: Loc | None = None

    def chain(self) -> Iterator[Loc]:
        """This location, then the call sites it was inlined at, innermost first."""
        loc: Loc | None = self
        while loc is not None:
            yield loc
            loc = loc.inlined_at

    @property
    def text(self) -> str:
        """The source line, without its newline; empty where the file cannot be read."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col + 1}"
