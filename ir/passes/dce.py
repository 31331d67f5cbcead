"""Remove dead code: unused ops without effects, and dead results and carried values of regions.

    %y, %z = loop L %i = 0 to %n step 1 carry (%h = %x, %g = %x) {         %y = loop L ... carry (%h = %x) {
      %h1 = tanh(%h)                                                         %h1 = tanh(%h)
      %g1 = exp(%g)                                                    =>    yield(%h1)
      yield(%h1, %g1)                                                      }
    }                                                                      return(%y)
    return(%y)

Kept are ops that write, raise or leave the function, loops that might not end, and all that these need.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.regions import Operand, RegionArgument, exits, may_run_forever, region_arguments, target


def _has_effect(op: Op) -> bool:
    leaves = op.has("TERMINATOR") and target(op) is None
    return bool(op.defn.writes) or op.defn.raises or leaves or may_run_forever(op)


class _Needed:
    """The ops and region arguments of a function that an op with an effect needs."""

    def __init__(self, body: Block):
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self.argument_of: dict[Value, RegionArgument] = {}
        self.argument_operands: set[Operand] = set()
        self.todo: list[Op] = []
        everything = list(body.walk())
        for op in everything:
            for argument in region_arguments(op):
                self.argument_operands.update(argument.operands)
                self.argument_of.update({v: argument for v in (argument.inner, argument.result) if v is not None})
        for op in everything:
            if _has_effect(op):
                self.need(op)
        while self.todo:
            self.visit(self.todo.pop())

    def need(self, op: Op) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self.todo.append(op)

    def visit(self, op: Op) -> None:
        """Need the operands that an op needs to run. Those of region arguments are needed only with the argument."""
        for i, value in enumerate(op.operands):
            if (op, i) not in self.argument_operands:
                self.use(value)
        if op.parent is not None and op.parent.parent is not None:
            self.need(op.parent.parent)
        for leaving in exits(op):
            self.need(leaving)

    def use(self, value: Value) -> None:
        if value in self.values:
            return
        self.values.add(value)
        argument = self.argument_of.get(value)
        if argument is not None:
            self.values.update(v for v in (argument.inner, argument.result) if v is not None)
            self.need(argument.op)
            for op, i in argument.operands:
                self.use(op.operands[i])
        elif value.op is not None:
            self.need(value.op)


def _remove_arguments(op: Op, needed: _Needed) -> bool:
    """Remove the unneeded region arguments of a region op and of its exits."""
    dead = [a for a in region_arguments(op) if (a.inner or a.result) not in needed.values]
    drop = {operand for a in dead for operand in a.operands}
    for user in {o for o, _ in drop}:
        user.set_operands([v for i, v in enumerate(user.operands) if (user, i) not in drop])
    gone = {v for a in dead for v in (a.inner, a.result)}
    for region in op.regions:
        region.args = [a for a in region.args if a not in gone]
    op.results = [r for r in op.results if r not in gone]
    return bool(dead)


def _sweep(block: Block, needed: _Needed) -> bool:
    dead, changed = [], False
    for op in reversed(block.ops):
        if op not in needed.ops:
            dead.append(op)
            continue
        for region in op.regions:
            changed |= _sweep(region, needed)
    block.erase(dead)
    return changed or bool(dead)


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        needed = _Needed(func.body)
        for op in list(func.body.walk()):
            if op in needed.ops:
                changed |= _remove_arguments(op, needed)
        changed |= _sweep(func.body, needed)
    return changed
