"""Backward code of lists: a list of tensors has a list of their gradients, its shadow.

The shadow is made where backward code first meets the list, with an item for each item that the list has at its end. Backward
code then undoes what forward code did to the list, in the opposite order (list_changes.py). So the shadow always has an item
for each item that the list had there in forward code, of the same sizes.

If items of a list may be None, the items of its shadow are None until a gradient reaches them. No sizes are needed then.

A list of the views that an op made together, such as `unbind`, has the same views of the buffer of the tensor in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scriptc.ir.analysis import may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.activity import viewed
from scriptc.ir.gradients.adjoints import added
from scriptc.ir.gradients.levels import Level, insert_at_end, loc_of, size_of
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.gradients.tables import is_row
from scriptc.ir.loc import Loc
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import region_argument_of
from scriptc.ir.types import INT, ListType, OptionalType, TensorType, Type, list_of

_MAKERS = frozenset({"list.new", "tuple.new", "list.slice", "list.repeat", "tuple.of", "tuple.join", "tuple.append"})


def shadow(reversal: Reversal, level: Level, value: Value) -> Value:
    """Return the list of gradients of a list."""
    home = level.home_of(value)
    if value not in home.shadows:
        if viewed(value) is not None:
            home.shadows[value] = reversal.adjoints.part(home, value)
        elif is_row(value, reversal.adjoints.tables):
            home.shadows[value] = _shadow_of_row(reversal, home, value)
        else:
            _refuse_unknown(home, value)
            home.shadows[value] = zeros_of(reversal, home, value)
    return home.shadows[value]


def _shadow_of_row(reversal: Reversal, level: Level, row: Value) -> Value:
    """Return the shadow of a row of a table: the item of the table's shadow that has its place, counted from the start."""
    op = row.op
    assert op is not None
    (table, index), before = op.operands, Builder.before(op)
    place = level.get(from_start(before, index, before.build("list.len", [table], op.loc), op.loc))
    rows = shadow(reversal, level, table)
    return level.builder.op("list.at", [rows, place], op.loc, types=[item_type(rows)]).result


def start(reversal: Reversal, level: Level, value: Value, gradients: Value) -> None:
    """Make a copy of the gradients of a returned list its shadow, or add to the shadow if the list is returned twice."""
    _refuse_unknown(level, value)
    builder, loc = level.builder, loc_of(value)
    if (items := level.shadows.get(value)) is not None:

        def add_item(inner: Builder, k: Value) -> None:
            item = inner.op("list.at", [gradients, k], loc, types=[item_type(items)]).result
            add_to_item(inner, items, k, item, loc)

        for_each(reversal.label, builder, items, loc, add_item)
        return
    bounds = [builder.const(0, loc), builder.build("list.len", [gradients], loc), builder.const(1, loc)]
    copy = builder.op("list.slice", [gradients, *bounds], loc, types=[list_of(item_type(value))]).result
    level.shadows[value] = copy


_ONE_OF_SEVERAL = ("a list that may be one of several", "put its items into one tensor, by `torch.stack`")
CHANGES_SEVERAL = ("a change of a list that may be one of several", "change a copy, made by `list(...)`")


def may_be_several(value: Value) -> bool:
    """Return whether a list is neither an argument nor made by its op, so that another value may be the same list."""
    is_argument = value.op is None and value.block.parent is None
    return not is_argument and (value.op is None or value.op.name not in _MAKERS)


def _refuse_unknown(level: Level, value: Value) -> None:
    """Refuse a list that may be one of several, unless regions pass it on: nothing changes such lists (list_aliases.py)."""
    if may_be_several(value) and region_argument_of(value) is None:
        raise not_differentiable(value.op or level.forward.ops[0], *_ONE_OF_SEVERAL)


def receive(reversal: Reversal, level: Level, value: Value, items: Value) -> None:
    """Give a list that a region passes on the gradients of what it becomes: a list of its own, or items for its shadow."""
    if value not in reversal.adjoints.active:
        return
    home = level.home_of(value)
    if home is level and value not in home.shadows and viewed(value) is None:
        _refuse_unknown(level, value)
        level.shadows[value] = items
    else:
        add_items(reversal, level, items, level.builder.const(0, loc_of(value)), value, loc_of(value))


