"""Fuse elementwise ops that feed each other into one `fuse`, which becomes one loop nest.

    %a = add(%x, %y) -> (f32[B, 16])                  %b = fuse(%x, %y) -> (f32[B, 16]) do (%x1, %y1) {
    %b = tanh(%a) -> (f32[B, 16])               =>      %a = add(%x1, %y1)
                                                        %b1 = tanh(%a)
                                                        yield(%b1)
                                                      }

The group runs where its last op stood: earlier ones move down, which is right while nobody in between needs them or
writes what they read. It runs over the shape that all its inputs broadcast to; each value used outside must have
exactly that shape. A smaller one with a single use is computed again for every element of it, if that is cheap.

Option `max`: tensors that one group may read and write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scriptc.ir.analysis import Origins, interferes, writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.regions import ancestor_in
from scriptc.ir.shapes import Shape, Shapes, broadcast, is_known, settled
from scriptc.ir.types import TensorType

MAX_TENSORS = 16  # SC_MAX_OPERANDS: runtime/include/sc.h


def _has_rank(value: Value) -> bool:
    return not isinstance(value.type, TensorType) or value.type.dims is not None


def _can_fuse(op: Op) -> bool:
    return op.has("ELEMENTWISE") and all(map(_has_rank, [*op.operands, *op.results]))


class _Fuser:
    """Grow groups over the ops of one block."""

    def __init__(self, block: Block, max_tensors: int):
        self.block = block
        self.max_tensors = max_tensors
        self.shapes = Shapes()
        self.known = Origins()
        self.index = {op: i for i, op in enumerate(block.ops)}
        self.writers = [(i, writer) for op, i in self.index.items() for writer in writers(op)]
        self.group_of: dict[Op, list[Op]] = {}

    def groups(self) -> list[list[Op]]:
        for op in filter(_can_fuse, self.block.ops):
            self.group_of[op] = [op]
            for operand in op.operands:
                self.join(op, operand.op)
        unique = {id(group): group for group in self.group_of.values()}
        return [group for group in unique.values() if len(group) > 1]

    def join(self, op: Op, producer: Op | None) -> None:
        if producer is None or producer not in self.group_of or self.group_of[producer] is self.group_of[op]:
            return
        group = sorted([*self.group_of[op], *self.group_of[producer]], key=self.index.__getitem__)
        if self.fits(group):
            self.group_of.update((member, group) for member in group)

    def fits(self, group: list[Op]) -> bool:
        results, inputs = outputs_of(group), inputs_of(group)
        tensors = [v for v in inputs if isinstance(v.type, TensorType)]
        if not results or len(results) + len(tensors) > self.max_tensors:
            return False
        shape = settled(broadcast(self.shape(v) for v in tensors))
        return all(self.same_size(m, shape, m.result in results) and self.can_wait(m, group) for m in group)

    def shape(self, value: Value) -> Shape:
        shape = self.shapes.of(value)
        assert shape is not None, "only tensors of known rank are fused"
        return shape

    def same_size(self, member: Op, shape: Shape, is_result: bool) -> bool:
        """Return whether computing the member for each element of `shape` gives its value, at little cost."""
        own = settled(self.shape(member.result))
        if own == shape:
            return True
        if is_result or len(member.result.uses) > 1:
            return False
        is_smaller = is_known(own) and is_known(shape)
        return not is_smaller or member.defn.tolerance_ulp == 0  # exactly rounded ops are single instructions

    def can_wait(self, member: Op, group: list[Op]) -> bool:
        """Return whether the member may run at the position of the last one."""
        first, last = self.index[member], self.index[group[-1]]
        for user in member.result.users():
            at = ancestor_in(self.block, user)
            if at is None or (user not in group and self.index[at] < last):
                return False
        return not any(first < i < last and interferes(writer, member, self.known) for i, writer in self.writers)


def outputs_of(group: list[Op]) -> list[Value]:
    """Return the values of a group that ops outside use."""
    return [member.result for member in group if any(user not in group for user in member.result.users())]


def inputs_of(group: list[Op]) -> list[Value]:
    """Return the values that a group reads, in the order in which eager lets operands decide the strides of the
    results.

    The first operand of the last op comes first, followed back into the group.
    """
    found: dict[Value, None] = {}

    def visit(value: Value) -> None:
        if value.op not in group:
            found.setdefault(value)
        elif value not in seen:
            seen.add(value)
            for operand in value.op.operands:
                visit(operand)

    seen: set[Value] = set()
    for value in [*outputs_of(group), *(member.result for member in group)]:  # outputs, then what none needs
        visit(value)
    return list(found)


def _replace(group: list[Op]) -> None:
    last, inputs, outputs = group[-1], inputs_of(group), outputs_of(group)
    body = Block([(v.type, v.name) for v in inputs])
    build, inner = Builder(body), dict(zip(inputs, body.args, strict=True))
    for member in group:
        operands, made = [inner[v] for v in member.operands], member.result
        copy = build.op(
            member.name, operands, member.loc, names=[made.name], types=[made.type], proved=True, **member.attrs
        )
        inner[made] = copy.result
    build.op("yield", [inner[v] for v in outputs], last.loc)
    types, names = [v.type for v in outputs], [v.name for v in outputs]
    fuse = Builder.before(last).op("fuse", inputs, last.loc, regions=[body], names=names, types=types)
    for old, new in zip(outputs, fuse.results, strict=True):
        old.replace_all_uses(new)
    for member in reversed(group):
        member.erase()


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        for region in op.regions if op.has("CONTROL") else ():
            yield from _blocks(region)


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        for block in list(_blocks(func.body)):
            for group in _Fuser(block, options.get("max", MAX_TENSORS)).groups():
                _replace(group)
                changed = True
    return changed
