"""Inserts c.retain and c.release: who owns which object in a function of the loop IR.

Borrowed: arguments of functions, weights, views on the stack, and None. Every other counted value is owned by the block
that defines it: results of calls, of c.rows and of structured ops, and carried values, which belong to the body of their
loop. An object that a c.read took out of a list is retained on the spot, unless it is only looked at (`_QUIET`) and the
list keeps it until then. Then, for a value owned by a block:

- It is released after the last op of the block that uses it; a use nested in an op counts as a use by that op. A
  value that nothing uses is released where it is made.
- If that last use is the terminator, or a loop that starts with it as a carried value, it is moved: the
  receiver owns it, nothing is counted. One value can be moved once; further receivers get a retained one.
- A terminator that leaves several blocks releases what these own and have not released yet, except what it carries
  out. What it carries out but does not own there is retained first.

A cell owns what it holds. Errors that leave the entry release nothing: the caller unwinds the context. Where an error is
caught, in a `try` or by a caller, `c.unwind` in front of what may fail lists what the blocks that it leaves still own.
"""

from __future__ import annotations

from collections.abc import Iterator

from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.regions import try_around
from scriptc.ir.types import is_counted

_BORROWED = frozenset({"c.weight", "c.view", "undef", "const"})
_QUIET = frozenset({"c.expr", "c.read", "c.load", "const"})  # ops that change nothing and keep nothing
_QUIET_CALLS = frozenset({"sc_list_index", "sc_dict_find"})
_LEAVES = frozenset({"yield", "break", "continue", "return"})


def run(module: Module) -> None:
    caught = _called_in_try(module)
    for name, func in module.funcs.items():
        _Function(func, errors_are_caught=name in caught).run()


def _called_in_try(module: Module) -> set[str]:
    """The functions whose errors a caller may catch."""
    found: set[str] = set()
    while True:
        calls = [(name, op) for name, f in module.funcs.items() for op in f.body.walk() if op.name == "call"]
        new = {op.attrs["func"] for name, op in calls if name in found or try_around(op) is not None} - found
        if not new:
            return found
        found |= new


