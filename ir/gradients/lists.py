"""Backward code of lists: a list of tensors has a list of their gradients, its shadow.

The shadow is made where backward code first meets the list, with an item for each item that the list has at its end. Backward
code then undoes what forward code did to the list, in the opposite order.
"""

from __future__ import annotations

from collections.abc import Callable

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.activity import viewed
from scriptc.ir.gradients.levels import Level, loc_of, size_of
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.loc import Loc
from scriptc.ir.types import INT, ListType, TensorType, Type, list_of


def shadow(reversal: Reversal, level: Level, value: Value) -> Value:
    """Return the list of gradients of a list."""
    home = level.home_of(value)
    if value not in home.shadows:
        _refuse_unknown(home, value)
        home.shadows[value] = _zeros_of(reversal, home, value)
    return home.shadows[value]


def start(reversal: Reversal, level: Level, value: Value, gradients: Value) -> None:
    """Make a copy of the gradients of a returned list its shadow, or add to the shadow if the list is returned twice."""
    _refuse_unknown(level, value)
    builder, loc = level.builder, loc_of(value)
    if (items := level.shadows.get(value)) is not None:

        def add_item(inner: Builder, k: Value) -> None:
            item = inner.op("list.at", [gradients, k], loc, types=[_item_type(items)]).result
            _add_to_item(inner, items, k, item, loc)

        _for_each(reversal, builder, items, loc, add_item)
        return
    bounds = [builder.const(0, loc), builder.build("list.len", [gradients], loc), builder.const(1, loc)]
    copy = builder.op("list.slice", [gradients, *bounds], loc, types=[list_of(_item_type(value))]).result
    level.shadows[value] = copy


def _refuse_unknown(level: Level, value: Value) -> None:
    """Refuse lists other than arguments and those that the function makes, since another value may be the same list."""
    is_argument = value.op is None and value.block.parent is None
    if not is_argument and (value.op is None or value.op.name not in ("list.new", "tuple.new")):
        raise not_differentiable(value.op or level.forward.ops[0], "a list that may be one of several")


def _zeros_of(reversal: Reversal, level: Level, value: Value) -> Value:
    """Return a list of zeros, each with the memory of one element, with the sizes of the items of a forward list."""
    builder, loc, elem = level.builder, loc_of(value), _item_type(value)
    if not isinstance(elem, TensorType) or elem.dims is None:
        raise not_differentiable(value.op or level.forward.ops[0], "a list of other items than tensors of one rank")
    given = level.get(value)
    made = builder.op("list.new", [], loc, types=[list_of(elem)]).result

    def add_zero(inner: Builder, k: Value) -> None:
        item = inner.op("list.at", [given, k], loc, types=[elem]).result
        inner.op("list.append", [made, _zeros_like(inner, item, loc)], loc)

    _for_each(reversal, builder, given, loc, add_zero)
    return made


def _item_type(value: Value) -> Type:
    assert isinstance(value.type, ListType)
    return value.type.elem


def _for_each(
    reversal: Reversal, builder: Builder, items: Value, loc: Loc, make: Callable[[Builder, Value], None]
) -> None:
    """Build a loop over the indices of a list."""
    body = Block([(INT, "k")])
    inner = Builder(body)
    make(inner, body.args[0])
    inner.op("yield", [], loc)
    bounds = [builder.const(0, loc), builder.build("list.len", [items], loc), builder.const(1, loc)]
    builder.op("loop", bounds, loc, regions=[body], types=[], label=reversal.label(), counted=True)


def _add_to_item(builder: Builder, items: Value, index: Value, gradient: Value, loc: Loc) -> None:
    """Add to an item of a list of gradients, whose index is in bounds."""
    t = _item_type(items)
    have = builder.op("list.at", [items, index], loc, types=[t]).result
    builder.op("list.put", [items, index, builder.op("add", [have, gradient], loc, types=[t]).result], loc)


def _take_item(reversal: Reversal, level: Level, value: Value, items: Value, index: Value, loc: Loc) -> None:
    """Add an item of a list of gradients to the gradient of a value."""
    if value in reversal.adjoints.active and isinstance(value.type, TensorType):
        item = level.builder.op("list.at", [items, index], loc, types=[_item_type(items)]).result
        reversal.adjoints.accumulate(level, value, item)


