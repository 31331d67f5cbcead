"""Tensors that are only taken apart, and lists that are only stacked: their gradients are joined from those of the parts.

A tensor is taken apart into tiles if slices or chunks cover it, each is one view, and it has no other views.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scriptc.ir.core import Func, Op, Value
from scriptc.ir.gradients.activity import VIEWS
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop
from scriptc.ir.types import TensorType


def find_tiles(roots: Iterable[Value]) -> dict[Value, list[Value]]:
    """Return the tiles of each tensor that is taken apart, in order."""
    found = {root: _slices(root) or _chunks(root) for root in roots}
    return {root: tiles for root, tiles in found.items() if tiles is not None}


def dim_of_tiles(tile: Value) -> int:
    """Return the dim along which a tensor was taken apart, from one of its tiles."""
    op = tile.op
    assert op is not None
    if op.name != "slice":
        op = op.operands[0].op
        assert op is not None
    return int(op.attrs["dim"])


def _views(root: Value) -> list[Op]:
    return [user for user in root.users() if user.name in VIEWS]


def _slices(root: Value) -> list[Value] | None:
    """Return the slices that cover a tensor, if these are all its views."""
    t, views = root.type, _views(root)
    if not isinstance(t, TensorType) or t.dims is None or not views:
        return None
    dim = views[0].attrs.get("dim")
    if any(u.name != "slice" or u.attrs["dim"] != dim or u.parent is not root.block for u in views):
        return None
    bounds = {u: tuple(constant_int(v) for v in u.operands[1:]) for u in views}
    end: int | None = 0
    ordered = sorted(views, key=lambda u: bounds[u][0] or 0)
    for user in ordered:
        start, stop, step = bounds[user]
        if step != 1 or start != end:
            return None
        end = stop
    return [u.result for u in ordered] if end is not None and end == t.dims[views[0].attrs["dim"]] else None


def _chunks(root: Value) -> list[Value] | None:
    """Return all chunks of a tensor, if each is read once, by a constant index, and these are all its views."""
    views = _views(root)
    if len(views) != 1 or views[0].name != "chunk" or views[0].parent is not root.block:
        return None
    (chunk,) = views
    found: dict[int, Value] = {}
    for user in chunk.result.users():
        index = constant_int(user.operands[1]) if user.name in ("list.at", "list.get") else None
        if index is None or index < 0 or index in found or user.parent is not chunk.parent:
            return None
        found[index] = user.result
    count = constant_int(chunk.operands[1])
    return [found[i] for i in range(len(found))] if count == len(found) and set(found) == set(range(count)) else None


def find_stacked(func: Func, active: set[Value], cut: Collection[Op]) -> dict[Value, Op]:
    """Return the lists to which each iteration of a loop appends a tensor, with the op that then stacks the list.

    cut: ops that append in the chunks of loops that were cut.
    """
    found: dict[Value, Op] = {}
    for op in func.body.walk():
        if op.name != "list.new" or op.operands or op.result not in active:
            continue
        users = list(op.result.uses.values())
        append = next((u for u in users if u.name == "list.append" and u.operands[0] is op.result), None)
        stack = next((u for u in users if u.name == "stack"), None)
        if len(users) != 2 or append is None or stack is None or append.parent is None:
            continue
        loop = append.parent.parent
        if append in cut:
            loop = loop.enclosing(is_loop) if loop is not None else None
        if loop is not None and is_loop(loop) and loop.parent is op.parent is stack.parent:
            found[op.result] = stack
    return found
