"""Backward code of changes of lists: it undoes them on the shadows, the lists of gradients, in the opposite order.

The gradient of an item that was put into a list is taken from the shadow. An item that was removed or replaced is there again,
and zero, since nothing that ran later has read it.
"""

from __future__ import annotations

from scriptc.ir.builder import Builder
from scriptc.ir.core import Op, Value
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.lists import (
    add_items,
    bound,
    dim_of_stack,
    from_start,
    item_type,
    shadow,
    take_item,
    zeros,
    zeros_of,
)
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.loc import Loc
from scriptc.ir.types import OptionalType, TensorType, list_of


def _length(builder: Builder, items: Value, more: int, loc: Loc) -> Value:
    """Return the length of a list, and some more."""
    return builder.build("int.add", [builder.build("list.len", [items], loc), builder.const(more, loc)], loc)


@reverses("list.append")
def reverse_append(reversal: Reversal, level: Level, op: Op) -> None:
    into, value = op.operands
    adjoints, builder, loc = reversal.adjoints, level.builder, op.loc
    if (gradients := reversal.fetched.get(into)) is not None:
        builder.op("list.append", [gradients, adjoints.take_defined(level, value) or level.zero(value)], loc)
        return
    if into not in adjoints.active:
        return
    if into in adjoints.stacked:
        _reverse_stacked_append(reversal, level, op)
        return
    items = shadow(reversal, level, into)
    last = _length(builder, items, -1, loc)
    take_item(reversal, level, value, items, last, loc)
    builder.op("list.delete", [items, last], loc)


def _reverse_stacked_append(reversal: Reversal, level: Level, op: Op) -> None:
    """Take the gradient of an item from that of the stacked list, by the iteration that appended the item."""
    into, value = op.operands
    number = reversal.adjoints.cut.get(op)
    index = level.index if number is None else level.get(number)
    assert index is not None
    gradient = level.home_of(into).stacked.get(into)
    if gradient is not None and value in reversal.adjoints.active:
        dim = dim_of_stack(reversal.adjoints.stacked[into])
        item = level.builder.op("select", [gradient, index], op.loc, dim=dim, types=[value.type], proved=True)
        reversal.adjoints.accumulate(level, value, item.result)


@reverses("list.insert")
def reverse_insert(reversal: Reversal, level: Level, op: Op) -> None:
    into, index, value = op.operands
    if into not in reversal.adjoints.active:
        return
    items, builder, loc = shadow(reversal, level, into), level.builder, op.loc
    at = bound(builder, level.get(index), _length(builder, items, -1, loc), loc)
    take_item(reversal, level, value, items, at, loc)
    builder.op("list.delete", [items, at], loc)


@reverses("list.delete")
def reverse_delete(reversal: Reversal, level: Level, op: Op) -> None:
    source, index = op.operands
    if source not in reversal.adjoints.active:
        return
    items, builder, loc = shadow(reversal, level, source), level.builder, op.loc
    at = from_start(builder, level.get(index), _length(builder, items, 1, loc), loc)
    builder.op("list.insert", [items, at, _zeros_of_removed(level, op)], loc)


@reverses("list.set", "list.put")
def reverse_set(reversal: Reversal, level: Level, op: Op) -> None:
    into, index, value = op.operands
    if into not in reversal.adjoints.active:
        return
    items, builder, loc = shadow(reversal, level, into), level.builder, op.loc
    at = from_start(builder, level.get(index), builder.build("list.len", [items], loc), loc)
    take_item(reversal, level, value, items, at, loc)
    builder.op("list.put", [items, at, _zeros_of_removed(level, op)], loc)


def _zeros_of_removed(level: Level, op: Op) -> Value:
    """Return zeros of the sizes of the item that an op removes from a list, or replaces."""
    (source, index), loc = op.operands[:2], op.loc
    t = item_type(source)
    if isinstance(t, OptionalType):
        return level.builder.const(None, loc)
    assert isinstance(t, TensorType) and t.dims is not None and op.parent is not None
    if all(isinstance(n, int) for n in t.dims):
        return zeros(level.builder, t, [level.builder.const(n, loc) for n in t.dims], loc)
    before = Builder.before(op)
    length = before.build("list.len", [source], loc)
    start = before.build("int.min", [from_start(before, index, length, loc), length], loc)  # `op` may raise
    end = before.build("int.add", [start, before.const(1, loc)], loc)
    removed = before.op("list.slice", [source, start, end, before.const(1, loc)], loc, types=[list_of(t)]).result
    after = Builder.after(op)
    item = after.op("list.at", [removed, after.const(0, loc)], loc, types=[t]).result
    return zeros(level.builder, t, level.sizes(item), loc)


@reverses("list.splice")
def reverse_splice(reversal: Reversal, level: Level, op: Op) -> None:
    into, start, _, other = op.operands
    if into not in reversal.adjoints.active:
        return
    items, builder, loc = shadow(reversal, level, into), level.builder, op.loc
    added = level.get(Builder.before(op).build("list.len", [other], loc))
    restored, before = _removed_by_splice(reversal, level, op), builder.build("list.len", [items], loc)
    for name, n in (("int.sub", added), ("int.add", builder.build("list.len", [restored], loc))):
        before = builder.build(name, [before, n], loc)
    at = bound(builder, level.get(start), before, loc)
    end = builder.build("int.add", [at, added], loc)
    taken = builder.op("list.slice", [items, at, end, builder.const(1, loc)], loc, types=[items.type]).result
    builder.op("list.splice", [items, at, end, restored], loc)
    if other in reversal.adjoints.active:
        add_items(reversal, level, taken, builder.const(0, loc), other, loc)


def _removed_by_splice(reversal: Reversal, level: Level, op: Op) -> Value:
    """Return a list of zeros of the sizes of the items that a splice removes."""
    source, start, stop, _ = op.operands
    t, before, loc = list_of(item_type(source)), Builder.before(op), op.loc
    if start is stop:
        return level.builder.op("list.new", [], loc, types=[t]).result
    removed = before.op("list.slice", [source, start, stop, before.const(1, loc)], loc, types=[t]).result
    return zeros_of(reversal, level, removed)
