"""Inserts c.retain and c.release: who owns which object in a function of the loop IR.

Borrowed: arguments of functions, weights, constants, views on the stack, and None. Every other counted value is owned by the
block that defines it: results of calls, of c.rows and of structured ops, and carried values, which belong to the body of their
loop. An object that was read out of a list is retained on the spot, unless it is only looked at (`_is_quiet`) and the
list keeps it until then. Then, for a value owned by a block:

- It is released after the last op of the block that uses it; a use nested in an op counts as a use by that op. A
  value that nothing uses is released where it is made.
- If that last use is an `if` or `scope`, its regions own the value instead, each of them, by the same rules.
- If that last use is the terminator, or a loop that starts with it as a carried value, it is moved: the
  receiver owns it, nothing is counted. One value can be moved once; further receivers get a retained one.
- A call that may take over its first operand is told when that is released behind it.
- A terminator that leaves several blocks releases what these own and have not released yet, except what it carries
  out. What it carries out but does not own there is retained first.

A cell owns what it holds. Errors that leave the entry release nothing: the caller unwinds the context. Where an error is
caught, in a `try` or by a caller, `c.unwind` in front of what may fail lists what the blocks that it leaves still own.
"""

from __future__ import annotations

from collections.abc import Iterator

from scriptc.backend_c.arguments import operand_of
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.regions import try_around
from scriptc.ir.types import is_counted
from scriptc.runtime.kernels import KERNELS

_BORROWED = frozenset({"c.weight", "c.view", "undef", "const"})
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


Owned = tuple[Block, Value]


class _Function:
    def __init__(self, func: Func, *, errors_are_caught: bool):
        self.func = func
        self.errors_are_caught = errors_are_caught
        self.position: dict[Op, int] = {}
        self.owned: dict[Block, list[Value]] = {}
        self.looked_at: set[Value] = set()  # objects that a list keeps as long as they are used
        self.last: dict[Owned, int] = {}  # position of the last use in the block; that of the definition without one
        self.begins: dict[Owned, int] = {}  # position of the definition; -1: owned from the start of the block
        self.moved: dict[Owned, int] = {}  # position of the op that takes the value
        self.before: dict[Op, list[tuple[str, list[Value]]]] = {}
        self.after: dict[tuple[Block, int], list[Value]] = {}

    def run(self) -> None:
        blocks = list(_blocks(self.func.body))
        for block in blocks:
            self.position.update({op: i for i, op in enumerate(block.ops)})
            self.owned[block] = []
        for block in blocks:
            self.collect(block)
        for block in blocks:  # outer ones first
            self.hand_down(block)
        for op in self.func.body.walk():
            if op.name == "loop":
                self.start(op)
        for block, values in self.owned.items():
            for value in values:
                at = self.last[block, value]
                if (block, value) not in self.moved and at != len(block.ops) - 1:
                    self.after.setdefault((block, at), []).append(value)
        for op in self.func.body.walk():
            if op.name in _LEAVES:
                self.leave(op)
            if "reuse" in op.attrs:
                assert op.parent is not None
                ends = op.operands[0] in self.after.get((op.parent, self.position[op]), ())
                op.attrs["reuse"] = ends and not _has_views(op)
            if _may_fail(op) and (self.errors_are_caught or try_around(op) is not None):
                self.unwind(op)
        for (block, at), values in self.after.items():
            if at >= 0 and block.ops[at].name == "c.rows":
                _mark_last(block.ops[at], values)
            if at >= 0 and block.ops[at].name == "c.for":
                self.mark_taken(block.ops[at], values)
        self.insert()

    def collect(self, block: Block) -> None:
        in_loop = block.parent is not None and block.parent.name == "loop"
        values = [a for a in block.args if in_loop and is_counted(a.type)]
        values += [r for op in block.ops if op.name not in _BORROWED for r in op.results if is_counted(r.type)]
        for value in values:
            self.own(block, value, -1 if value.op is None else self.position[value.op])
        for value in reversed(values):
            if self.is_looked_at(block, value):
                self.looked_at.add(value)
                self.owned[block].remove(value)
                del self.last[block, value]

    def is_looked_at(self, block: Block, value: Value) -> bool:
        """Whether a value comes out of a list that keeps it until its last use: nothing in between changes anything, and
        the list lives on."""
        op = value.op
        if op is None or not _reads(op):
            return False
        first, last = self.position[op], self.last[block, value]
        if not all(_is_quiet(between) for between in block.ops[first : last + 1]):
            return False
        return self.lives_on(op.operands[0], block, last)

    def lives_on(self, container: Value, block: Block, last: int) -> bool:
        """Whether a list is not released before a place in a block."""
        home = container.block
        at = self.last.get((home, container))
        if at is None:
            return True
        if home is not block:
            around = _ancestor(block.ops[0], home)
            if around is None or home.ops[at] is not around or around.name not in ("if", "scope"):
                return True
            users = (_ancestor(user, block) for user in _users(container))  # it is handed down
            at = max((self.position[op] for op in users if op is not None), default=-1)
        return at >= last

    def own(self, block: Block, value: Value, begins: int) -> None:
        users = (_ancestor(user, block) for user in _users(value))
        self.owned[block].append(value)
        self.begins[block, value] = begins
        self.last[block, value] = max((self.position[op] for op in users if op is not None), default=begins)

    def hand_down(self, block: Block) -> None:
        """What is used last by an `if` or `scope` is the regions' own from there on."""
        for value in self.owned[block]:
            at = self.last[block, value]
            if at > self.begins[block, value] and block.ops[at].name in ("if", "scope"):
                self.moved[block, value] = at
                for region in block.ops[at].regions:
                    self.own(region, value, -1)

    def start(self, loop: Op) -> None:
        """Initial values of a loop: moved in where this is their last use, and they are not used in the loop."""
        block, at = loop.parent, self.position[loop]
        assert block is not None
        for value in loop.operands:
            if not _is_counted(value):
                continue
            ends = self.last.get((block, value)) == at and (block, value) not in self.moved
            if ends and not any(user is not loop and _ancestor(user, block) is loop for user in _users(value)):
                self.moved[block, value] = at
            else:
                self.before.setdefault(loop, []).append(("c.retain", [value]))

    def leave(self, op: Op) -> None:
        live = [value for block, at in self.left(op) for value in self.owned[block] if self.is_live(block, value, at)]
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
            objects += [value for value in self.owned[block] if self.is_live(block, value, self.position[at])]
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

    def is_live(self, block: Block, value: Value, at: int) -> bool:
        """Whether the block still owns the value at a position: made before, neither released nor moved."""
        owned = (block, value)
        return self.begins[owned] < at <= self.last[owned] and self.moved.get(owned, at + 1) > at

    def mark_taken(self, loop: Op, released: list[Value]) -> None:
        """Says which of the objects that end with a loop its results may become."""
        free = [v for v in released if not any(user.name == "c.view" for user in v.users())]
        for made in loop.operands:
            if made.op is None or made.op.name != "c.new" or self.fills(made.op) is not loop:
                continue
            for i in made.op.attrs["over"]:
                if made.op.operands[i] in free:
                    free.remove(made.op.operands[i])
                    made.op.attrs["take"] = i
                    break

    def fills(self, new: Op) -> Op:
        """The loop that a tensor is made for: the next one. Others may read it, and what it would have taken as well."""
        block = new.parent
        assert block is not None
        return next(op for op in block.ops[self.position[new] :] if op.name == "c.for")

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
                borrows = _reads(op) or op.name == "c.get"
                if borrows and is_counted(op.result.type) and op.result not in self.looked_at:
                    block.append(Op(retain, op.results, (), {}, op.loc))
                for value in self.after.get((block, i), ()):
                    block.append(Op(release, [value], (), {}, op.loc))


