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
        """Return whether an op's results are equal in each call. Results that are kept already do not count."""
        if not op.results or op.name in ("param", *KEPT):
            return False
        return all(map(self.frozen.is_computed_from_weights, op.results))

    def is_worth_keeping(self, op: Op) -> bool:
        if op.has("VIEW") or op.has("FETCHES") or any(map(escapes, op.results)):
            return False
        return all(value.type == PACKED or isinstance(value.type, TensorType) for value in op.results)

    def groups(self, block: Block) -> list[list[Op]]:
        """Return groups of ops that run once. The last op of a group makes a result that is kept, for which alone the others
        compute."""
        last_of: dict[Op, Op] = {}
        for op in reversed(block.ops):
            if self.is_made(op):
                found = {last_of.get(user) for value in op.results for user in value.users()}
                (last, *others) = found or {None}
                if last is not None and not others:
                    last_of[op] = last
                elif self.is_worth_keeping(op):
                    last_of[op] = op
        made: dict[Op, list[Op]] = {}
        for op in block.ops:
            if op in last_of:
                made.setdefault(last_of[op], []).append(op)
        return sorted(made.values(), key=lambda group: block.ops.index(group[-1]))

    def keep(self, group: list[Op], first: int) -> None:
        """Put a group of ops into a branch that runs once. Its results are kept from a slot on."""
        last = group[-1]
        b, loc, values = Builder.before(last), last.loc, last.results
        slots = range(first, first + len(values))
        has = b.op("kept.has", [], loc, slot=slots[-1]).result  # the last that is put
        there, absent = Block(), Block()
        types, names = [value.type for value in values], [value.name for value in values]
        choice = b.op("if", [has], loc, regions=[there, absent], types=types, names=names)
        for value, chosen in zip(values, choice.results, strict=True):
            value.replace_all_uses(chosen)
        for op in group:
            op.detach()
            absent.append(op)
        with b.at(there):
            got = [
                b.op("kept.get", [], loc, types=[value.type], slot=slot, plain=value in self.plain).result
                for slot, value in zip(slots, values, strict=True)
            ]
            b.op("yield", got, loc)
        with b.at(absent):
            for slot, value in zip(slots, values, strict=True):
                b.op("kept.put", [value], loc, slot=slot)
            b.op("yield", values, loc)


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
        for group in [group for block in _blocks(func.body) for group in keeper.groups(block)]:
            keeper.keep(group, slot)
            slot += len(group[-1].results)
    return slot > first
