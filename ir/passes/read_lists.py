"""Read the items of lists that straight-line code makes and changes.

    %xs = list.new(%a)                                %c = cat.items(%a, %b) {dim = 1}
    list.append(%xs, %b)                        =>    %n = const() {value = 3}
    %c = cat(%xs) {dim = 1}
    list.append(%xs, %d)
    %n = list.len(%xs)

The sizes of joined tensors are then known. A list that is only changed is dropped, since nothing observes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.list_items import changed, changes, items_at
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, target
from scriptc.ir.rewrite import Rewriter, Rule, fits, on, rewrite
from scriptc.ir.types import is_subtype

_MOST = 256  # items of cat.items


def run(module: Module, options: Mapping[str, int]) -> bool:
    found = rewrite(module, [*READING, join_items, stack_items])
    return drop_unread(module) or found


@on("list.len")
def read_length(op: Op, rw: Rewriter) -> bool:
    items = items_at(op.operands[0], op)
    if items is None:
        return False
    rw.replace(op, [rw.const_before(op, len(items))])
    return True


@on("list.get", "list.at")
def read_item(op: Op, rw: Rewriter) -> bool:
    xs, number = op.operands
    index = constant_int(number)
    items = items_at(xs, op) if index is not None else None
    if index is None or items is None or not -len(items) <= index < len(items):
        return False
    item = items[index]
    if not fits(item, op.result) and not (is_subtype(item.type, op.result.type) and all(map(_passes_on, op.result.users()))):
        return False
    rw.replace(op, [item])
    return True


def _passes_on(user: Op) -> bool:
    """Return whether an op makes its operands values of its region's or its target's types."""
    return is_loop(user) or (user.has("TERMINATOR") and target(user) is not None)


@on("list.slice")
def read_slice(op: Op, rw: Rewriter) -> bool:
    bounds = [constant_int(v) for v in op.operands[1:]]
    items = items_at(op.operands[0], op) if None not in bounds and bounds[2] != 0 else None
    if items is None:
        return False
    (old,) = op.results
    new = Builder.before(op).op("list.new", items[slice(*bounds)], op.loc, types=[old.type], names=[old.name])
    rw.replace(op, new.results)
    return True


READING: tuple[Rule, ...] = (read_length, read_item, read_slice)


@on("cat")
def join_items(op: Op, rw: Rewriter) -> bool:
    items = items_at(op.operands[0], op)
    if items is None or not 0 < len(items) <= _MOST:
        return False
    (old,) = op.results
    new = Builder.before(op).op("cat.items", items, op.loc, types=[old.type], names=[old.name], dim=op.attrs["dim"])
    rw.replace(op, new.results)
    return True


@on("cat", "stack")
def stack_items(op: Op, rw: Rewriter) -> bool:
    """Take a list that is not changed, in place of one that is."""
    (xs,) = op.operands
    items = items_at(xs, op) if any(changes(user, xs) for user in xs.users()) else None
    if items is None:
        return False
    made = Builder.before(op).op("list.new", items, op.loc, types=[xs.type], names=[xs.name])
    rw.set_operands(op, made.results)
    return True


def drop_unread(module: Module) -> bool:
    """Drop lists that are only changed."""
    made = [op for op in module.walk() if op.name == "list.new"]
    unread = [op for op in made if all(_may_go(user, op.result) for user in op.result.users())]
    for op in unread:
        for user in op.result.users():
            user.erase()
        op.erase()
    return bool(unread)


def _may_go(user: Op, xs: Value) -> bool:
    """Return whether an op only changes a list, and does not raise."""
    if not changes(user, xs):
        return False
    items = items_at(xs, user) if user.name != "list.append" else []
    return items is not None and changed(items, user) is not None
