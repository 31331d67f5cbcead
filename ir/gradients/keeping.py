"""Keep values of forward blocks for backward code."""

from __future__ import annotations

from scriptc.ir.analysis import escapes, is_fresh, is_reference, is_written, may_be_undefined, roots
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.levels import Level, insert_at_end, is_keepable, loc_of
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.loc import Loc
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import RegionArgument, region_arguments, runs_to_its_end
from scriptc.ir.types import STR, Container, ListType, ScalarType, TensorType, Type, list_of


class KeptOfFunction:
    """Values of the function's own block: results of the forward function, parameters of the backward one."""

    def __init__(self, backward: Block):
        self.backward = backward
        self.values: list[Value] = []

    def keep(self, value: Value, builder: Builder) -> Value:
        self.values.append(_as_left(_kept(value)))
        arg = Value(value.type, self.backward, value.name)
        self.backward.args.append(arg)
        return arg


def _as_left(value: Value) -> Value:
    """Return what the function leaves of a list that is an argument, as a copy: the caller may have the list as it was."""
    if not isinstance(value.type, ListType) or value.op is not None or not is_written(value, value.block):
        return value
    builder, loc = insert_at_end(value.block), loc_of(value)
    bounds = [builder.const(0, loc), builder.build("list.len", [value], loc), builder.const(1, loc)]
    return builder.op("list.slice", [value, *bounds], loc, types=[value.type]).result


class KeptInPlace:
    """Values of a block that runs before backward code of the same function, where they are still there."""

    def keep(self, value: Value, builder: Builder) -> Value:
        return _defined(value, builder)


class KeptOfLoop:
    """Values of the body of a loop of the function: tensors and lists with an item for each iteration.

    index: the iteration that backward code runs through.
    lists: the lists of values of all iterations, by these values. extended: the values whose lists have one item more.
    stacked: the tensors of the items of lists, in backward code, where these have the same sizes. separate: other lists, which
    hold copies of what the user may hold.
    """

    def __init__(self, loop: Op, outer: Level, index: Value):
        self.loop = loop
        self.outer = outer
        self.index = index
        self.lists: dict[Value, Value] = {}
        self.extended: set[Value] = set()
        self.stacked: dict[Value, Value] = {}
        self.separate: set[Value] = set()

    def keep(self, value: Value, builder: Builder) -> Value:
        value, loc = _kept(value), loc_of(value)
        carried = self._carried(value)
        copies = isinstance(value.type, TensorType) and not _is_stand_in(value) and not self._is_seen(value, carried)
        if copies:
            self._hold(value, carried)
        kept = self._listed(value) if carried is None else self._with_last(carried)
        index = self.index if carried is None else builder.build("int.add", [self.index, builder.const(1, loc)], loc)
        if not copies:
            return builder.op("list.at", [self.outer.get(kept), index], loc, types=[value.type]).result
        if self.is_stacked(value):
            if kept not in self.stacked:
                self.stacked[kept] = self.outer.get(self.stack(kept, value))
            return builder.op("select", [self.stacked[kept], index], loc, dim=0, types=[value.type], proved=True).result
        self._separate(kept)
        return builder.op("list.at", [self.outer.get(kept), index], loc, types=[value.type]).result

    def _is_seen(self, value: Value, carried: RegionArgument | None) -> bool:
        """Return whether the user may hold tensors that a value is, other than its first and last one.

        Autograd has to tell of a write to one of these, so no copy takes its place.
        """
        if any(isinstance(root.type, Container) and not is_fresh(root) for root in roots(value)):
            return True
        holders = [_holder(user, i) for v in self._listed_with(value, carried) for (_, i), user in v.uses.items()]
        return any(h is not None and h not in self.lists.values() and not _is_only_joined(h) for h in holders)

    def _listed_with(self, value: Value, carried: RegionArgument | None) -> set[Value]:
        """Return the values whose tensors are items of one list: a value, and what it is in the next or the last iteration."""
        inner = value if carried is None else carried.inner
        found = {value}
        for argument in region_arguments(self.loop):
            if argument.inner is not None and argument.inner is inner:
                found |= {inner, *(op.operands[i] for op, i in argument.into_inner if op is not self.loop)}
        return found

    def _hold(self, value: Value, carried: RegionArgument | None) -> None:
        """Keep two objects that the user may hold beside copies of a value: one from outside, and the last one."""
        for root in roots(value):
            if root.block is self.outer.forward and isinstance(root.type, TensorType) and not is_fresh(root):
                self.outer.get(root)
        if carried is not None and carried.result is not None and escapes(carried.result):
            self.outer.get(carried.result)

    def _separate(self, kept: Value) -> None:
        """Put copies in the place of the first and the last item of a list, which may be tensors that the user holds.

        The other items are then tensors of the call alone, which the caller of the functions keeps without objects.
        """
        if kept in self.separate:
            return
        self.separate.add(kept)
        loc, builder = loc_of(kept), Builder.after(self._last_append(kept))
        assert isinstance(kept.type, ListType)
        length = builder.build("list.len", [kept], loc)
        some = builder.build("int.gt", [length, builder.const(0, loc)], loc)
        then, orelse = Block(), Block()
        inner = Builder(then)
        for index in (inner.const(0, loc), inner.build("int.sub", [length, inner.const(1, loc)], loc)):
            item = inner.op("list.at", [kept, index], loc, types=[kept.type.elem]).result
            inner.op("list.put", [kept, index, inner.build("clone", [item], loc)], loc)
        inner.op("yield", [], loc)
        Builder(orelse).op("yield", [], loc)
        builder.op("if", [some], loc, regions=[then, orelse], types=[])

    def _listed(self, value: Value) -> Value:
        """Return the list of what a value is in each iteration."""
        if value not in self.lists:
            self.lists[value] = _new_list(value, Builder.before(self.loop))
            insert_at_end(value.block).op("list.append", [self.lists[value], value], loc_of(value))
        return self.lists[value]

    def _with_last(self, carried: RegionArgument) -> Value:
        """Return the list of what a carried value is in each iteration, and what it is after the loop."""
        assert carried.inner is not None and carried.result is not None
        kept = self._listed(carried.inner)
        if carried.inner not in self.extended:
            self.extended.add(carried.inner)
            Builder.after(self.loop).op("list.append", [kept, carried.result], loc_of(carried.inner))
        return kept

    def _last_append(self, kept: Value) -> Op:
        """Return the op behind which a list has all of its items."""
        appends = [user for user in kept.users() if user.name == "list.append" and user.parent is self.loop.parent]
        return appends[0] if appends else self.loop

    def _carried(self, value: Value) -> RegionArgument | None:
        """Return the carried value that a tensor is in the next iteration, whose list then has the tensor as well."""
        if not isinstance(value.type, TensorType) or not runs_to_its_end(self.loop):
            return None
        for argument in region_arguments(self.loop):
            inner, result = argument.inner, argument.result
            if inner is None or result is None or inner.type != value.type or may_be_undefined(inner, ()):
                continue
            if [op.operands[i] for op, i in argument.into_inner if op is not self.loop] == [value]:
                return argument
        return None

    def is_stacked(self, value: Value) -> bool:
        """Return whether the value is a tensor of the same sizes in all iterations, whose number is known from the start."""
        t, loop = value.type, self.loop
        if not isinstance(t, TensorType) or t.dims is None or None in t.dims or not loop.attrs["counted"]:
            return False
        return (constant_int(loop.operands[0]), constant_int(loop.operands[2])) == (0, 1) and runs_to_its_end(loop)

    def stack(self, kept: Value, value: Value) -> Value:
        """Stack the items of a list after the loop, if there are any."""
        assert self.loop.parent is not None and isinstance(value.type, TensorType) and value.type.dims is not None
        loc = loc_of(value)
        builder = Builder.after(self._last_append(kept))
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


