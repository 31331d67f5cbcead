"""The gradients of forward values in backward code: where they are, and how more is added to them.

A tensor that is read through partial views, or written, has a *buffer*: a tensor of its gradients of which the same views are
taken. A tensor that is taken apart into tiles gets its gradient by joining theirs. Any other value has an SSA value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scriptc.ir.analysis import calls, is_fresh, may_be_undefined, roots
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Op, Value
from scriptc.ir.gradients.activity import PARTIAL_VIEWS, VIEWS, Flow, Written, carries, root_of, viewed
from scriptc.ir.gradients.levels import Level, loc_of
from scriptc.ir.gradients.order import runs_after
from scriptc.ir.gradients.rules import not_differentiable, written_by
from scriptc.ir.gradients.tables import find_tables
from scriptc.ir.gradients.tiles import dim_of_tiles, find_stacked, find_tiles
from scriptc.ir.gradients.unread import Unread
from scriptc.ir.loc import Loc
from scriptc.ir.regions import ancestor_in, fed_arguments, region_argument_of
from scriptc.ir.types import Container, ListType, OptionalType, ScalarType, TensorType, Type, join, list_of


class Adjoints:
    """The gradients of the values of one function.

    active: the values that have gradients. ends: those that are inputs or outputs. written: the tensors that forward code
    writes to. unread: the values that some path leaves unread. tables: the lists of lists that have shadows. buffered: the
    tensors that have buffers. tiles: the parts of tensors that are taken apart. stacked: lists that are only stacked, with the
    op that does. cut: the numbers of the iterations of loops that were cut, by the ops that append to lists there.
    """

    def __init__(self, func: Func, inputs: Sequence[Value], outputs: Sequence[Value], cut: Mapping[Op, Value] | None = None):
        self.cut = cut or {}
        self.active = Flow([func.body]).between(inputs, outputs)
        self.ends = {*inputs, *outputs}
        writes = [(op, dst) for op in func.body.walk() for dst in written_by(op)]
        self.written = Written(func)
        self.unread = Unread(func.body, self.active, self.ends, self.written)
        self.tables = find_tables(func.body) & self.active
        targets = {root_of(dst) for _, dst in writes}
        parts = {v for v in self.active if _is_part(v)}
        self.tiles = find_tiles({root_of(v) for v in parts} - targets)
        self.tile_values = {tile for tiles in self.tiles.values() for tile in tiles}
        self.buffered = {root_of(v) for v in parts - self.tile_values} | (targets & self.active)
        self.stacked = find_stacked(func, self.active, self.cut)
        _refuse_calls(func)
        for op, dst in writes:
            root = root_of(dst)
            if root in self.active:
                _refuse_aliases(op, dst, self.active)
            elif region_argument_of(root) is not None and roots(root) & self.active:  # by another name
                raise not_differentiable(op, "a write to a tensor that may be one of several", "write to a clone of it")

    # ---- adding ----

    def accumulate(self, level: Level, value: Value, gradient: Value) -> None:
        """Add to the gradient of a value."""
        if value not in self.active:
            return
        loc, builder = loc_of(value), level.builder
        if root_of(value) in self.buffered:
            part = self.part(level, value)
            builder.op("copy_", [part, added(builder, part, gradient, loc)], loc)
            return
        have = level.gradients.get(value)
        total = gradient if have is None else added(builder, have, gradient, loc)
        level.gradients[value] = narrowed(builder, total, value.type, loc)

    def buffer(self, level: Level, root: Value) -> Value:
        """Return the buffer of a tensor, made where backward code first needs it."""
        home = level.home_of(root)
        if root not in home.buffers:
            home.buffers[root] = home.zero(root)
        return home.buffers[root]

    def part(self, level: Level, value: Value) -> Value:
        """Return the view of a buffer that `value` is of its root."""
        parent, op = viewed(value), value.op
        if parent is None or op is None:
            return self.buffer(level, value)
        if (made := level.home_of(value).shadows.get(value)) is not None:
            return made
        operands = [self.part(level, parent), *(level.get(v) for v in op.operands[1:])]
        return clone_op(level.builder, op, {}, operands=operands).results[op.results.index(value)]

    # ---- taking ----

    def take(self, level: Level, value: Value) -> Value | None:
        """Return the gradient of a value where backward code reaches its definition; None: no gradient has reached it."""
        if root_of(value) is value and value in self.buffered:
            return level.buffers.get(value)
        return self._joined(level, value) if value in self.tiles else level.gradients.get(value)

    def take_defined(self, level: Level, value: Value) -> Value | None:
        """Return the gradient of the result of an op that has run, as `take` does, but never as an optional."""
        gradient = self.take(level, value)
        return None if gradient is None else self.defined(level, value, gradient)

    def defined(self, level: Level, value: Value, gradient: Value) -> Value:
        """Return a gradient of a value, zeros if it is None."""
        if not isinstance(gradient.type, OptionalType):
            return gradient
        then, orelse, loc, builder = Block(), Block(), loc_of(value), level.builder
        given = Builder(then).build("optional.unwrap", [gradient], loc)
        Builder(then).op("yield", [given], loc)
        missing = level.zero(value, Builder(orelse))
        Builder(orelse).op("yield", [missing], loc)
        condition = builder.build("optional.present", [gradient], loc)
        types = [join(given.type, missing.type)]
        return builder.op("if", [condition], loc, regions=[then, orelse], types=types).result

    def nothing(self, level: Level, value: Value) -> Value:
        """Return the gradient of a value that no gradient has reached: zeros, or None for one of which it may be None."""
        missing = isinstance(value.type, OptionalType) or self.may_be_none(value)
        return level.builder.const(None, loc_of(value)) if missing else level.zero(value)

    def may_be_none(self, value: Value) -> bool:
        """Return whether the gradient of a value may be None where backward code reaches its definition."""
        return value in self.unread.values or may_be_undefined(value, ())

    def gradient_type(self, value: Value) -> Type:
        """Return the type of the gradients of a value; of a list, or a tuple of any length, a list that is never None."""
        if isinstance(value.type, ListType):
            return list_of(value.type.elem)
        is_certain = isinstance(value.type, OptionalType) or not self.may_be_none(value)
        return value.type if is_certain else OptionalType(value.type)

    def take_or_nothing(self, level: Level, value: Value) -> Value:
        gradient = self.take(level, value)
        return self.nothing(level, value) if gradient is None else gradient

    def _joined(self, level: Level, value: Value) -> Value | None:
        """Return the gradient of a tensor from those of its tiles."""
        tiles = self.tiles[value]
        whole, found = level.gradients.get(value), [level.gradients.get(v) for v in tiles]
        if all(g is None for g in found):
            return whole
        builder, loc = level.builder, loc_of(value)
        items = [level.zero(v) if g is None else self.defined(level, v, g) for v, g in zip(tiles, found, strict=True)]
        made = builder.op("list.new", items, loc, types=[list_of(_join_all(items))]).result
        gradient = builder.op("cat", [made], loc, dim=dim_of_tiles(tiles[0]), types=[value.type]).result
        return gradient if whole is None else added(builder, whole, gradient, loc)


def around(level: Level, value: Value) -> Value | None:
    """Return the gradient of a value as far as the levels around have come."""
    at: Level | None = level
    while at is not None:
        if value in at.gradients:
            return at.gradients[value]
        at = at.outer
    return None


def added(builder: Builder, have: Value, more: Value, loc: Loc) -> Value:
    """Return the sum of two gradients, of which each may be None at run time."""
    for one, other in ((have, more), (more, have)):
        if isinstance(one.type, OptionalType):
            then, orelse = Block(), Block()
            inner = Builder(then)
            total = added(inner, inner.build("optional.unwrap", [one], loc), other, loc)
            inner.op("yield", [total], loc)
            Builder(orelse).op("yield", [other], loc)
            condition = builder.build("optional.present", [one], loc)
            return builder.op("if", [condition], loc, regions=[then, orelse], types=[join(total.type, other.type)]).result
    return builder.build("add", [have, more], loc)


def narrowed(builder: Builder, gradient: Value, t: Type, loc: Loc) -> Value:
    """Return a gradient whose type knows the sizes that a type of the same dtype and rank knows."""
    if isinstance(have := gradient.type, OptionalType):
        return _narrowed_optional(builder, gradient, t, loc)
    if have == t or not isinstance(have, TensorType) or not isinstance(t, TensorType) or join(have, t) != have:
        return gradient
    return builder.op("alias", [gradient], loc, types=[t]).result


def _narrowed_optional(builder: Builder, gradient: Value, t: Type, loc: Loc) -> Value:
    then, orelse = Block(), Block()
    inner = Builder(then)
    given = inner.build("optional.unwrap", [gradient], loc)
    made = narrowed(inner, given, t, loc)
    if made is given:
        return gradient
    inner.op("yield", [made], loc)
    Builder(orelse).op("yield", [Builder(orelse, 0).const(None, loc)], loc)
    condition = builder.build("optional.present", [gradient], loc)
    return builder.op("if", [condition], loc, regions=[then, orelse], types=[OptionalType(t)]).result


def _is_part(value: Value) -> bool:
    """Return whether a tensor is a partial view, such as a row of a matrix, or a list of such views is read as a whole."""
    parent, op = viewed(value), value.op
    if parent is None or op is None:
        return False
    if isinstance(value.type, ListType):
        return any(user.name not in ("list.get", "list.at", "list.len") for user in value.users())
    return isinstance(value.type, TensorType) and (op.name in PARTIAL_VIEWS or isinstance(parent.type, ListType))


def _refuse_aliases(op: Op, dst: Value, active: set[Value]) -> None:
    """Refuse a write to a tensor of which another value may be the same tensor."""
    root = root_of(dst)
    made = root.op
    followed: list[Op] = []
    while made is not None and made.has("VIEW"):  # a view that is not taken of gradients
        source = made.operands[0]
        if made.name == "linked":
            if _shares_memory(made, active):
                raise not_differentiable(op, "a write to an output of an autograd.Function that may be a view",
                                         "write to a clone of it")  # fmt: skip
            break
        if _has_other_aliases(made):
            raise not_differentiable(op, f"a write through `{made.name}`", "write to a clone of it")
        followed.append(made)
        root = root_of(source)
        made = root.op
    fetched = made is not None and made.has("FETCHES") or any(isinstance(r.type, Container) for r in roots(root))
    if made is None and root.block.parent is None or fetched:
        raise not_differentiable(op, "a write to a tensor from outside of the function", "write to a clone of it")
    _refuse_older_views(op, root, followed)
    passed_on = (user for (_, i), user in root.uses.items() if user.has("TERMINATOR") and fed_arguments(user, i))
    if not all(runs_after(user, op, root) for user in passed_on):
        raise not_differentiable(op, "a write to a tensor that may be one of several", "write to a clone of it")
    argument = region_argument_of(root)
    for user, i in argument.into_inner + argument.into_result if argument is not None else ():
        source = user.operands[i]
        if len(source.uses) > 1 and argument is not None and source not in (argument.inner, argument.result):
            raise not_differentiable(op, "a write to a tensor that may be one of several", "write to a clone of it")


def _shares_memory(linked: Op, active: set[Value]) -> bool:
    """Return whether an output of a user's function may share memory with a tensor of another name that has gradients."""
    user, value = linked, linked.operands[0]
    while not any(u is not user and u.has("VIEW") and u.name != "alias" for u in value.users()):
        if value.op is None or value.op.name != "alias":
            return value in active or not is_fresh(value)
        user, value = value.op, value.op.operands[0]
    return True


