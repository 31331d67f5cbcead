"""Insert c.retain and c.release: decide who owns which object in a function of the loop IR.

Arguments of functions, weights, constants, views on the stack and None are borrowed. The block that defines any other
counted value owns the value: results of calls, of c.rows and of structured ops, and carried values, which the body of
their loop owns. An object that is read out of a list is retained at once. The exception is an object that is borrowed
from the list: nothing that runs until its last use changes the list (`_is_quiet`), and the list lives as long. For a
value that a block owns:

- The value is released after the last op of the block that uses it. A use nested in an op counts as a use by that op. A
  value without uses is released after its definition.
- If the last use is an `if` or `scope`, each of its regions owns the value instead, by the same rules.
- If the last use is the terminator, or a loop that the value enters as a carried value, the value is moved: the
  receiver owns it, and nothing is counted. A value can be moved once. Further receivers get a retained value.
- A call that may take over its first operand learns whether that operand is released after the call.
- A terminator that leaves several blocks releases what these blocks own and have not released, except what it carries
  out. What it carries out but these blocks do not own is retained first.

A cell owns what it holds. Errors that leave the entry release nothing, since the caller unwinds the context. Where a
`try` or a caller catches errors, `c.unwind` in front of an op that may fail lists what the blocks that the error leaves
still own.
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


def insert_counts(module: Module) -> None:
    """Insert c.retain, c.release and c.unwind into a module of the loop IR."""
    caught = _called_in_try(module)
    for name, func in module.funcs.items():
        _Function(func, errors_are_caught=name in caught).run()


def _called_in_try(module: Module) -> set[str]:
    """Return the functions whose errors a caller may catch."""
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
        self.borrowed: set[Value] = set()  # objects that a list owns as long as they are used
        self.last: dict[Owned, int] = {}  # position of the last use in the block, or of the definition if there is no use
        self.begins: dict[Owned, int] = {}  # position of the definition; -1: the block owns the value from its start
        self.moved: dict[Owned, int] = {}  # position of the op that the value moves to
        self.before: dict[Op, list[tuple[str, list[Value]]]] = {}
        self.after: dict[tuple[Block, int], list[Value]] = {}

    def run(self) -> None:
        blocks = list(_blocks(self.func.body))
        for block in blocks:
            self.position.update({op: i for i, op in enumerate(block.ops)})
            self.owned[block] = []
        for block in blocks:
            self.collect_owned(block)
        for block in blocks:  # outer ones first
            self.move_into_regions(block)
        for op in self.func.body.walk():
            if op.name == "loop":
                self.enter_loop(op)
        for block, values in self.owned.items():
            for value in values:
                at = self.last[block, value]
                if (block, value) not in self.moved and at != len(block.ops) - 1:
                    self.after.setdefault((block, at), []).append(value)
        for op in self.func.body.walk():
            if op.name in _LEAVES:
                self.leave_blocks(op)
            if "reuse" in op.attrs:
                assert op.parent is not None
                ends = op.operands[0] in self.after.get((op.parent, self.position[op]), ())
                op.attrs["reuse"] = ends and not _has_views(op)
            if _may_fail(op) and (self.errors_are_caught or try_around(op) is not None):
                self.list_unwound(op)
        for (block, at), values in self.after.items():
            if at >= 0 and block.ops[at].name == "c.rows":
                _mark_last(block.ops[at], values)
            if at >= 0 and block.ops[at].name == "c.for":
                self.mark_reused(block.ops[at], values)
        self.insert()

    def collect_owned(self, block: Block) -> None:
        in_loop = block.parent is not None and block.parent.name == "loop"
        values = [a for a in block.args if in_loop and is_counted(a.type)]
        values += [r for op in block.ops if op.name not in _BORROWED for r in op.results if is_counted(r.type)]
        for value in values:
            self.own(block, value, -1 if value.op is None else self.position[value.op])
        for value in reversed(values):
            if self.can_borrow(block, value):
                self.borrowed.add(value)
                self.owned[block].remove(value)
                del self.last[block, value]

    def can_borrow(self, block: Block, value: Value) -> bool:
        """Return whether a value can be borrowed from its list.

        Nothing may change the list or free it until the last use of the value.
        """
        op = value.op
        if op is None or not _reads(op):
            return False
        first, last = self.position[op], self.last[block, value]
        if not all(_is_quiet(between) for between in block.ops[first : last + 1]):
            return False
        return self.outlives(op.operands[0], block, last)

    def outlives(self, container: Value, block: Block, last: int) -> bool:
        """Return whether a list is still owned at a position in a block."""
        home = container.block
        at = self.last.get((home, container))
        if at is None:
            return True
        if home is not block:
            around = _ancestor(block.ops[0], home)
            if around is None or home.ops[at] is not around or around.name not in ("if", "scope"):
                return True
            users = (_ancestor(user, block) for user in _users(container))  # the regions of `around` own it
            at = max((self.position[op] for op in users if op is not None), default=-1)
        return at >= last

    def own(self, block: Block, value: Value, begins: int) -> None:
        users = (_ancestor(user, block) for user in _users(value))
        self.owned[block].append(value)
        self.begins[block, value] = begins
        self.last[block, value] = max((self.position[op] for op in users if op is not None), default=begins)

    def move_into_regions(self, block: Block) -> None:
        """Move values whose last use is an `if` or `scope` into its regions."""
        for value in self.owned[block]:
            at = self.last[block, value]
            if at > self.begins[block, value] and block.ops[at].name in ("if", "scope"):
                self.moved[block, value] = at
                for region in block.ops[at].regions:
                    self.own(region, value, -1)

    def enter_loop(self, loop: Op) -> None:
        """Move initial values into a loop where this is their last use, and retain others."""
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

    def leave_blocks(self, op: Op) -> None:
        live = [value for block, at in self.blocks_left(op) for value in self.owned[block] if self.is_live(block, value, at)]
        changes = self.before.setdefault(op, [])
        for value in op.operands:
            if value in live:
                live.remove(value)
            elif _is_counted(value):
                changes.append(("c.retain", [value]))
        changes += [("c.release", [value]) for value in live]

    def list_unwound(self, op: Op) -> None:
        """Insert c.unwind with the objects that an error of `op` leaves, up to the `try` that catches it."""
        holder = try_around(op)
        block, at, objects = op.parent, op, list[Value]()
        while block is not None:
            objects += [value for value in self.owned[block] if self.is_live(block, value, self.position[at])]
            if block.parent is None or (holder is not None and block is holder.regions[0]):
                break
            at, block = block.parent, block.parent.parent
        self.before.setdefault(op, []).append(("c.unwind", objects))

    def blocks_left(self, op: Op) -> Iterator[tuple[Block, int]]:
        """Yield the blocks that a terminator leaves, innermost first, each with the position of the exit."""
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
        """Return whether a block owns a value at a position: defined before, and neither released nor moved."""
        owned = (block, value)
        return self.begins[owned] < at <= self.last[owned] and self.moved.get(owned, at + 1) > at

    def mark_reused(self, loop: Op, released: list[Value]) -> None:
        """Record which object that dies with a loop becomes the memory of which of its results."""
        free = [v for v in released if not any(user.name == "c.view" for user in v.users())]
        for made in loop.operands:
            if made.op is None or made.op.name != "c.new" or self.filling_loop(made.op) is not loop:
                continue
            for i in made.op.attrs["over"]:
                if made.op.operands[i] in free:
                    free.remove(made.op.operands[i])
                    made.op.attrs["take"] = i
                    break

    def filling_loop(self, new: Op) -> Op:
        """Return the next loop, which fills a new tensor.

        Later loops may read both the tensor and the object whose memory it takes.
        """
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
                if borrows and is_counted(op.result.type) and op.result not in self.borrowed:
                    block.append(Op(retain, op.results, (), {}, op.loc))
                for value in self.after.get((block, i), ()):
                    block.append(Op(release, [value], (), {}, op.loc))


def _reads(op: Op) -> bool:
    """Return whether an op is an expression that reads memory, so that an object that it gives is borrowed."""
    return op.has("EXPRESSION") and bool(op.defn.reads)


def _is_quiet(op: Op) -> bool:
    """Return whether an op neither changes an object nor keeps a reference to one."""
    if op.name == "c.call":
        return KERNELS[op.attrs["kernel"]].quiet
    return op.name == "const" or op.has("EXPRESSION")


def _may_fail(op: Op) -> bool:
    return op.defn.raises and not (op.name == "c.call" and KERNELS[op.attrs["kernel"]].fails == "never")


def _has_views(call: Op) -> bool:
    """Return whether a call also takes a view of its first operand."""
    return any(v.op is not None and v.op.name == "c.view" and call.operands[0] in v.op.operands for v in call.operands)


def _mark_last(rows: Op, released: list[Value]) -> None:
    """Record which inputs a loop may overwrite. An input that a view shares is also read at other elements."""
    free = {v for v in released if not any(user.name == "c.view" for user in v.users())}
    places = [operand_of(entry) for entry in rows.attrs["args"]]
    rows.attrs["last"] = sum(1 << places.index(i) for i, v in enumerate(rows.operands) if v in free)


def _users(value: Value) -> Iterator[Op]:
    """Yield the users of a value and of its uncounted views, also of those that a call hands on."""
    is_view = value.op is not None and value.op.name == "c.view"
    for user in value.users():
        yield user
        hands_on = is_view and user.name == "c.call" and KERNELS[user.attrs["kernel"]].returns_argument
        if user.name == "c.view" or hands_on:
            yield from _users(user.result)


def _is_counted(value: Value) -> bool:
    """Return whether a value has a count: it is an object, and neither NULL nor a constant."""
    return is_counted(value.type) and not (value.op is not None and value.op.name in ("undef", "const"))


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        for region in op.regions:
            yield from _blocks(region)


def _ancestor(op: Op, block: Block) -> Op | None:
    """Return the op of `block` that is `op` or contains it, or None."""
    at: Op | None = op
    while at is not None and at.parent is not block:
        at = at.parent.parent if at.parent is not None else None
    return at