def _holder(user: Op, index: int) -> Value | None:
    """Return the container that holds an operand when an op has run."""
    if "list" in user.defn.writes:
        return user.operands[0] if index else None
    is_container = user.results and not isinstance(user.results[0].type, (TensorType, ScalarType)) and not user.regions
    return user.results[0] if is_container else None


def _is_only_joined(holder: Value) -> bool:
    """Return whether a list is only changed, and read to join its items to new tensors."""
    return all(u.name in ("list.len", "stack", "cat") or "list" in u.defn.writes and not i for (_, i), u in holder.uses.items())


def _kept(value: Value) -> Value:
    """Return what is kept of a value, at the end of its block. Raises CompileError for a type that cannot be kept."""
    if not is_keepable(value.type):
        op = value.op or value.block.parent or value.block.ops[0]
        raise not_differentiable(op, f"a value of the type {value.type}", "give its tensors and numbers names of their own")
    return _defined(value, insert_at_end(value.block))


def _defined(value: Value, builder: Builder) -> Value:
    """Return a value, or an empty tensor, string or list in the place of one that some paths leave undefined."""
    t, loc = value.type, loc_of(value)
    if not (is_reference(t) or t == STR) or not may_be_undefined(value, ()):
        return value
    if t != STR and not isinstance(t, ListType) and (not isinstance(t, TensorType) or t.dims is None):
        raise not_differentiable(value.op or value.block.ops[0], f"a value of the type {t} that some paths leave undefined")
    then, orelse = Block(), Block()
    Builder(then).op("yield", [value], loc)
    inner = Builder(orelse)
    inner.op("yield", [_empty(t, inner, loc)], loc)
    defined = builder.build("str.is_defined" if t == STR else "is_defined", [value], loc)
    return builder.op("if", [defined], loc, regions=[then, orelse], names=[value.name], types=[t]).result


def _empty(t: Type, builder: Builder, loc: Loc) -> Value:
    """Return an empty string or list, or a tensor without elements."""
    if isinstance(t, ListType):
        return builder.op("list.new", [], loc, types=[t]).result
    if not isinstance(t, TensorType):
        return builder.const("", loc)
    shape = builder.build("tuple", [builder.const(0, loc)] * len(t.dims or ()), loc)
    return builder.op("full", [shape, builder.const(0, loc)], loc, dtype=t.dtype, types=[t]).result


def _is_stand_in(value: Value) -> bool:
    """Return whether a value may be what `_defined` puts in the place of an undefined tensor, which has other sizes."""
    condition = value.op.operands[0].op if value.op is not None and value.op.name == "if" else None
    return condition is not None and condition.name == "is_defined"


def _new_list(value: Value, builder: Builder) -> Value:
    return builder.op("list.new", [], loc_of(value), names=[f"kept_{value.name}"], types=[list_of(value.type)]).result
