"""IR as text. The form is generic: no op has a printer of its own; sugar stands only for `loop` and `if`.

func @f(%x: f32[B, 16], %n: i64) -> (f32[B, 16]) {
  %h = loop L0 %i = 0 to %n step 1 carry (%h1 = %x) -> (f32[B, 16]) { ... yield %h2 }
  return %h
}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from scriptc.ir.core import Attr, Block, Func, Module, Op, Value
from scriptc.ir.loc import Loc
from scriptc.ir.types import Names


def format_attr(value: Attr) -> str:
    """Return an attribute in the form that the grammar reads."""
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        if not text.isprintable():
            escapes = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
            text = "".join(c if c.isprintable() else escapes.get(c, f"\\u{{{ord(c):x}}}") for c in text)
        return f'"{text}"'
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        return ("-inf" if value < 0 else "inf") if math.isinf(value) else repr(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(format_attr, value)) + "]"
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"not an attribute: {value!r}")


def _identifier(name: str, letter: str) -> str:
    """Return the name of a value as the grammar has names; that of a param may be the index of a module in a list."""
    return name if name.isidentifier() else letter + re.sub(r"\W", "_", name)


def name_values(func: Func) -> dict[Value, str]:
    """Return unique names for all values of a function, the user's where possible."""
    names = Names()
    table: dict[Value, str] = {}

    def visit(block: Block) -> None:
        for arg in block.args:
            table[arg] = names.fresh(_identifier(arg.name, "a"))
        for op in block.ops:
            for result in op.results:
                table[result] = names.fresh(_identifier(result.name, "t"))
            for region in op.regions:
                visit(region)

    visit(func.body)
    return table


class Printer:
    """Print one function. `notes` puts lines under some ops, such as the verifier's messages."""

    def __init__(self, func: Func, *, locs: bool = False, notes: dict[int, list[str]] | None = None):
        self.func = func
        self.locs = locs
        self.notes = notes or {}
        self.names = name_values(func)

    def value(self, value: Value) -> str:
        return "%" + self.names.get(value, "<out of function>")

    def values(self, values: list[Value] | tuple[Value, ...]) -> str:
        return ", ".join(map(self.value, values))

    def typed(self, values: list[Value]) -> str:
        return ", ".join(f"{self.value(v)}: {v.type}" for v in values)

    def lines(self) -> Iterator[str]:
        func = self.func
        results = ", ".join(map(str, func.results))
        yield f"func @{func.name}({self.typed(func.body.args)}) -> ({results}) {{{self.loc(func.loc)}"
        yield from self.block(func.body, "  ")
        yield "}"

    def block(self, block: Block, indent: str) -> Iterator[str]:
        for op in block.ops:
            yield from self.op(op, indent)
            for note in self.notes.get(id(op), ()):
                yield f"{indent}^^^ {note}"

    def op(self, op: Op, indent: str) -> Iterator[str]:
        head = f"{indent}{self.values(op.results)} = " if op.results else indent
        types = " -> (" + ", ".join(str(r.type) for r in op.results) + ")" if op.results else ""
        loc = self.loc(op.loc)
        if op.name == "loop":
            n = 3 if op.attrs["counted"] else 0
            args = op.regions[0].args
            text = f"loop {op.attrs['label']} "
            if n:
                start, stop, step = op.operands[:3]
                text += f"{self.value(args[0])} = {self.value(start)} to {self.value(stop)} step {self.value(step)} "
            carried = zip(args[1:] if n else args, op.operands[n:], strict=True)
            text += "carry (" + ", ".join(f"{self.value(a)}: {a.type} = {self.value(v)}" for a, v in carried) + ")"
            yield f"{head}{text}{types} {{{loc}"
            yield from self.block(op.regions[0], indent + "  ")
            yield indent + "}"
        elif op.name == "if":
            yield f"{head}if {self.value(op.operands[0])}{types} {{{loc}"
            yield from self.block(op.regions[0], indent + "  ")
            yield indent + "} else {"
            yield from self.block(op.regions[1], indent + "  ")
            yield indent + "}"
        else:
            attrs = ", ".join(f"{k} = {format_attr(v)}" for k, v in op.attrs.items())
            text = f"{op.name}({self.values(op.operands)})" + (f" {{{attrs}}}" if attrs else "") + types
            text += " no_grad" if op.no_grad else ""
            if not op.regions:
                yield f"{head}{text}{loc}"
                return
            for i, region in enumerate(op.regions):
                params = f"({self.typed(region.args)}) " if region.args else ""
                yield (f"{head}{text} do " if i == 0 else f"{indent}}} do ") + params + "{" + (loc if i == 0 else "")
                yield from self.block(region, indent + "  ")
            yield indent + "}"

    def loc(self, loc: Loc) -> str:
        return f" loc({format_attr(loc.file)}, {loc.line}, {loc.col})" if self.locs else ""


def print_func(func: Func, *, locs: bool = False, notes: dict[int, list[str]] | None = None) -> str:
    return "\n".join(Printer(func, locs=locs, notes=notes).lines()) + "\n"


def print_module(module: Module, *, locs: bool = False) -> str:
    """Return the text of a module, from which the parser makes an equal module."""
    head = [f"module {format_attr(module.name)} entries({', '.join('@' + e for e in module.entries)})"]
    head += [f"param {format_attr(p.name)} : {p.type}" for p in module.params.values()]
    head += [f"exception {format_attr(n)}({', '.join(map(format_attr, b))})" for n, b in module.exceptions.items()]
    head += [
        f"record {format_attr(r.name)}({', '.join(str(r.type_of(i)) for i in range(len(r.fields)))})"
        for r in module.records.values()
    ]
    return "\n".join(head) + "\n\n" + "\n".join(print_func(f, locs=locs) for f in module.funcs.values())
