"""Keep values of forward blocks for backward code."""

from __future__ import annotations

from scriptc.ir.analysis import is_reference, may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.levels import Level, insert_at_end, is_keepable, loc_of
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import runs_to_its_end
from scriptc.ir.types import TensorType, list_of


class KeptOfFunction:
    """Values of the function's own block: results of the forward function, parameters of the backward one."""

    def __init__(self, backward: Block):
        self.backward = backward
        self.values: list[Value] = []

    def keep(self, value: Value, builder: Builder) -> Value:
        self.values.append(_kept(value))
        arg = Value(value.type, self.backward, value.name)
        self.backward.args.append(arg)
        return arg


class KeptInPlace:
    """Values of a block that runs before backward code of the same function, where they are still there."""

    def keep(self, value: Value, builder: Builder) -> Value:
        return _defined(value, builder)


class KeptOfLoop:
    """Values of the body of a loop of the function: tensors and lists with an item for each iteration.

    index: the iteration that backward code runs through.
    """

    def __init__(self, loop: Op, outer: Level, index: Value):
        self.loop = loop
        self.outer = outer
        self.index = index

    def keep(self, value: Value, builder: Builder) -> Value:
        value = _kept(value)
        kept = _new_list(value, Builder.before(self.loop))
        loc = loc_of(value)
        insert_at_end(value.block).op("list.append", [kept, value], loc)
        if not self.is_stacked(value):
            return builder.op("list.at", [self.outer.get(kept), self.index], loc, types=[value.type]).result
        stacked = self.outer.get(self.stack(kept, value))
        return builder.op("select", [stacked, self.index], loc, dim=0, types=[value.type], proved=True).result

    def is_stacked(self, value: Value) -> bool:
        """Return whether the value is a tensor of the same sizes in all iterations, whose number is known from the start."""
        t, loop = value.type, self.loop
        if not isinstance(t, TensorType) or t.dims is None or None in t.dims or not loop.attrs["counted"]:
            return False
        if _is_stand_in(value):
            return False
        return (constant_int(loop.operands[0]), constant_int(loop.operands[2])) == (0, 1) and runs_to_its_end(loop)

    def stack(self, kept: Value, value: Value) -> Value:
        """Stack the items of a list after the loop, if there are any."""
        assert self.loop.parent is not None and isinstance(value.type, TensorType) and value.type.dims is not None
        loc = loc_of(value)
        builder = Builder.after(self.loop)
        none = builder.const(0, loc)
        some = builder.build("int.gt", [self.loop.operands[1], none], loc)
        then, orelse = Block(), Block()
        t = TensorType(value.type.dtype, (None, *value.type.dims))
        Builder(then).op("yield", [Builder(then, 0).op("stack", [kept], loc, dim=0, types=[t]).result], loc)
        inner = Builder(orelse)
        shape = inner.build("tuple", [inner.const(0, loc)] * len(t.dims or ()), loc)
        empty = inner.op("full", [shape, inner.const(0.0, loc)], loc, dtype=t.dtype, types=[t]).result
        inner.op("yield", [empty], loc)
        return builder.op("if", [some], loc, regions=[then, orelse], names=[kept.name], types=[t]).result


class KeptOnStack:
    """Values of any other block: stacks, from which backward code takes what forward code put there last."""

    def __init__(self, function: Level):
        self.function = function

    def keep(self, value: Value, builder: Builder) -> Value:
        loc = loc_of(value)
        value = _kept(value)
        start = Builder(self.function.forward, 0)
        stack = _new_list(value, start)
        insert_at_end(value.block).op("list.append", [stack, value], loc)
        self._cut_where_bodies_raise(stack, value)
        outer, given = self.function.builder, self.function.get(stack)
        # a copy, as another backward of the same call needs the stack as it is
        bounds = [outer.const(0, loc), outer.build("list.len", [given], loc), outer.const(1, loc)]
        found = outer.op("list.slice", [given, *bounds], loc, types=[given.type]).result
        last = builder.build("int.sub", [builder.build("list.len", [found], loc), builder.const(1, loc)], loc)
        taken = builder.op("list.at", [found, last], loc, types=[value.type]).result
        builder.op("list.delete", [found, last], loc)
        return taken

    def _cut_where_bodies_raise(self, stack: Value, value: Value) -> None:
        """Let the handlers of each `try` around a value drop what its body, which backward code skips then, has kept."""
        loc, start = loc_of(value), self.function.forward
        block: Block | None = value.block
        while block is not None and block is not start and block.parent is not None:
            op = block.parent
            if op.name == "try" and block is op.regions[0]:
                length = Builder.before(op).build("list.len", [stack], loc)
                builder = Builder(op.regions[1], 0)
                none = builder.op("list.new", [], loc, types=[stack.type]).result
                builder.op("list.splice", [stack, length, builder.const(2**63 - 1, loc), none], loc)
            block = op.parent


def _kept(value: Value) -> Value:
    """Return what is kept of a value, at the end of its block. Raises CompileError for a type that cannot be kept."""
    if not is_keepable(value.type):
        op = value.op or value.block.parent or value.block.ops[0]
        raise not_differentiable(op, f"a value of the type {value.type}", "give its tensors and numbers names of their own")
    return _defined(value, insert_at_end(value.block))


def _defined(value: Value, builder: Builder) -> Value:
    """Return a value, or a tensor without elements in the place of one that some paths leave undefined."""
    if not is_reference(value.type) or not may_be_undefined(value, ()):
        return value
    t, loc = value.type, loc_of(value)
    if not isinstance(t, TensorType) or t.dims is None:
        raise not_differentiable(value.op or value.block.ops[0], f"a value of the type {t} that some paths leave undefined")
    then, orelse = Block(), Block()
    Builder(then).op("yield", [value], loc)
    inner = Builder(orelse)
    shape = inner.build("tuple", [inner.const(0, loc)] * len(t.dims), loc)
    inner.op("yield", [inner.op("full", [shape, inner.const(0, loc)], loc, dtype=t.dtype, types=[t]).result], loc)
    defined = builder.build("is_defined", [value], loc)
    return builder.op("if", [defined], loc, regions=[then, orelse], names=[value.name], types=[t]).result


def _is_stand_in(value: Value) -> bool:
    """Return whether a value may be what `_defined` puts in the place of an undefined tensor, which has other sizes."""
    condition = value.op.operands[0].op if value.op is not None and value.op.name == "if" else None
    return condition is not None and condition.name == "is_defined"


def _new_list(value: Value, builder: Builder) -> Value:
    return builder.op("list.new", [], loc_of(value), names=[f"kept_{value.name}"], types=[list_of(value.type)]).result
