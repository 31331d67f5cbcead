"""What is computed from frozen weights alone is computed once, and kept from call to call.

    %g = param() {name = "g"}                         %k = kept.has() {slot = 0}
    %v = param() {name = "v"}                         %w = if %k {
    %w = fuse(%g, %v) do ...                 =>         %a = kept.get() {slot = 0}
    %y = linear_packed(%x, %w, %b)                      yield(%a)
                                                      } else {
                                                        %b = fuse(%g, %v) do ...
                                                        kept.put(%b) {slot = 0}
                                                        yield(%b)
                                                      }

Only with `frozen=1`: weights do not change between calls. Not done for what the program writes or hands out, and not for views
of weights, which cost nothing. Runs late, so that no pass has to see through it: what loops need has left them by then.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import escapes, is_written
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.layouts import Layouts
from scriptc.ir.passes.prepare_weights import KEPT
from scriptc.ir.types import PACKED, TensorType

NAME = "keep_derived"


class _Keeper:
    def __init__(self, module: Module, func: Func):
        self.module, self.func = module, func
        self.plain = Layouts(func.body).plain
        self.derived: dict[Value, bool] = {}

    def is_derived(self, value: Value) -> bool:
        """Whether a value is the same in each call, and computed from a weight."""
        if value not in self.derived:
            self.derived[value] = self._is_weight(value) or self._is_computed(value)
        return self.derived[value]

    def _is_weight(self, value: Value) -> bool:
        if value.op is None or value.op.name != "param":
            return False
        return not any(is_written(value, func.body) for func in self.module.funcs.values())

    def _is_computed(self, value: Value) -> bool:
        op = value.op
        if op is None or len(op.results) != 1 or not op.has("PURE") or op.defn.reads - {"tensor"} or op.name in KEPT:
            return False
        given = [v for v in op.operands if v.op is None or v.op.name != "const"]
        return bool(given) and all(map(self.is_derived, given))

    def is_worth_keeping(self, value: Value) -> bool:
        op = value.op
        assert op is not None
        if op.name == "param" or op.has("VIEW") or op.has("FETCHES") or escapes(value):
            return False
        return (value.type == PACKED or isinstance(value.type, TensorType)) and not is_written(value, self.func.body)

    def last_of(self, block: Block) -> list[Op]:
        """The ops of a block whose results are kept: others of its ops that they are made of are made with them."""
        computed = [op for op in block.ops if op.results and self.is_derived(op.results[0])]
        kept = {op for op in computed if self.is_worth_keeping(op.results[0])}
        return [op for op in computed if op in kept and self._used_by(op, block) not in kept]

    def _used_by(self, op: Op, block: Block) -> Op | None:
        """The op of the same block that alone uses what an op makes, or a view of it."""
        user = _only_user(op, block)
        while user is not None and user.has("VIEW") and user.results and self.is_derived(user.results[0]):
            user = _only_user(user, block)
        return user

    def keep(self, last: Op, slot: int) -> None:
        """Puts an op, and all that is computed for it alone, into a branch that is taken once."""
        block = last.parent
        assert block is not None
        made_for = {last}
        for op in reversed(block.ops[: block.ops.index(last)]):
            computed = op.results and op.name != "param" and self.is_derived(op.results[0])
            if computed and _only_user(op, block) in made_for:
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
    """The op of the same block that alone uses what an op makes."""
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
