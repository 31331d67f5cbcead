"""`scriptc.explain`: list what cannot be compiled in the program of a call, and what to write instead."""

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
    """The places of a program that cannot be compiled. `str(explanation)` lists them, and notebooks show a table.

    name: the name of the function.
    diagnostics: one `Diagnostic` for each place, in source order.
    signature: the types of the arguments; None if there are diagnostics.
    """

    name: str
    diagnostics: tuple[Diagnostic, ...]
    signature: str | None = None

    @property
    def ok(self) -> bool:
        """Return whether the program compiles."""
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
    """Return every place of a program that `scriptc.compile(obj)(*args, **kwargs)` could not compile.

    The program is read for these arguments, and nothing runs. Diagnostics stand in the result and are not raised.

    obj: a function, method or nn.Module instance, compiled or not.

    Raises TypeError if the arguments do not fit the parameters.
    """
    target = target_of(obj)
    arguments = target.bind(args, kwargs)
    try:
        entry = read(target.func, target.receiver, arguments, dynamic=Options().dynamic, runs_hooks=target.runs_hooks)
    except CompileError as error:
        return Explanation(target.name, tuple(error.diagnostics))
    return Explanation(target.name, (), ", ".join(f"{a.name}: {describe(a.spec)}" for a in entry.args))
