"""The C variables of a function: which values share one, and its name.

A carried value is a variable that `yield` assigns. The result of its loop is the same variable, so that the user's `h`
stays `h`. The initial value is the same variable too where nothing else uses it. A value that a branch makes only to
yield is the variable of the result of the `if`.
"""

from __future__ import annotations

from scriptc.backend_c.c_names import CNames
from scriptc.backend_c.c_types import c_type
from scriptc.backend_c.expression_inlining import inlined
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.types import ITER, is_counted


def loop_parts(op: Op) -> tuple[int, list[Value], list[Value]]:
    """Return the number of bounds, the initial values and the carried arguments of a loop."""
    n = 3 if op.attrs["counted"] else 0
    return n, list(op.operands[n:]), op.regions[0].args[1 if n else 0 :]


class Variables:
    """The variables of one function. `inline` has the ops whose results have none."""

    def __init__(self, func: Func, names: CNames):
        self.leader: dict[Value, Value] = {}
        self.inline: set[Op] = set()
        self.name: dict[Value, str] = {}
        self.choose(func.body)
        for op in func.body.walk():
            if op.name == "loop":
                self.share_carried(op)
        for op in func.body.walk():
            if op.name == "if":
                self.share_yielded(op)
        self.followers: dict[Value, list[Value]] = {}  # by leader: the values that share its variable
        for value in self.leader:
            self.followers.setdefault(self.find(value), []).append(value)
        self.assign(func.body, names)

    def choose(self, block: Block) -> None:
        self.inline |= inlined(block)
        for op in block.ops:
            for region in op.regions:
                self.choose(region)

    def find(self, value: Value) -> Value:
        while value in self.leader:
            value = self.leader[value]
        return value

    def share_carried(self, op: Op) -> None:
        _, init, carried = loop_parts(op)
        for i, arg in enumerate(carried):
            if i < len(op.results) and c_type(op.results[i].type) == c_type(arg.type):
                self.leader[op.results[i]] = arg
            first = init[i]
            if self.is_own(first, op.parent) and c_type(first.type) == c_type(arg.type):
                self.leader[arg] = first

    def share_yielded(self, op: Op) -> None:
        for region in op.regions:
            last = region.terminator
            if last is None or last.name != "yield":
                continue
            for result, value in zip(op.results, last.operands, strict=True):
                if self.is_own(value, region) and c_type(value.type) == c_type(result.type):
                    self.leader[self.find(value)] = self.find(result)

    def is_own(self, value: Value, block: Block | None) -> bool:
        """Return whether a value has a variable of its own and one use, and is defined in the block."""
        op = value.op
        return op is not None and op.parent is block and op not in self.inline and len(value.uses) == 1

    def assign(self, block: Block, names: CNames) -> None:
        """Name the variables of a block, and of each region in a scope of its own.

        Carried values belong to the scope of their loop.
        """
        for arg in block.args:
            self.wish(arg, names)
        for op in block.ops:
            if op not in self.inline:
                for result in op.results:
                    self.wish(result, names)
            for arg in loop_parts(op)[2] if op.name == "loop" else ():
                self.wish(arg, names)
            for region in op.regions:
                self.assign(region, CNames(names))

    def read_by(self, value: Value) -> set[Value]:
        """Return the variables in the C of a value: its own, or those of the expression that stands in its place."""
        if value.op is None or value.op not in self.inline:
            return {self.find(value)}
        return {variable for operand in value.op.operands for variable in self.read_by(operand)}

    def wish(self, value: Value, names: CNames) -> None:
        leader = self.find(value)
        if leader in self.name:
            return
        if value.type == ITER:
            self.name[leader] = "it"
            return
        members = (v.name for v in (value, *self.followers.get(leader, ())) if v.name)
        self.name[leader] = names.fresh(next(members, "t"))

    def __getitem__(self, value: Value) -> str:
        return self.name[self.find(value)]


def is_droppable(op: Op) -> bool:
    """Return whether an op is an expression or view that nothing uses; calls are never dropped."""
    if op.name == "c.view":
        return all(user.name == "c.view" and is_droppable(user) for user in op.result.users())
    return op.has("EXPRESSION") and not is_counted(op.result.type) and not op.result.uses