def _zeros_like(builder: Builder, value: Value, loc: Loc) -> Value:
    """Return zeros of the sizes of a tensor that have the memory of one element."""
    t = value.type
    assert isinstance(t, TensorType) and t.dims is not None
    sizes = builder.build("tuple", [builder.build("size", [value], loc, dim=d) for d in range(t.rank)], loc)
    zero = builder.build("full", [builder.build("tuple", [], loc), builder.const(0.0, loc)], loc, dtype=t.dtype)
    return builder.op("expand", [zero, sizes], loc, types=[t], proved=True).result


# ---- lists that are made, grow and are read ----


@reverses("list.new", "tuple.new")
def reverse_new(reversal: Reversal, level: Level, op: Op) -> None:
    items = level.shadows.get(op.result)
    if items is not None:
        for i, operand in enumerate(op.operands):
            _take_item(reversal, level, operand, items, level.builder.const(i, op.loc), op.loc)


@reverses("list.append")
def reverse_append(reversal: Reversal, level: Level, op: Op) -> None:
    into, value = op.operands
    adjoints, builder, loc = reversal.adjoints, level.builder, op.loc
    if into not in adjoints.active:
        return
    if into in adjoints.stacked:
        _reverse_stacked_append(reversal, level, op)
        return
    items = shadow(reversal, level, into)
    last = builder.build("int.sub", [builder.build("list.len", [items], loc), builder.const(1, loc)], loc)
    _take_item(reversal, level, value, items, last, loc)
    builder.op("list.delete", [items, last], loc)


def _reverse_stacked_append(reversal: Reversal, level: Level, op: Op) -> None:
    """Take the gradient of an item from that of the stacked list, by the iteration that appended the item."""
    into, value = op.operands
    number = reversal.adjoints.cut.get(op)
    index = level.index if number is None else level.get(number)
    assert index is not None
    gradient = level.home_of(into).stacked.get(into)
    if gradient is not None and value in reversal.adjoints.active:
        dim = _dim_of_stack(reversal.adjoints.stacked[into])
        item = level.builder.op("select", [gradient, index], op.loc, dim=dim, types=[value.type], proved=True)
        reversal.adjoints.accumulate(level, value, item.result)


@reverses("list.get", "list.at")
def reverse_get(reversal: Reversal, level: Level, op: Op) -> None:
    value, (source, index) = op.result, op.operands
    if viewed(value) is not None:
        return  # a part of a tensor that was taken apart
    gradient = reversal.adjoints.take_defined(level, value)
    if gradient is None or source not in reversal.adjoints.active:
        return
    items, builder, loc = shadow(reversal, level, source), level.builder, op.loc
    t, at = _item_type(items), level.get(index)
    have = builder.op("list.get", [items, at], loc, types=[t]).result
    builder.op("list.set", [items, at, builder.op("add", [have, gradient], loc, types=[t]).result], loc)


@reverses("list.set", "list.put", "list.insert", "list.delete", "list.splice")
def reverse_change(reversal: Reversal, level: Level, op: Op) -> None:
    if op.operands[0] in reversal.adjoints.active:
        raise not_differentiable(op, f"`{op.name}` of a list of tensors", "build a new list with append()")


# ---- lists that are joined ----


def _dim_of_stack(op: Op) -> int:
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
    dim, builder, loc, (source,) = _dim_of_stack(op), level.builder, op.loc, op.operands
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
        _add_to_item(inner, items, k, item, loc)

    _for_each(reversal, builder, items, loc, add_item)


@reverses("cat")
def reverse_cat(reversal: Reversal, level: Level, op: Op) -> None:
    gradient = reversal.adjoints.take_defined(level, op.result)
    if gradient is None:
        return
    dim, builder, loc, (source,) = _dim_of_stack(op), level.builder, op.loc, op.operands
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
    items, given = shadow(reversal, level, source), level.get(source)
    body = Block([(INT, "k"), (INT, "start")])
    inner, (k, start) = Builder(body), body.args
    item = inner.op("list.at", [given, k], loc, types=[_item_type(given)]).result
    end = inner.build("int.add", [start, inner.build("size", [item], loc, dim=dim)], loc)
    _add_to_item(inner, items, k, inner.build("slice", [gradient, start, end, one], loc, dim=dim), loc)
    inner.op("yield", [end], loc)
    bounds = [zero, builder.build("list.len", [items], loc), one, zero]
    builder.op("loop", bounds, loc, regions=[body], types=[INT], label=reversal.label(), counted=True)
