"""Refuse what shadows would miss: changes of a list by another name, and writes to tensors that a list holds."""

from __future__ import annotations

from collections.abc import Collection

from scriptc.ir.analysis import Origins, is_fresh, may_write
from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.activity import carries, root_of
from scriptc.ir.gradients.lists import CHANGES_SEVERAL, may_be_several
from scriptc.ir.gradients.order import runs_after
from scriptc.ir.gradients.rules import not_differentiable, written_by
from scriptc.ir.gradients.tables import is_row
from scriptc.ir.regions import fed_arguments, region_argument_of
from scriptc.ir.types import ListType

_COPIES = frozenset({"stack", "cat"})  # what they make of a list shares no memory with its items


def refuse_aliases(forward: Block, active: Collection[Value], tables: set[Value]) -> None:
    """Refuse changes and writes in a block whose gradients the shadows of lists would miss. tables: see tables.py."""
    lists = [v for v in active if isinstance(v.type, ListType)]
    if not lists:
        return
    known = Origins()
    for op in forward.walk():
        is_change = "list" in op.defn.writes and op.operands and isinstance(op.operands[0].type, ListType)
        if is_change and not is_row(op.operands[0], tables):
            _refuse_other_name(op, lists, active, known)
        for dst in written_by(op):
            if root_of(dst) in active:
                _refuse_held(op, root_of(dst), active, tables)


def _comes_behind(change: Op) -> bool:
    """Return whether a list is changed behind an op that passes it on to a region, from where on it has several names."""
    target = change.operands[0]
    passed_on = [user for (_, i), user in target.uses.items() if fed_arguments(user, i)]
    return not all(runs_after(user, change, target) for user in passed_on)


def _refuse_other_name(op: Op, lists: list[Value], active: Collection[Value], known: Origins) -> None:
    """Refuse a change of a list that may be the same list as one with gradients."""
    target = op.operands[0]
    if target in active and (may_be_several(target) or _comes_behind(op)):
        raise not_differentiable(op, *CHANGES_SEVERAL)
    if target in active or not carries(target.type):
        return
    is_argument = target.op is None and target.block.parent is None
    is_passed_on_later = not may_be_several(target) and not _comes_behind(op)
    for value in lists:
        if is_argument and is_fresh(value) or is_passed_on_later and region_argument_of(value) is not None:
            continue
        if may_write(op, value, known):
            raise not_differentiable(op, *CHANGES_SEVERAL)


def _refuse_held(op: Op, root: Value, active: Collection[Value], tables: set[Value]) -> None:
    """Refuse a write to a tensor if a list that is read otherwise than to copy its items holds the tensor, or a view of it."""
    seen, todo = set[Value](), [root]
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for (_, i), user in value.uses.items():
            if user.name == "alias":
                continue  # no gradients flow to it
            if i == 0 and (user.has("VIEW") or user.has("FETCHES")):
                todo += user.results
            holder = _holder(user, i)
            if holder is None or holder not in active or runs_after(user, op, root):
                continue
            if is_row(holder, tables) or not _is_only_copied(holder, op):
                raise not_differentiable(op, "a write to a tensor that a list holds", "write to a clone of it")


def _holder(user: Op, index: int) -> Value | None:
    """Return the list that holds an operand, or its items, when an op has run."""
    if user.has("ALLOCATES") and isinstance(user.result.type, ListType):
        return user.result
    return user.operands[0] if "list" in user.defn.writes and index else None


def _is_only_copied(holder: Value, op: Op) -> bool:
    """Return whether a list is only changed, and read to copy its items before `op` runs."""
    for (_, i), user in holder.uses.items():
        changes = "list" in user.defn.writes and i == 0
        if not changes and user.name != "list.len" and not (user.name in _COPIES and runs_after(op, user, holder)):
            return False
    return True
