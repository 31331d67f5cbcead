"""`return`, `break` and `continue`: a jump leaves the scopes and the `finally` blocks around it."""

from __future__ import annotations

import ast

from scriptc.frontend.reader.dispatch import runs
from scriptc.frontend.reader.paths import keep_variables, snapshot
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.source.scope import read_inside
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.frame import ReturnSite

RETURNED = "·returned"


@runs(ast.Return)
def run_return(reader: Reader, node: ast.Return) -> bool:
    leave_with(reader, Known(None) if node.value is None else reader.evaluate(node.value))
    return False


def leave_with(reader: Reader, av: AbstractValue) -> None:
    if read_inside(reader.position.frame.source.node):
        av = keep_variables(reader, av)
    leave_by(reader, "return", av)


def return_value(reader: Reader, av: AbstractValue) -> None:
    label = reader.position.frame.label
    op = reader.emit.effect("break", (), to=label) if label else reader.emit.effect("return", ())
    reader.position.frame.returns.append(ReturnSite(op, av, dict(reader.heap.contents)))


@runs(ast.Break)
def run_break(reader: Reader, node: ast.Break) -> bool:
    leave_by(reader, "break", None)
    return False


@runs(ast.Continue)
def run_continue(reader: Reader, node: ast.Continue) -> bool:
    leave_by(reader, "continue", None)
    return False


def leave_loop(reader: Reader, way: str) -> None:
    target = reader.position.frame.loops[-1]
    if way == "break":
        target.breaks.append((reader.emit.effect("break", (), to=target.break_label), snapshot(reader)))
        return
    op = reader.emit.effect(target.continue_op, (), to=target.continue_label)
    target.continues.append((op, snapshot(reader)))


def leave_by(reader: Reader, way: str, value: AbstractValue | None) -> None:
    """Jump by return, break or continue, through the innermost `finally` on the way."""
    frame = reader.position.frame
    final = frame.finals[-1] if frame.finals else None
    if final is not None and (way == "return" or final.loops == len(frame.loops)):
        label, exits = final.ways[way]
        env = snapshot(reader)
        if value is not None:
            env[RETURNED] = value
        exits.append((reader.emit.effect("break", (), to=label), env))
    elif way == "return":
        assert value is not None
        return_value(reader, value)
    else:
        leave_loop(reader, way)
