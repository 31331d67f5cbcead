"""Rewriting by small named rules. `rule(op, rw) -> bool` changes the IR around one op, only through the rewriter.

Rules fire until none applies. A rule for ops of some names says so by `@on`, so that it is not called for others. With
SCRIPTC_TRACE=1 each firing is printed with its source location.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Sequence

from scriptc.ir.builder import Builder
from scriptc.ir.core import Attr, Block, Module, Op, Value
from scriptc.ir.regions import target
from scriptc.ir.types import Type, is_subtype

# Two rules that undo each other would never stop. Rules need far fewer firings for each op than this limit.
FIRINGS_PER_OP = 100


class RewriteLoop(Exception):
    """Say that rules fire without end, since they undo each other. The message names the last ones."""


class Rewriter:
    """Make all changes of a rewrite, and keep the worklist of ops to visit again."""

    def __init__(self) -> None:
        self.queue: deque[Op] = deque()
        self.queued: set[Op] = set()
        self.erased: set[Op] = set()

    def add(self, op: Op) -> None:
        if op not in self.queued and op not in self.erased:
            self.queued.add(op)
            self.queue.append(op)

    def _look_again(self, values: Sequence[Value]) -> None:
        for value in values:
            if value.op is not None:
                self.add(value.op)
            for user in value.users():
                self.add(user)

    def insert_before(
        self, anchor: Op, name: str, operands: Sequence[Value], *, hint: str = "", **attrs: Attr
    ) -> Value:
        """Build an op with one result before `anchor`, at the anchor's source location."""
        value = Builder.before(anchor).build(name, operands, anchor.loc, hint=hint, **attrs)
        self._look_again([value])
        return value

    def insert_checked(self, anchor: Op, name: str, operands: Sequence[Value], **attrs: Attr) -> Value:
        """Build an op as `insert_before` does, but without a check: if `anchor` does not fail, the op cannot."""
        op = Builder.before(anchor).op(name, operands, anchor.loc, proved=True, **attrs)
        self._look_again(op.results)
        return op.result

    def const_before(self, anchor: Op, value: Attr) -> Value:
        return Builder.before(anchor).const(value, anchor.loc)

    def replace(self, op: Op, values: Sequence[Value]) -> None:
        """Replace the op's results by values, and erase the op."""
        operands = op.operands
        users = [user for result in op.results for user in result.users()]
        self._forget(op)
        op.replace_with(values)
        self._look_again([*operands, *values])
        for user in users:
            self.add(user)

    def replace_uses(self, old: Value, new: Value) -> bool:
        """Replace all uses of `old` by `new`; return whether there was a use."""
        users = old.users()
        old.replace_all_uses(new)
        for user in users:
            self.add(user)
        return bool(users)

    def set_operands(self, op: Op, operands: Sequence[Value]) -> None:
        before = op.operands
        op.set_operands(operands)
        self.add(op)
        self._look_again(before)

    def retype(self, value: Value, t: Type) -> None:
        value.type = t
        self._look_again([value])

    def inline_region(self, op: Op, region: Block, args: Sequence[Value] = ()) -> None:
        """Replace an op by the ops of its region. If the region ends with a jump further out, erase the ops behind."""
        block = op.parent
        assert block is not None
        for arg, value in zip(region.args, args, strict=True):
            self.replace_uses(arg, value)
        stays = target(region.ops[-1]) is op
        last = region.ops.pop()
        for inner in region.ops:
            block.insert_before(op, inner)
            self.add(inner)
        region.ops = []
        if stays:
            values = last.operands
            last.drop()
            self.replace(op, values)
            return
        for rest in reversed(block.ops[block.ops.index(op) :]):
            self.erase_unused(rest)
        block.append(last)
        self.add(last)

    def erase_unused(self, op: Op) -> None:
        """Erase an op whose results have no users."""
        operands = op.operands
        self._forget(op)
        op.erase()
        self._look_again(operands)

    def _forget(self, op: Op) -> None:
        self.erased.update(op.walk())


def fits(new: Value, old: Value) -> bool:
    """Return whether the type of `new` says as much as that of `old` for its users, and is not a bare value for an
    optional."""
    return type(new.type) is type(old.type) and is_subtype(new.type, old.type)


def inlines(op: Op, region: Block) -> bool:
    """Return whether the values at the end of the region fit the results of its op, unless the end jumps further
    out."""
    last = region.ops[-1]
    return target(last) is not op or all(map(fits, last.operands, op.results))


Rule = Callable[[Op, Rewriter], bool]


def on(*names: str) -> Callable[[Rule], Rule]:
    """Let a rule be called for ops of these names alone."""

    def mark(rule: Rule) -> Rule:
        rule.names = frozenset(names)  # type: ignore[attr-defined]
        return rule

    return mark


def _rules_for(name: str, rules: Sequence[Rule]) -> list[Rule]:
    return [rule for rule in rules if name in getattr(rule, "names", (name,))]


def _is_settled(op: Op) -> bool:
    """Return whether the op is in a region without control flow, which only the pass that made it may change."""
    around = op.parent.parent if op.parent is not None else None
    return around is not None and not around.has("CONTROL")


def rewrite(module: Module, rules: Sequence[Rule]) -> bool:
    """Apply rules to every op until none fires; return whether any did."""
    trace = os.environ.get("SCRIPTC_TRACE") == "1"
    rw = Rewriter()
    for op in module.walk():
        rw.add(op)
    budget = FIRINGS_PER_OP * (len(rw.queue) + 10)
    by_name: dict[str, list[Rule]] = {}
    changed = False
    while rw.queue:
        op = rw.queue.popleft()
        rw.queued.discard(op)
        if op in rw.erased or _is_settled(op):
            continue
        name = op.name
        if name not in by_name:
            by_name[name] = _rules_for(name, rules)
        for rule in by_name[name]:
            if not rule(op, rw):
                continue
            changed = True
            budget -= 1
            if trace:
                print(f"{rule.__name__}: {name} at {op.loc}", file=sys.stderr)
            if budget < 0:
                raise RewriteLoop(f"rules fire without end, lastly {rule.__name__} on {name} at {op.loc}")
            rw.add(op)
            break
    return changed
