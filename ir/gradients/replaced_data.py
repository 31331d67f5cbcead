"""Refuse gradients that would need the data that a tensor had before an assignment to its `.data`.

Autograd saves a weight as the tensor that it is. If the program gives the weight other data later, autograd computes with
these, not with those of forward.
"""

from __future__ import annotations

from scriptc.ir.core import Func, Op, Value
from scriptc.ir.gradients.activity import Flow
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.regions import fed_values


def refuse_older_data(func: Func) -> None:
    """Raise CompileError if a weight is used where its data may be assigned to afterwards."""
    order = {op: i for i, op in enumerate(func.body.walk())}
    assigned: dict[str, list[Op]] = {}
    for op in order:
        if op.name == "with_data" and (name := _param_of(op.operands[1])) is not None:
            assigned.setdefault(name, []).append(op)
    leaving = [v for op in order if op.name in ("return", "state.set") for v in op.operands] if assigned else []
    recorded = Flow([func.body]).sources(leaving) if assigned else set()
    for name, writers in assigned.items():
        params = [op for op in order if op.name == "param" and op.attrs["name"] == name]
        for user in _users([op.result for op in (*params, *writers)], recorded):
            if any(order[writer] > order[user] or _common_loop(writer, user) for writer in writers):
                what = "code that uses a weight before an assignment to its .data"
                raise not_differentiable(user, what, "write into a detached copy of it")


def refuse_changed_arguments(func: Func) -> None:
    """Raise CompileError if the function gives an argument another shape or other data: backward would find these."""
    for op in func.body.walk():
        if op.name == "changed_argument":
            raise not_differentiable(op, "code that changes the shape or data of an argument", "change a copy: x = x.detach()")


def _param_of(value: Value) -> str | None:
    return value.op.attrs["name"] if value.op is not None and value.op.name == "param" else None


def _users(values: list[Value], recorded: set[Value]) -> set[Op]:
    """Return the ops that use values, or values that may be one of these, and on whose results results depend."""
    seen, todo, found = set[Value](), [*values], set[Op]()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for (_, i), op in value.uses.items():
            if op.has("TERMINATOR") or op.regions:
                todo += fed_values(op, i)
            elif op.name not in ("alias", "with_data") and not recorded.isdisjoint(op.results):
                found.add(op)
    return found


def _common_loop(first: Op, second: Op) -> bool:
    """Return whether a loop has both ops in it."""
    around = set()
    loop = first.enclosing(lambda op: op.name == "loop")
    while loop is not None:
        around.add(loop)
        loop = loop.enclosing(lambda op: op.name == "loop")
    return second.enclosing(lambda op: op in around) is not None
