"""Source locations: absolute positions in the user's files, with the chain of inlined calls."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True, unsafe_hash=True)  # never changed; a frozen dataclass takes three times as long to make
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
        """Yield this location, then the call sites through which it was inlined, innermost first."""
        loc: Loc | None = self
        while loc is not None:
            yield loc
            loc = loc.inlined_at

    @property
    def text(self) -> str:
        """Return the source line without its newline, "" if the file cannot be read."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}:{self.col + 1}"


def shown_file(file: str) -> str:
    """Return a file's name for messages. For the file of an IPython cell, this is such as `Cell In[3]`."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)
    return " ".join(name_of(file) or (file,))