def zeros_of(reversal: Reversal, level: Level, value: Value) -> Value:
    """Return a list of zeros, each with the memory of one element, with the sizes of the items of a forward list."""
    elem = item_type(value)
    items = elem.elem if value in reversal.adjoints.tables and isinstance(elem, ListType) else elem
    is_argument = value.op is None and value.block.parent is None
    if isinstance(elem, OptionalType) and isinstance(elem.item, TensorType) and elem.item.dims is not None and not is_argument:
        return _nones(level, value)
    if not isinstance(items, TensorType) or items.dims is None:
        hint = "put in tensors of one rank; sizes decide the rank of `squeeze()`, which dynamic=False lets the compiler know"
        raise not_differentiable(value.op or level.forward.ops[0], "a list of other items than tensors of one rank", hint)
    return _zeros_of_items(reversal, level.builder, level.get(value), loc_of(value))


def _nones(level: Level, value: Value) -> Value:
    """Return a list of None, as long as a forward list is at the end of its block."""
    builder, loc = level.builder, loc_of(value)
    length = level.get(insert_at_end(value.block).build("list.len", [value], loc))
    one = builder.op("list.new", [builder.const(None, loc)], loc, types=[list_of(item_type(value))]).result
    return builder.op("list.repeat", [one, length], loc, types=[list_of(item_type(value))]).result


def _zeros_of_items(reversal: Reversal, builder: Builder, given: Value, loc: Loc) -> Value:
    elem = item_type(given)
    made = builder.op("list.new", [], loc, types=[list_of(elem)]).result

    def add_zero(inner: Builder, k: Value) -> None:
        item = inner.op("list.at", [given, k], loc, types=[elem]).result
        is_list = isinstance(elem, ListType)
        zero = _zeros_of_items(reversal, inner, item, loc) if is_list else _zeros_like(inner, item, loc)
        inner.op("list.append", [made, zero], loc)

    for_each(reversal.label, builder, given, loc, add_zero)
    return made


def item_type(value: Value) -> Type:
    assert isinstance(value.type, ListType)
    return value.type.elem


def for_each(
    label: Callable[[], str], builder: Builder, items: Value, loc: Loc, make: Callable[[Builder, Value], None]
) -> None:
    """Build a loop over the indices of a list. label: gives a fresh label."""
    body = Block([(INT, "k")])
    inner = Builder(body)
    make(inner, body.args[0])
    inner.op("yield", [], loc)
    bounds = [builder.const(0, loc), builder.build("list.len", [items], loc), builder.const(1, loc)]
    builder.op("loop", bounds, loc, regions=[body], types=[], label=label(), counted=True)


def add_to_item(builder: Builder, items: Value, index: Value, gradient: Value, loc: Loc) -> None:
    """Add to an item of a list of gradients, whose index is in bounds."""
    t = item_type(items)
    have = builder.op("list.at", [items, index], loc, types=[t]).result
    is_optional = isinstance(t, OptionalType)
    total = added(builder, have, gradient, loc) if is_optional else builder.op("add", [have, gradient], loc, types=[t]).result
    if items.op is not None and items.op.has("VIEW"):  # views of a buffer
        builder.op("copy_", [have, total], loc)
    else:
        builder.op("list.put", [items, index, total], loc)


def take_item(reversal: Reversal, level: Level, value: Value, items: Value, index: Value, loc: Loc) -> None:
    """Add an item of a list of gradients to the gradient of a value; to the shadow of a row of a table."""
    if value not in reversal.adjoints.active or not isinstance(value.type, (TensorType, OptionalType, ListType)):
        return
    item = level.builder.op("list.at", [items, index], loc, types=[item_type(items)]).result
    if isinstance(value.type, ListType):
        receive(reversal, level, value, item)
    else:
        reversal.adjoints.accumulate(level, value, item)


def _zeros_like(builder: Builder, value: Value, loc: Loc) -> Value:
    """Return zeros of the sizes of a tensor that have the memory of one element."""
    t = value.type
    assert isinstance(t, TensorType) and t.dims is not None
    return zeros(builder, t, [builder.build("size", [value], loc, dim=d) for d in range(t.rank)], loc)


