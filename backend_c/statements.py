"""Statements of the loop IR as C text: calls, memory, errors and loops over elements."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.expressions import Expression, read_template
from scriptc.backend_c.literals import c_array, c_string
from scriptc.backend_c.writer import Writer, wrap
from scriptc.ir.core import Op
from scriptc.ir.dtypes import C_ENUM
from scriptc.ir.handlers import handlers
from scriptc.ir.types import is_counted
from scriptc.runtime.kernels import KERNELS

if TYPE_CHECKING:
    from scriptc.backend_c.function import FunctionPrinter

PRINTERS, prints = handlers()


@prints("c.unwind")
def print_unwind(printer: FunctionPrinter, op: Op) -> None:
    printer.unwound = op.operands


@prints("c.at")
def print_at(printer: FunctionPrinter, op: Op) -> None:
    printer.row = op.operands[0]


@prints("const", "undef")
def print_constant(printer: FunctionPrinter, op: Op) -> None:
    printer.assign(op.result, printer.spell_constant(op))


@prints("c.load")
def print_load(printer: FunctionPrinter, op: Op) -> None:
    printer.assign(op.result, printer.spell_load(op))


@prints("c.store")
def print_store(printer: FunctionPrinter, op: Op) -> None:
    printer.line(f"{printer.spell_element(op)} = {printer.spell(op.operands[2]).bare};")


@prints("c.retain")
def print_retain(printer: FunctionPrinter, op: Op) -> None:
    printer.line(f"{printer.invoke('sc_retain', printer.spell(op.operands[0]).text)};")


@prints("c.release")
def print_release(printer: FunctionPrinter, op: Op) -> None:
    printer.line(f"{printer.invoke('sc_release', printer.spell(op.operands[0]).text)};")


@prints("c.cell")
def print_cell(printer: FunctionPrinter, op: Op) -> None:
    printer.declare(op.result, f" = {printer.spell(op.operands[0]).bare}")
    if is_counted(op.result.type):
        printer.line(f"{printer.invoke('sc_retain', printer.spell(op.result).text)};")


@prints("c.get")
def print_get(printer: FunctionPrinter, op: Op) -> None:
    printer.assign(op.result, printer.spell(op.operands[0]))


@prints("c.set")
def print_set(printer: FunctionPrinter, op: Op) -> None:
    cell, value = printer.variables[op.operands[0]], printer.spell(op.operands[1]).bare
    if is_counted(op.operands[0].type):
        printer.line(f"{printer.invoke('sc_retain', value)};")
        printer.line(f"{printer.invoke('sc_release', cell)};")
    printer.line(f"{cell} = {value};")


@prints("c.view")
def print_view(printer: FunctionPrinter, op: Op) -> None:
    name = printer.variables[op.result]
    printer.line(f"sc_tensor {name};")
    printer.line(f"{op.attrs['kernel']}(&{name}, {printer.spell_arguments(op)});")


@prints("c.call")
def print_kernel_call(printer: FunctionPrinter, op: Op) -> None:
    args, fn = printer.spell_arguments(op), op.attrs["kernel"]
    match KERNELS[fn].fails:
        case "never" if not op.results:
            printer.line(f"{fn}({args});")
        case "never":
            printer.assign(op.result, Expression(f"{fn}({args})"))
        case "null":
            printer.assign(op.result, Expression(f"{fn}({args})"))
            printer.print_failure(op, f"!{printer.spell(op.result).text}")
        case "status":
            for result in op.results:
                args += f", {printer.address_of_result(result)}"
            printer.print_failure(op, f"{fn}({args}) < 0")


@prints("call")
def print_call(printer: FunctionPrinter, op: Op) -> None:
    args = [printer.record_name(name) for name in ("cx", *(["w"] if printer.program.weights else []))]
    args += [*(printer.spell(v).text for v in op.operands), *map(printer.address_of_result, op.results)]
    printer.print_failure(op, f"{printer.program.functions[op.attrs['func']]}({', '.join(args)}) < 0")


@prints("raise")
def print_raise(printer: FunctionPrinter, op: Op) -> None:
    message = c_string(op.attrs["message"])
    if op.operands:
        values = [printer.spell(v).text for v in op.operands]
        printer.line(f"{printer.invoke('sc_raise_text', c_string(op.attrs['type']), message, *values)};")
    else:
        printer.line(f"{printer.invoke('sc_raise', c_string(op.attrs['type']), c_string('%s'), message)};")
    printer.print_failure(op)


@prints("c.stop")
def print_stop(printer: FunctionPrinter, op: Op) -> None:
    printer.print_failure(op, f"{printer.invoke('sc_check_stop')} < 0")


@prints("reraise")
def print_reraise(printer: FunctionPrinter, op: Op) -> None:
    printer.line(f"{printer.invoke('sc_reraise', printer.spell(op.operands[0]).text)};")
    printer.print_failure(op)


@prints("unreachable")
def print_unreachable(printer: FunctionPrinter, op: Op) -> None:
    printer.line("__builtin_unreachable();")


@prints("c.rows")
def print_rows(printer: FunctionPrinter, op: Op) -> None:
    inputs = ", ".join(printer.spell_list(op, op.attrs["args"]))
    dtypes = ", ".join(C_ENUM[d] for d in op.attrs["dtypes"])
    names = [printer.variables[r] for r in op.results]
    if len(names) == 1:
        out = printer.address_of_result(op.result)
    else:
        out = printer.local.unseen("out")
        printer.line(f"sc_tensor *{out}[{len(names)}];")
    over = (f"{op.attrs['last']:#x}",) if op.attrs["last"] else ()
    results = (str(len(names)), f"(const int[]){{{dtypes}}}", out)
    operands = (str(len(op.attrs["args"])), f"(sc_tensor *[]){{{inputs}}}")
    begin = "sc_iter_over" if over else "sc_iter_begin"
    begun = printer.invoke(begin, printer.record_name("it"), *results, *operands, *over)
    printer.print_failure(op, f"{begun} < 0")
    for i, result in enumerate(op.results):
        if len(names) > 1:
            printer.assign(result, Expression(f"{out}[{i}]"))
    _print_in_place_or_apart(printer, op, _print_row_loop)


def _print_row_loop(printer: FunctionPrinter, op: Op) -> None:
    printer.writer.open("do {")
    printer.print_block(op.regions[0])
    printer.writer.close(f"}} while ({printer.invoke('sc_iter_next', printer.record_name('it'))});")


@prints("c.new")
def print_new(printer: FunctionPrinter, op: Op) -> None:
    sizes = printer.spell_list(op, op.attrs["sizes"])
    array = read_template(c_array(sizes)).fill(lambda i: Expression(sizes[i])).text
    taken = [printer.spell(op.operands[op.attrs["take"]]).text] if op.attrs["take"] >= 0 else []
    made = printer.invoke("sc_take" if taken else "sc_empty", *taken, C_ENUM[op.attrs["dtype"]], str(len(sizes)), array)
    printer.assign(op.result, Expression(made))
    printer.print_failure(op, f"!{printer.spell(op.result).text}")


@prints("c.for")
def print_for(printer: FunctionPrinter, op: Op) -> None:
    if is_element_loop(op):
        _print_in_place_or_apart(printer, op, _print_element_loop)
    else:
        _print_element_loop(printer, op)


def _print_element_loop(printer: FunctionPrinter, op: Op) -> None:
    k = printer.variables[op.regions[0].args[0]]
    if not any(inner.name == "c.for" for inner in op.regions[0].ops):
        printer.line("SC_VECTORIZE")
    printer.writer.open(f"for (int64_t {k} = 0; {k} < {printer.spell(op.operands[0]).text}; {k}++) {{")
    printer.print_block(op.regions[0])
    printer.writer.close()


def _print_in_place_or_apart(printer: FunctionPrinter, op: Op, body: Callable[[FunctionPrinter, Op], None]) -> None:
    """Print a loop over elements in place, or as a function of its own that takes the variables that the loop reads."""
    if not printer.splits:
        body(printer, op)
        return
    inner = _apart(printer, op)
    body(inner, op)
    inner.mark_unread()
    given = [v for v in inner.read if not any(region.encloses(v.block) for region in op.regions)]
    if any(v.op is not None and v.op.name == "c.view" for v in given):  # a variable of this block, not an object
        body(printer, op)
        return
    printer.read.update(dict.fromkeys(given))
    printer.fixed |= inner.fixed
    fixed = {"cx": "sc_ctx *cx", "w": f"const {printer.program.weights} *w", "it": "sc_iter *it"}
    parameters = {name: text for name, text in fixed.items() if name in inner.fixed}
    parameters |= {printer.variables[v]: printer.spell_declaration(v) for v in given}
    made = next((v for v in (*op.results, *op.operands) if v.op is op or (v.op and v.op.name == "c.new")), None)
    name = _function_of(inner, printer.variables[made] if made else "loop", list(parameters.values()))
    printer.line(f"{name}({', '.join(parameters)});")


def _apart(printer: FunctionPrinter, op: Op) -> FunctionPrinter:
    """Return a printer of lines of a C function of its own, which an op becomes."""
    inner = copy.copy(printer)
    inner.writer = Writer(debug=printer.writer.debug, path=printer.locs.path)
    inner.declared, inner.read, inner.fixed = {}, {}, set()
    inner.line = inner.writer.line
    inner.writer.source(op.loc)
    return inner


def _function_of(inner: FunctionPrinter, wish: str, parameters: list[str]) -> str:
    """Return the name of a C function with the lines that were printed apart. Equal lines share a function."""
    program, lines = inner.program, inner.writer.lines
    key = _renamed([*parameters, *lines], set(map(inner.variables.__getitem__, [*inner.declared, *inner.read])))
    name = program.loops.get(key)
    if name is None:
        name = program.loops[key] = program.fresh(f"{program.functions[inner.func.name]}_{wish}")
        inner.loops += [*wrap(f"static SC_NOINLINE void {name}({', '.join(parameters)}) {{"), *lines, "}", ""]
    return name


@prints("c.activation")
def print_activation(printer: FunctionPrinter, op: Op) -> None:
    inner = _apart(printer, op)
    x, rows, _, stride = (printer.variables[a] for a in op.regions[0].args)
    inner.writer.open(f"for (; {rows} > 0; {rows}--, {x} += {stride}) {{")
    inner.print_block(op.regions[0])
    inner.writer.close()
    inner.mark_unread()
    name = _function_of(inner, printer.variables[op.result], [printer.spell_declaration(a) for a in op.regions[0].args])
    printer.assign(op.result, Expression(name))


def _renamed(lines: Sequence[str], names: set[str]) -> tuple[str, ...]:
    """Return lines without comments, with names by the order in which they occur."""
    numbers: dict[str, str] = {}

    def number(word: re.Match[str]) -> str:
        return numbers.setdefault(word[0], f"v{len(numbers)}") if word[0] in names else word[0]

    return tuple(re.sub(r"\b[a-z_]\w*", number, line) for line in lines if not line.lstrip().startswith("/*"))


def is_element_loop(op: Op) -> bool:
    """Return whether an op is a loop over elements, and not a part of one, or of a function of its own."""
    around = ("c.rows", "c.for", "c.activation")
    return op.name == "c.rows" or (op.name == "c.for" and op.enclosing(lambda o: o.name in around) is None)
