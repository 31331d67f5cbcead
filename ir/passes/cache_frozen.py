"""Compute once what depends on frozen weights alone, and keep it from call to call.

    %g = param() {name = "g"}                         %k = kept.has() {slot = 0}
    %v = param() {name = "v"}                         %w = if %k {
    %w = fuse(%g, %v) do ...                 =>         %a = kept.get() {slot = 0}
    %y = linear_packed(%x, %w, %b)                      yield(%a)
                                                      } else {
                                                        %b = fuse(%g, %v) do ...
                                                        kept.put(%b) {slot = 0}
                                                        yield(%b)
                                                      }

The pass runs only with `frozen=1`, which says that weights do not change between calls. Values that are written or escape are
not kept, nor are views of weights, which cost nothing. The pass runs late, so that no other pass has to see through `kept`
ops, and invariant code was hoisted out of loops before.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import escapes
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op
from scriptc.ir.frozen_weights import FrozenWeights
from scriptc.ir.layouts import Layouts
from scriptc.ir.passes.prepare_weights import KEPT
from scriptc.ir.types import PACKED, TensorType


class _Keeper:
    def __init__(self, module: Module, func: Func):
        self.frozen = FrozenWeights(module)
        self.plain = Layouts(func.body).plain

    def is_made(self, op: Op) -> bool:
        """Return whether an op's result is equal in each call. Results that are kept already do not count."""
        return bool(op.results) and op.name not in ("param", *KEPT) and self.frozen.is_computed_from_weights(op.results[0])

    def is_worth_keeping(self, op: Op) -> bool:
        value = op.results[0]
        if op.has("VIEW") or op.has("FETCHES") or escapes(value):
            return False
        return value.type == PACKED or isinstance(value.type, TensorType)

    def last_of(self, block: Block) -> list[Op]:
        """Return the ops of a block whose results are kept. Other ops that only they use move along."""
        computed = [op for op in block.ops if self.is_made(op)]
        kept = {op for op in computed if self.is_worth_keeping(op)}
        return [op for op in computed if op in kept and self._used_by(op, block) not in kept]

    def _used_by(self, op: Op, block: Block) -> Op | None:
        """Return the only op of the same block that uses an op's result, or a view of it."""
        user = _only_user(op, block)
        while user is not None and user.has("VIEW") and self.is_made(user):
            user = _only_user(user, block)
        return user

    def keep(self, last: Op, slot: int) -> None:
        """Put an op, and all ops that are computed for it alone, into a branch that runs once."""
        block = last.parent
        assert block is not None
        made_for = {last}
        for op in reversed(block.ops[: block.ops.index(last)]):
            if self.is_made(op) and _only_user(op, block) in made_for:
                made_for.add(op)
        moved = [op for op in block.ops if op in made_for]
        b, loc, (value,) = Builder.before(last), last.loc, last.results
        has = b.op("kept.has", [], loc, slot=slot).result
        there, absent = Block(), Block()
        choice = b.op("if", [has], loc, regions=[there, absent], types=[value.type], names=[value.name])
        value.replace_all_uses(choice.result)
        for op in moved:
            op.detach()
            absent.append(op)
        with b.at(there):
            got = b.op("kept.get", [], loc, types=[value.type], slot=slot, plain=value in self.plain)
            b.op("yield", [got.result], loc)
        with b.at(absent):
            b.op("kept.put", [value], loc, slot=slot)
            b.op("yield", [value], loc)


def _only_user(op: Op, block: Block) -> Op | None:
    """Return the only op of the same block that uses an op's result."""
    users = op.results[0].users() if len(op.results) == 1 else []
    return users[0] if len(users) == 1 and users[0].parent is block else None


def _blocks(block: Block) -> list[Block]:
    inner = [b for op in block.ops if op.has("CONTROL") for region in op.regions for b in _blocks(region)]
    return [block, *inner]


def run(module: Module, options: Mapping[str, int]) -> bool:
    if not options.get("frozen"):
        return False
    taken = [op.attrs["slot"] for op in module.walk() if op.name in KEPT]
    first = slot = 1 + max(taken, default=-1)
    for func in module.funcs.values():
        keeper = _Keeper(module, func)
        found = [op for block in _blocks(func.body) for op in keeper.last_of(block)]
        for op in found:
            keeper.keep(op, slot)
            slot += 1
    return slot > first