def zeros(builder: Builder, t: TensorType, sizes: Sequence[Value], loc: Loc) -> Value:
    """Return zeros of a type and of some sizes that have the memory of one element."""
    shape = builder.build("tuple", sizes, loc)
    zero = builder.build("full", [builder.build("tuple", [], loc), builder.const(0.0, loc)], loc, dtype=t.dtype)
    return builder.op("expand", [zero, shape], loc, types=[t], proved=True).result


def add_items(reversal: Reversal, level: Level, items: Value, start: Value, to: Value, loc: Loc) -> None:
    """Add items of a list of gradients, from an index on, to those of the shadow of a list, each to its own."""
    into = shadow(reversal, level, to)

    def add_item(inner: Builder, k: Value) -> None:
        at = inner.build("int.add", [start, k], loc)
        item = inner.op("list.at", [items, at], loc, types=[item_type(items)]).result
        add_to_item(inner, into, k, item, loc)

    for_each(reversal.label, level.builder, into, loc, add_item)


# ---- indices ----


def from_start(builder: Builder, index: Value, length: Value, loc: Loc) -> Value:
    """Return an index counted from the start of a list, which may be less than 0: if `index` is, it counts from the end."""
    number = constant_int(index)
    if number is not None:
        return builder.build("int.add", [length, index], loc) if number < 0 else index
    then, orelse = Block(), Block()
    Builder(then).op("yield", [Builder(then, 0).build("int.add", [length, index], loc)], loc)
    Builder(orelse).op("yield", [index], loc)
    condition = builder.build("int.lt", [index, builder.const(0, loc)], loc)
    return builder.op("if", [condition], loc, regions=[then, orelse], types=[INT]).result


def bound(builder: Builder, index: Value, length: Value, loc: Loc) -> Value:
    """Return the bound that a Python index into a list is, between 0 and the length."""
    at = from_start(builder, index, length, loc)
    return builder.build("int.max", [builder.build("int.min", [at, length], loc), builder.const(0, loc)], loc)


# ---- lists that are made and read ----


@reverses("list.new", "tuple.new")
def reverse_new(reversal: Reversal, level: Level, op: Op) -> None:
    items = level.shadows.get(op.result)
    if items is not None:
        if any(may_be_undefined(operand, ()) for operand in op.operands):
            raise not_differentiable(op, "a list of values that some paths leave undefined")
        for i, operand in enumerate(op.operands):
            take_item(reversal, level, operand, items, level.builder.const(i, op.loc), op.loc)


@reverses("list.get", "list.at")
def reverse_get(reversal: Reversal, level: Level, op: Op) -> None:
    value, (source, index) = op.result, op.operands
    if viewed(value) is not None or isinstance(value.type, ListType):
        return  # a part of a tensor that was taken apart, or a row whose shadow is that of the table
    is_optional = isinstance(value.type, OptionalType)
    gradient = reversal.adjoints.take(level, value) if is_optional else reversal.adjoints.take_defined(level, value)
    if gradient is None or source not in reversal.adjoints.active:
        return
    items, builder, loc = shadow(reversal, level, source), level.builder, op.loc
    t, at = item_type(items), level.get(index)
    have = builder.op("list.get", [items, at], loc, types=[t]).result
    total = added(builder, have, gradient, loc) if is_optional else builder.op("add", [have, gradient], loc, types=[t]).result
    builder.op("list.set", [items, at, total], loc)


@reverses("list.slice", "list.repeat", "tuple.of")
def reverse_items(reversal: Reversal, level: Level, op: Op) -> None:
    items, source, loc = level.shadows.get(op.result), op.operands[0], op.loc
    if items is None or source not in reversal.adjoints.active:
        return
    into, builder = shadow(reversal, level, source), level.builder
    index = _index_in_source(level, op, builder.build("list.len", [into], loc))

    def add_item(inner: Builder, k: Value) -> None:
        item = inner.op("list.at", [items, k], loc, types=[item_type(items)]).result
        add_to_item(inner, into, index(inner, k), item, loc)

    for_each(reversal.label, builder, items, loc, add_item)


def _index_in_source(level: Level, op: Op, length: Value) -> Callable[[Builder, Value], Value]:
    """Return a function that builds the index of an item in the list of this length that the item was taken from."""
    builder, loc = level.builder, op.loc
    if op.name == "tuple.of":
        return lambda inner, k: k
    if op.name == "list.repeat":
        return lambda inner, k: inner.build("int.mod", [k, length], loc)
    last = builder.build("int.sub", [length, builder.const(1, loc)], loc)
    start = from_start(builder, level.get(op.operands[1]), length, loc)
    first = builder.build("int.max", [builder.build("int.min", [start, last], loc), builder.const(0, loc)], loc)
    step = level.get(op.operands[3])
    return lambda inner, k: inner.build("int.add", [first, inner.build("int.mul", [k, step], loc)], loc)


