"""CompileError, which users see at compile time, and InternalError, which means a bug in scriptc."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scriptc.ir.loc import Loc


@dataclass(frozen=True)
class Diagnostic:
    """One place of a program that cannot be compiled.

    loc: the place: `file`, `line`, `col`, `text` (the source line), and `chain()`, the calls that led there.
    message: the reason.
    hint: what to write instead; None if nothing is known.
    """

    loc: Loc
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        loc = self.loc
        lines = [f"{loc}: error: {self.message}"]
        if text := loc.text:
            end = loc.end_col if loc.end_line == loc.line and loc.end_col > loc.col else len(text)
            lines += [text, " " * loc.col + "^" + "~" * max(0, end - loc.col - 1)]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        for site in list(loc.chain())[1:]:
            call = site.text[site.col : site.end_col if site.end_line == site.line else None].strip()
            lines.append(f"{site}: note: reached through {call or 'a call'} in {site.func or 'the entry'}")
        return "\n".join(lines)


class CompileError(Exception):
    """The program cannot be compiled.

    diagnostics: a list with one `Diagnostic` for each place that was found, in source order.
    """

    def __init__(self, diagnostics: Diagnostic | list[Diagnostic]):
        found = [diagnostics] if isinstance(diagnostics, Diagnostic) else diagnostics
        self.diagnostics: list[Diagnostic] = list(dict.fromkeys(found))
        super().__init__(self.diagnostics)
        count = len(self.diagnostics)  # format now, while linecache still has the source text
        self._text = "\n".join([*map(str, self.diagnostics), f"{count} error{'s' if count != 1 else ''}"])

    def __str__(self) -> str:
        return self._text


class InternalError(Exception):
    """The compiler failed, which is a bug in scriptc.

    loc: the line of the program that was being compiled; None if it is not known.
    """

    def __init__(self, message: str, loc: Loc | None = None):
        self.loc = loc
        at = f" while compiling {loc}: {loc.text.strip()}" if loc else ""
        super().__init__(f"internal scriptc error{at}: {message}\nThis is a bug in scriptc; please report it.")


@contextmanager
def bugs_at(loc: Loc | None) -> Iterator[None]:
    """Raise InternalError in place of any exception of the block but CompileError: the block runs nothing of the user."""
    try:
        yield
    except (CompileError, InternalError):
        raise
    except Exception as e:
        raise InternalError(f"{type(e).__name__}: {e}", loc) from e
