"""Names at file scope of a program."""

from __future__ import annotations

from scriptc.backend_c.c_names import CNames, identifier
from scriptc.backend_c.c_types import declare
from scriptc.ir.core import Func, Module
from scriptc.ir.types import Names


class ProgramNames:
    """The names at file scope, and the members of the struct of weights."""

    def __init__(self, module: Module):
        names, prefix = CNames(), identifier(module.name)
        self.weights = names.fresh(f"{prefix}_weights") if module.params else None
        self.functions = {f: names.fresh(f if "." in f else f"{prefix}_{f}") for f in module.funcs}
        self.entries = {f: names.fresh(f"{self.functions[f]}_entry") for f in module.entries}
        self.fresh = names.fresh
        self.loops: dict[tuple[str, ...], str] = {}  # the names of the C functions made from loops, by their lines
        self.texts: dict[str, str] = {}  # the names of constant strings
        self._text_names = Names()  # in capitals, unlike variables
        members = CNames()
        self.members = {path: members.fresh(path) for path in module.params}

    def text(self, text: str) -> str:
        if text not in self.texts:
            self.texts[text] = self._text_names.fresh(f"TEXT_{identifier(text[:20]).upper()}")
        return self.texts[text]


def signature(func: Func, names: ProgramNames, parameters: list[str]) -> str:
    weights = [f"const {names.weights} *w"] if names.weights else []
    results = [declare(t, f"*result{i}").replace("* *", "**") for i, t in enumerate(func.results)]
    return f"static int {names.functions[func.name]}({', '.join(['sc_ctx *cx', *weights, *parameters, *results])})"
