"""`scriptc.explain`: what in a call's program cannot be compiled, and what to write instead, without compiling it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scriptc.driver.options import Options
from scriptc.driver.target import target_of
from scriptc.frontend.entry import read
from scriptc.frontend.environment.specs import describe
from scriptc.inspect.notebook_html import html_table, paragraph, print_text
from scriptc.ir.errors import CompileError, Diagnostic


@dataclass(frozen=True)
class Explanation:
    """What one call's program would meet.

    diagnostics: every place that cannot be compiled, in source order; each has `loc` (file, line, the calls that led
    there), `message` and `hint`. signature: what the arguments were taken for, None where there are diagnostics.
    """

    name: str
    diagnostics: tuple[Diagnostic, ...]
    signature: str | None = None

    @property
    def ok(self) -> bool:
        return not self.diagnostics

    def __str__(self) -> str:
        return "\n\n".join([self._head(), *map(str, self.diagnostics)])

    def _repr_html_(self) -> str:
        rows = [(str(d.loc), d.loc.text.strip(), d.message, d.hint or "") for d in self.diagnostics]
        columns = ("place", "source", "what cannot be compiled", "what to do instead")
        return paragraph(self._head()) + (html_table(columns, rows) if rows else "")

    _repr_pretty_ = print_text

    def _head(self) -> str:
        if self.ok:
            return f"{self.name} compiles for {self.signature or 'a call without arguments'}"
        count = len(self.diagnostics)
        return f"{self.name} cannot be compiled: {count} place{'s' if count != 1 else ''} to change"


def explain(obj: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Reads what `scriptc.compile(obj)(*args, **kwargs)` would read; nothing is run.

    obj: a function, method, nn.Module class instance, or what `scriptc.compile` made of one. Raises TypeError where the
    arguments do not fit, as the call would.
    """
    target = target_of(obj)
    arguments = target.bind(args, kwargs)
    try:
        entry = read(target.func, target.receiver, arguments, dynamic=Options().dynamic)
    except CompileError as error:
        return Explanation(target.name, tuple(error.diagnostics))
    return Explanation(target.name, (), ", ".join(f"{a.name}: {describe(a.spec)}" for a in entry.args))