@reverses("tuple.join")
def reverse_join(reversal: Reversal, level: Level, op: Op) -> None:
    items, (first, second), builder, loc = level.shadows.get(op.result), op.operands, level.builder, op.loc
    if items is None:
        return
    zero = builder.const(0, loc)
    if first in reversal.adjoints.active:
        add_items(reversal, level, items, zero, first, loc)
    if second in reversal.adjoints.active:
        into = shadow(reversal, level, second)
        lengths = [builder.build("list.len", [v], loc) for v in (items, into)]
        add_items(reversal, level, items, builder.build("int.sub", lengths, loc), second, loc)


@reverses("tuple.append")
def reverse_longer(reversal: Reversal, level: Level, op: Op) -> None:
    items, (first, item), builder, loc = level.shadows.get(op.result), op.operands, level.builder, op.loc
    if items is None:
        return
    last = builder.build("int.sub", [builder.build("list.len", [items], loc), builder.const(1, loc)], loc)
    take_item(reversal, level, item, items, last, loc)
    if first in reversal.adjoints.active:
        add_items(reversal, level, items, builder.const(0, loc), first, loc)


# ---- lists that are joined ----


def dim_of_stack(op: Op) -> int:
    t = op.result.type
    assert isinstance(t, TensorType)
    return int(op.attrs["dim"]) % max(t.rank, 1)


def _display(value: Value) -> Op | None:
    """Return the op that made a list of known items, if the list has one use: the op that joins it."""
    made = value.op
    return made if made is not None and made.name in ("list.new", "tuple.new") and len(value.users()) == 1 else None


@reverses("stack")
def reverse_stack(reversal: Reversal, level: Level, op: Op) -> None:
    gradient = reversal.adjoints.take_defined(level, op.result)
    if gradient is None:
        return
    dim, builder, loc, (source,) = dim_of_stack(op), level.builder, op.loc, op.operands
    if (made := _display(source)) is not None:
        for i, operand in enumerate(made.operands):
            item = builder.build("select", [gradient, builder.const(i, loc)], loc, dim=dim)
            reversal.adjoints.accumulate(level, operand, item)
        return
    if source in reversal.adjoints.stacked:
        level.stacked[source] = gradient
        return
    items = shadow(reversal, level, source)

    def add_item(inner: Builder, k: Value) -> None:
        item = inner.op("select", [gradient, k], loc, dim=dim, proved=True).result
        add_to_item(inner, items, k, item, loc)

    for_each(reversal.label, builder, items, loc, add_item)


@reverses("cat")
def reverse_cat(reversal: Reversal, level: Level, op: Op) -> None:
    gradient = reversal.adjoints.take_defined(level, op.result)
    if gradient is None:
        return
    dim, builder, loc, (source,) = dim_of_stack(op), level.builder, op.loc, op.operands
    zero, one = builder.const(0, loc), builder.const(1, loc)
    if (made := _display(source)) is not None:
        start = zero
        for operand in made.operands:
            end = builder.build("int.add", [start, level.get(size_of(operand, dim))], loc)
            if operand in reversal.adjoints.active:
                part = builder.op("slice", [gradient, start, end, one], loc, dim=dim, types=[operand.type]).result
                reversal.adjoints.accumulate(level, operand, part)
            start = end
        return
    items = shadow(reversal, level, source)
    body = Block([(INT, "k"), (INT, "start")])
    inner, (k, start) = Builder(body), body.args
    item = inner.op("list.at", [items, k], loc, types=[item_type(items)]).result
    end = inner.build("int.add", [start, inner.build("size", [item], loc, dim=dim)], loc)
    add_to_item(inner, items, k, inner.build("slice", [gradient, start, end, one], loc, dim=dim), loc)
    inner.op("yield", [end], loc)
    bounds = [zero, builder.build("list.len", [items], loc), one, zero]
    builder.op("loop", bounds, loc, regions=[body], types=[INT], label=reversal.label(), counted=True)
