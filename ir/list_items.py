"""The items of a list that the function makes, where straight-line code made all changes so far."""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import ancestor_in, target
from scriptc.ir.types import ListType, Type

_CHANGES = ("list.append", "list.set", "list.put", "list.insert", "list.delete", "list.splice")


def is_list(t: Type) -> bool:
    return isinstance(t, ListType) and not t.is_tuple


def is_made(value: Value) -> bool:
    return value.op is not None and value.op.name == "list.new"


def reads(op: Op) -> bool:
    """Return whether an op at most reads the lists that it takes."""
    return "list" in op.defn.reads and not op.defn.writes and not op.regions


def changes(op: Op, xs: Value) -> bool:
    """Return whether an op changes a list, and gives it no other name."""
    return op.name in _CHANGES and op.operands[0] is xs and xs not in op.operands[1:]


def leaves(op: Op, block: Block) -> bool:
    """Return whether control leaves a block where it reaches `op`, a terminator inside it."""
    if not op.has("TERMINATOR"):
        return False
    receiver = target(op)
    return receiver is None or ancestor_in(block, receiver) is None


def items_at(xs: Value, at: Op) -> list[Value] | None:
    """Return the items of a list where control reaches `at`, which takes it. None if they are not known."""
    if not is_made(xs):
        return None
    assert xs.op is not None
    position = xs.block.ops.index
    last = ancestor_in(xs.block, at)
    earlier = dict[int, Op]()
    for user in xs.users():
        around = ancestor_in(xs.block, user)
        assert around is not None and last is not None
        # Whenever control reaches the block, it makes another list, so that ops behind do not matter.
        if user is at or reads(user) or leaves(user, xs.block) or (around is not last and position(around) > position(last)):
            continue
        if around is not user or not changes(user, xs):
            return None
        earlier[position(user)] = user
    items: list[Value] | None = list(xs.op.operands)
    for _, user in sorted(earlier.items()):
        items = changed(items, user) if items is not None else None
    return items


def changed(items: Sequence[Value], op: Op) -> list[Value] | None:
    """Return the items of a list behind an op that changes it; None if it may raise, or if they are not known."""
    items = list(items)
    if op.name == "list.append":
        return [*items, op.operands[1]]
    if op.name == "list.splice":
        bounds, other = [constant_int(v) for v in op.operands[1:3]], items_at(op.operands[3], op)
        if None in bounds or other is None:
            return None
        items[slice(*bounds)] = other
        return items
    index = constant_int(op.operands[1])
    if index is None:
        return None
    if op.name == "list.insert":
        items.insert(index, op.operands[2])
        return items
    if not -len(items) <= index < len(items):
        return None
    if op.name == "list.delete":
        del items[index]
    else:
        items[index] = op.operands[2]
    return items