def _refuse_calls(func: Func) -> None:
    """Refuse calls of functions of the IR, which are recursive: gradients may flow through tensors and params in them."""
    for op in func.body.walk():
        if calls(op) and any(carries(v.type) for v in (*op.operands, *op.results)):
            raise not_differentiable(op, "a function that calls itself", "write it as a loop")


def _has_other_aliases(view: Op) -> bool:
    """Return whether another value may share memory with what an op views, or is computed from it."""
    value: Value | None = view.operands[0]
    via: Op | None = view
    while value is not None and not any(user is not via and _is_alias(user) for user in value.users()):
        via = value.op
        value = viewed(value)
    return value is not None


def _refuse_older_views(op: Op, root: Value, followed: Sequence[Op]) -> None:
    """Refuse a write to a tensor of which there may be an older view that the views of gradients do not follow.

    followed: views on the way to what is written, of tensors that nothing else uses.
    """
    todo, seen = [root], set[Value]()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.users():
            if user.name == "alias" or user.operands[0] is not value:  # no gradients flow to a view of the tensor
                continue
            older = user.has("VIEW") and user.name not in VIEWS and user not in followed and not runs_after(user, op, root)
            if older and _may_be_used_after(user, op):
                what = f"a write to a tensor of which `{user.name}` made a view"
                raise not_differentiable(op, what, "write to a clone of it")
            if user.has("VIEW") or user.has("FETCHES"):
                todo += user.results


def _may_be_used_after(view: Op, op: Op) -> bool:
    """Return whether an older view, or a value that may share its memory, may be used once `op` has written to the tensor."""
    assert view.parent is not None
    writer = ancestor_in(view.parent, op)
    lives = writer is not None and view.is_before(writer)  # else the view of this iteration is gone when `op` runs
    todo, seen = list(view.results), set[Value]()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.users():
            reads_alone = user is op and user.operands[0] is not value
            if user.has("TERMINATOR") or lives and not reads_alone and not runs_after(op, user, view.results[0]):
                return True
            if user.has("VIEW") or user.has("FETCHES"):
                todo += user.results
            elif user.defn.writes - {"tensor"} or any(not is_fresh(r) for r in user.results if carries(r.type)):
                return True
    return False


def _is_alias(user: Op) -> bool:
    """Return whether a user of a tensor does more than test it and read its sizes."""
    if user.name.startswith("check"):
        return False
    return not user.results or any(not isinstance(r.type, ScalarType) for r in user.results)


def _join_all(values: Sequence[Value]) -> Type:
    found = values[0].type
    for value in values[1:]:
        found = join(found, value.type)
    return found