def _reads(op: Op) -> bool:
    """Return whether an op is an expression that reads memory, so that an object that it gives is borrowed."""
    return op.has("EXPRESSION") and bool(op.defn.reads)


def _is_quiet(op: Op) -> bool:
    """Return whether an op changes nothing and keeps nothing."""
    if op.name == "c.call":
        return KERNELS[op.attrs["kernel"]].quiet
    return op.name == "const" or op.has("EXPRESSION")


def _may_fail(op: Op) -> bool:
    return op.defn.raises and not (op.name == "c.call" and KERNELS[op.attrs["kernel"]].fails == "never")


def _has_views(call: Op) -> bool:
    """Whether a call is given a view of its first operand as well."""
    return any(v.op is not None and v.op.name == "c.view" and call.operands[0] in v.op.operands for v in call.operands)


def _mark_last(rows: Op, released: list[Value]) -> None:
    """Says which inputs a loop may overwrite; one that is also seen through a view is read at other places too."""
    free = {v for v in released if not any(user.name == "c.view" for user in v.users())}
    places = [operand_of(entry) for entry in rows.attrs["args"]]
    rows.attrs["last"] = sum(1 << places.index(i) for i, v in enumerate(rows.operands) if v in free)


def _users(value: Value) -> Iterator[Op]:
    """What uses a value, or a view of it that is not counted, which a call may have handed on."""
    is_view = value.op is not None and value.op.name == "c.view"
    for user in value.users():
        yield user
        if user.name == "c.view" or (is_view and user.name == "c.call" and KERNELS[user.attrs["kernel"]].returns_argument):
            yield from _users(user.result)


def _is_counted(value: Value) -> bool:
    """Whether taking the value means to count: it is an object, and neither NULL for sure nor a constant."""
    return is_counted(value.type) and not (value.op is not None and value.op.name in ("undef", "const"))


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        for region in op.regions:
            yield from _blocks(region)


def _ancestor(op: Op, block: Block) -> Op | None:
    """The op of `block` that is `op` or holds it; None where none does."""
    at: Op | None = op
    while at is not None and at.parent is not block:
        at = at.parent.parent if at.parent is not None else None
    return at
