"""Structure of the loop IR as C text: `if`, `loop`, `scope`, `try` and what leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.expressions import Expression, Form
from scriptc.backend_c.variables import loop_parts
from scriptc.ir.core import Block, Op
from scriptc.ir.handlers import handlers

if TYPE_CHECKING:
    from scriptc.backend_c.function import FunctionPrinter

PRINTERS, prints = handlers()


@prints("if")
def print_if(printer: FunctionPrinter, op: Op) -> None:
    printer.declare_all(op.results)
    condition = printer.spell(op.operands[0])
    then, orelse = op.regions
    if _is_empty(then) and not _is_empty(orelse):
        condition, then, orelse = Expression(f"!{condition.operand}", Form.COMPOUND), orelse, then
    printer.writer.open(f"if ({condition.bare}) {{")
    printer.print_block(then)
    while (nested := _elif_of(printer, orelse)) is not None:
        printer.writer.close(f"}} else if ({printer.spell(nested.operands[0]).bare}) {{")
        printer.writer.depth += 1
        printer.print_block(nested.regions[0])
        orelse = nested.regions[1]
    if not _is_empty(orelse):
        printer.writer.close("} else {")
        printer.writer.depth += 1
        printer.print_block(orelse)
    printer.writer.close()


def _elif_of(printer: FunctionPrinter, block: Block) -> Op | None:
    """Return the `if` that is all of a block and can be its `else if`; else None."""
    ops = [op for op in block.ops if op not in printer.variables.inline]
    if len(ops) != 2 or ops[0].name != "if" or ops[1].name != "yield" or _is_empty(ops[0].regions[0]):
        return None
    shared = all(printer.variables.find(r) in printer.declared for r in ops[0].results)
    return ops[0] if shared and list(ops[1].operands) == ops[0].results else None


@prints("scope")
def print_scope(printer: FunctionPrinter, op: Op) -> None:
    printer.declare_all(op.results)
    printer.writer.open("{")
    printer.print_block(op.regions[0])
    printer.writer.close()
    _end_label(printer, op)


@prints("try")
def print_try(printer: FunctionPrinter, op: Op) -> None:
    printer.declare_all(op.results)
    body, handler = op.regions
    printer.writer.open("{")
    printer.print_block(body)
    caught = printer.targets.get(op, {}).get("except")
    if caught and body.ops[-1].name == "yield":
        printer.print_goto(op, "end")
    printer.writer.close()
    if caught:  # otherwise no op in the body can fail
        printer.writer.label(caught)
        printer.writer.open("{")
        printer.print_block(handler)
        printer.writer.close()
    _end_label(printer, op)


@prints("loop")
def print_loop(printer: FunctionPrinter, op: Op) -> None:
    n, init, carried = loop_parts(op)
    for arg, first in zip(carried, init, strict=True):
        if printer.variables.find(arg) is not printer.variables.find(first):
            printer.assign(arg, printer.spell(first))
    printer.declare_all(op.results)
    leading = _leading_stop(op)
    if leading:
        printer.strips.add(op)
    _loop_head(printer, op, n, leading)
    printer.print_block(op.regions[0], len(leading))
    if "next" in printer.targets.get(op, {}):
        printer.writer.label(printer.targets[op]["next"])
    printer.writer.close()
    if leading:
        printer.writer.close()
    if n:
        printer.assign_all(dict(zip(op.results, carried, strict=False)))
    _end_label(printer, op)


def _loop_head(printer: FunctionPrinter, op: Op, bounds: int, leading: Sequence[Op]) -> None:
    """Open a loop.

    leading: ops at the start of the body that need to run only once in many iterations. With them, the loop becomes
    two: one over strips of iterations, which begins with these ops, and within it one over the iterations of a strip.
    """

    def strips(head: str, end: str, inner: str) -> None:
        printer.writer.open(head)
        for first in leading:
            printer.print_statement(first)
        if end:
            printer.line(f"const {end};")
        printer.writer.open(inner)

    if not bounds:
        left = printer.local.unseen("left") if leading else ""
        if leading:
            strips("for (;;) {", "", f"for (int {left} = SC_STRIP; {left} > 0; {left}--) {{")
        else:
            printer.writer.open("for (;;) {")
        return
    first, last, by = map(printer.spell, op.operands[:3])
    start, stop, step = first.bare, last.operand, by.text
    i = printer.variables[op.regions[0].args[0]]
    if step in ("1", "-1"):
        sign, change = ("<", "++") if step == "1" else (">", "--")
        if not leading:
            printer.writer.open(f"for (int64_t {i} = {start}; {i} {sign} {stop}; {i}{change}) {{")
            return
        end = printer.local.unseen("end")
        strip = printer.invoke("sc_strip_up" if step == "1" else "sc_strip_down", i, last.bare)
        head = f"for (int64_t {i} = {start}; {i} {sign} {stop};) {{"
        strips(head, f"int64_t {end} = {strip}", f"for (; {i} {sign} {end}; {i}{change}) {{")
        return
    k, n = printer.local.unseen("k"), printer.local.unseen("n")
    length = printer.invoke("sc_range_len", start, stop, step)
    if leading:
        end = printer.local.unseen("end")
        strip = f"{n} - {k} > SC_STRIP ? {k} + SC_STRIP : {n}"
        head = f"for (uint64_t {k} = 0, {n} = {length}; {k} < {n};) {{"
        strips(head, f"uint64_t {end} = {strip}", f"for (; {k} < {end}; {k}++) {{")
    else:
        printer.writer.open(f"for (uint64_t {k} = 0, {n} = {length}; {k} < {n}; {k}++) {{")
    printer.declare(op.regions[0].args[0], f" = {printer.invoke('sc_range_at', start, step, k)}")


def _end_label(printer: FunctionPrinter, op: Op) -> None:
    if "end" in printer.targets.get(op, {}):
        printer.writer.label(printer.targets[op]["end"])


@prints("yield")
def print_yield(printer: FunctionPrinter, op: Op) -> None:
    assert op.parent is not None and op.parent.parent is not None
    holder = op.parent.parent
    targets = loop_parts(holder)[2] if holder.name == "loop" else holder.results
    if op.operands:
        printer.assign_all(dict(zip(targets, op.operands, strict=True)))


def _target(printer: FunctionPrinter, op: Op) -> tuple[Op, bool]:
    """Return the op that a `break` or `continue` goes to, and whether that op is the innermost C loop."""
    inner = op.enclosing(lambda o: o.name == "loop")
    found = op.enclosing(lambda o: o.attrs.get("label") == op.attrs["to"])
    assert found is not None
    return found, found is inner


@prints("break")
def print_break(printer: FunctionPrinter, op: Op) -> None:
    target, is_inner = _target(printer, op)
    printer.assign_all(dict(zip(target.results, op.operands, strict=True)))
    if is_inner and target not in printer.strips and not _copies_at_end(printer, target):
        printer.line("break;")
    else:
        printer.print_goto(target, "end")


def _copies_at_end(printer: FunctionPrinter, loop: Op) -> bool:
    """Return whether a counted loop assigns its results when it ends by itself: a `break` must jump over that."""
    carried = zip(loop.results, loop_parts(loop)[2], strict=False)
    return bool(loop.attrs["counted"]) and any(printer.variables[r] != printer.variables[a] for r, a in carried)


@prints("continue")
def print_continue(printer: FunctionPrinter, op: Op) -> None:
    target, is_inner = _target(printer, op)
    printer.assign_all(dict(zip(loop_parts(target)[2], op.operands, strict=True)))
    if is_inner:
        printer.line("continue;")
    else:
        printer.print_goto(target, "next")


@prints("return")
def print_return(printer: FunctionPrinter, op: Op) -> None:
    for i, value in enumerate(op.operands):
        printer.line(f"*{printer.record_name(f'result{i}')} = {printer.spell(value).bare};")
    printer.line("return 0;")


def _leading_stop(loop: Op) -> list[Op]:
    """Return the c.stop at the start of a loop's body with what belongs to it, where the c.stop is sparse; else nothing."""
    ops = loop.regions[0].ops
    at = next(i for i, op in enumerate(ops) if op.name not in ("c.at", "c.unwind"))
    return list(ops[: at + 1]) if ops[at].name == "c.stop" and ops[at].attrs["sparse"] else []


def _is_empty(block: Block) -> bool:
    return len(block.ops) == 1 and block.ops[0].name == "yield" and not block.ops[0].operands