class _Function:
    def __init__(self, func: Func, *, errors_are_caught: bool):
        self.func = func
        self.errors_are_caught = errors_are_caught
        self.position: dict[Op, int] = {}
        self.owned: dict[Block, list[Value]] = {}
        self.looked_at: set[Value] = set()  # objects that a list keeps as long as they are used
        self.last: dict[Value, int] = {}  # position of the last use; that of the definition (-1: argument) without one
        self.moved: dict[Value, int] = {}  # position of the loop that takes the value
        self.before: dict[Op, list[tuple[str, list[Value]]]] = {}
        self.after: dict[tuple[Block, int], list[Value]] = {}

    def run(self) -> None:
        for block in _blocks(self.func.body):
            self.position.update({op: i for i, op in enumerate(block.ops)})
        for block in _blocks(self.func.body):
            self.collect(block)
        loops = [op for op in self.func.body.walk() if op.name == "loop"]
        for op in loops:
            self.start(op)
        for block, values in self.owned.items():
            for value in values:
                at = self.last[value]
                if value not in self.moved and at != len(block.ops) - 1:
                    self.after.setdefault((block, at), []).append(value)
        for op in self.func.body.walk():
            if op.name in _LEAVES:
                self.leave(op)
            if _may_fail(op) and (self.errors_are_caught or try_around(op) is not None):
                self.unwind(op)
        for (block, at), values in self.after.items():
            if at >= 0 and block.ops[at].name == "c.rows":
                _mark_last(block.ops[at], values)
        self.insert()

    def collect(self, block: Block) -> None:
        in_loop = block.parent is not None and block.parent.name == "loop"
        values = [a for a in block.args if in_loop and is_counted(a.type)]
        values += [r for op in block.ops if op.name not in _BORROWED for r in op.results if is_counted(r.type)]
        for value in values:
            uses = [self.position[_ancestor(user, block)] for user in _users(value)]
            self.last[value] = max(uses, default=self.defined(value))
        for value in reversed(values):
            if self.is_looked_at(value):
                self.looked_at.add(value)
                del self.last[value]
        self.owned[block] = [value for value in values if value not in self.looked_at]

    def is_looked_at(self, value: Value) -> bool:
        """Whether a value comes out of a list that keeps it until its last use: nothing in between changes anything, and
        the list lives on."""
        op = value.op
        if op is None or op.name != "c.read":
            return False
        block, first, last = value.block, self.position[op], self.last[value]
        if not all(_is_quiet(between) for between in block.ops[first : last + 1]):
            return False
        container = op.operands[0]
        return container.block is not block or self.last.get(container, last) >= last

    def defined(self, value: Value) -> int:
        return -1 if value.op is None else self.position[value.op]

    def start(self, loop: Op) -> None:
        """Initial values of a loop: moved in where this is their last use, and they are not used in the loop."""
        block, at = loop.parent, self.position[loop]
        assert block is not None
        for value in loop.operands:
            if not _is_counted(value):
                continue
            ends = value in self.last and value.block is block and self.last[value] == at and value not in self.moved
            if ends and not any(user is not loop and _ancestor(user, block) is loop for user in _users(value)):
                self.moved[value] = at
            else:
                self.before.setdefault(loop, []).append(("c.retain", [value]))

    def leave(self, op: Op) -> None:
        live = [value for block, at in self.left(op) for value in self.owned[block] if self.is_live(value, at)]
        changes = self.before.setdefault(op, [])
        for value in op.operands:
            if value in live:
                live.remove(value)
            elif _is_counted(value):
                changes.append(("c.retain", [value]))
        changes += [("c.release", [value]) for value in live]

    def unwind(self, op: Op) -> None:
        """What an error that `op` raises leaves behind, up to the `try` that catches it."""
        holder = try_around(op)
        block, at, objects = op.parent, op, list[Value]()
        while block is not None:
            objects += [value for value in self.owned[block] if self.is_live(value, self.position[at])]
            if block.parent is None or (holder is not None and block is holder.regions[0]):
                break
            at, block = block.parent, block.parent.parent
        self.before.setdefault(op, []).append(("c.unwind", objects))

    def left(self, op: Op) -> Iterator[tuple[Block, int]]:
        """The blocks that a terminator leaves, innermost first, each with the position in it that is left."""
        block = op.parent
        at = op
        while block is not None:
            yield block, self.position[at]
            holder = block.parent
            if holder is None or op.name == "yield":
                return
            if "to" in op.attrs and holder.attrs.get("label") == op.attrs["to"]:
                return
            at, block = holder, holder.parent

    def is_live(self, value: Value, at: int) -> bool:
        """Whether the block still owns the value at a position: made before, neither released nor moved."""
        return self.defined(value) < at <= self.last[value] and self.moved.get(value, at + 1) > at

    def insert(self) -> None:
        release, retain = OPS["c.release"], OPS["c.retain"]
        for block in self.owned:
            ops = list(block.ops)
            block.ops.clear()
            for value in self.after.get((block, -1), ()):
                block.append(Op(release, [value], (), {}, ops[0].loc))
            for i, op in enumerate(ops):
                for name, values in self.before.get(op, ()):
                    block.append(Op(OPS[name], values, (), {}, op.loc))
                block.append(op)
                if op.name in ("c.read", "c.get") and is_counted(op.result.type) and op.result not in self.looked_at:
                    block.append(Op(retain, op.results, (), {}, op.loc))
                for value in self.after.get((block, i), ()):
                    block.append(Op(release, [value], (), {}, op.loc))


def _is_quiet(op: Op) -> bool:
    return op.name in _QUIET or (op.name == "c.call" and op.attrs["fn"] in _QUIET_CALLS)


def _may_fail(op: Op) -> bool:
    return op.defn.raises and op.attrs.get("fails") != "never"


def _mark_last(rows: Op, released: list[Value]) -> None:
    """Says which inputs a loop may overwrite; one that is also seen through a view is read at other places too."""
    free = {v for v in released if not any(user.name == "c.view" for user in v.users())}
    slots = rows.attrs["args"].split(", ")
    rows.attrs["last"] = sum(1 << slots.index(f"{{{i}}}") for i, v in enumerate(rows.operands) if v in free)


def _users(value: Value) -> Iterator[Op]:
    """What uses a value, or a view of it that is not counted."""
    for user in value.users():
        yield user
        if user.name == "c.view":
            yield from _users(user.result)


def _is_counted(value: Value) -> bool:
    """Whether taking the value means to count: it is an object, and not NULL for sure."""
    return is_counted(value.type) and not (value.op is not None and value.op.name == "undef")


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        for region in op.regions:
            yield from _blocks(region)


def _ancestor(op: Op, block: Block) -> Op:
    """The op of `block` that is `op` or holds it."""
    while op.parent is not block:
        assert op.parent is not None and op.parent.parent is not None, "a use outside of the value's scope"
        op = op.parent.parent
    return op
