"""The order in which ops of a function run, for one value at a time."""

from __future__ import annotations

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.regions import ancestor_in, is_loop


def runs_after(later: Op, op: Op, root: Value) -> bool:
    """Return whether an op runs only after another one, from the definition of `root` on."""
    at: Op | None = op
    while at is not None and at.parent is not None:
        other = ancestor_in(at.parent, later)
        if other is not None:
            return other is not at and at.is_before(other) and not _repeats(at.parent, root)
        at = at.parent.parent
    return False


def _repeats(block: Block, root: Value) -> bool:
    """Return whether a block may run several times for one `root`."""
    while block is not root.block and block.parent is not None and block.parent.parent is not None:
        if is_loop(block.parent):
            return True
        block = block.parent.parent
    return False
