"""Find the ops whose results one branch alone uses: their backward code is built in that branch.

    %y = sqrt(%x)                          %gx = if %ok {
    %z = if %ok {                            %t = ... (of sqrt, from %g)
      yield(%y)                      =>      yield(%t)
    } else {                               } else {
      yield(%x)                              yield(%g)
    }                                      }

Autograd records the ops of the path that was taken. A gradient of zeros for `%y` on the other path would go through the
derivative of `sqrt`, and become NaN where that is infinite.

Backward code of an op that reads a tensor that is written, or a list that changes later, stays in its place: the write clears
the gradients of what was there before, and the change is undone on the shadow of the list.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.gradients.activity import root_of, takes_gradients
from scriptc.ir.gradients.adjoints import Adjoints
from scriptc.ir.gradients.order import runs_after
from scriptc.ir.gradients.recompute import writes_outside
from scriptc.ir.gradients.reversal import REVERSES
from scriptc.ir.gradients.tables import is_row
from scriptc.ir.regions import defined_by, is_loop
from scriptc.ir.types import ListType


def find_exclusive(ops: Sequence[Op], adjoints: Adjoints, function: Block) -> dict[Block, list[Op]]:
    """Return the ops of a block that move into a branch, in order, by the region of that branch.

    ops: those whose backward code is built at one level. function: the function's own block. Ops of it are moved with their
    regions. In any other block a region may keep values on stacks, from which backward code has to take them in any case.
    """
    found: dict[Op, Block] = {}
    known = set(ops)
    for op in reversed(ops):
        if _is_movable(op, adjoints, function):
            users = [user for r in op.results if r in adjoints.active for user in r.users()]
            branches = [_branches_of(user, known, found) for user in users if takes_gradients(user, adjoints.active)]
            shared = [at for at in branches[0] if all(at in others for others in branches)] if branches else []
            if shared:
                found[op] = shared[0]
    groups: dict[Block, list[Op]] = {}
    for op in ops:
        if op in found:
            groups.setdefault(found[op], []).append(op)
    return groups


def _branches_of(user: Op, known: Collection[Op], found: dict[Op, Block]) -> list[Block]:
    """Return the branches in which an op runs, or into which it moves, the innermost one first."""
    at, region, branches = user, None, list[Block]()
    while at not in known:
        if at.parent is None or at.parent.parent is None:
            return []
        region, at = at.parent, at.parent.parent
    if at.name == "if" and region is not None:
        branches.append(region)
    while (moved := found.get(at)) is not None:
        branches.append(moved)
        assert moved.parent is not None
        at = moved.parent
    return branches


def _is_movable(op: Op, adjoints: Adjoints, function: Block) -> bool:
    if not op.operands or op.no_grad or op.name == "user_gradient" or op.has("TERMINATOR"):
        return False
    if any(root_of(r) in adjoints.buffered or r in adjoints.tile_values or r in adjoints.ends for r in op.results):
        return False
    if any(_changes_later(v, op, adjoints) for v in _outside_of(op)):
        return False
    if not op.regions:
        return op.name not in REVERSES and not op.defn.writes
    if adjoints.unread.is_gate(op):
        return True
    if op.parent is not function or op.name != "if" and not is_loop(op):
        return False
    return not any(writes_outside(inner, region) for region in op.regions for inner in region.walk())


def _outside_of(op: Op) -> set[Value]:
    """Return the values from outside of an op that the op and its regions use."""
    return {v for inner in op.walk() for v in inner.operands} - defined_by(op.walk()).keys()


def _changes_later(value: Value, op: Op, adjoints: Adjoints) -> bool:
    """Return whether backward code of what runs later than an op may change the buffer or the shadow of a value."""
    root = root_of(value)
    if root in adjoints.buffered and root in adjoints.written:
        return True
    if not isinstance(value.type, ListType) or value not in adjoints.active:
        return False
    if value in adjoints.tables or is_row(value, adjoints.tables):
        return True  # by any other fetched row
    changes = (user for user in value.users() if "list" in user.defn.writes and user.operands[0] is value)
    return not all(runs_after(op, change, value) for change in changes)
