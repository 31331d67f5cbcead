"""Make room for the items of a list in front of the loop that appends them.

    %xs = list.new()                                  %xs = list.new()
                                                      list.room(%xs, %n)
    loop L %i = 0 to %n step 1 {                      loop L %i = 0 to %n step 1 {
      list.append(%xs, %item)                =>         list.append(%xs, %item)
    }                                                 }

So a list does not grow in steps, each of which copies the items so far. Nothing may leave the loop but an exception.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op
from scriptc.ir.list_items import is_made, leaves
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, target

FEWEST = 20  # items that a list holds before it grows


def run(module: Module, options: Mapping[str, int]) -> bool:
    appends = [op for op in module.walk() if op.name == "list.append"]
    return sum(map(_make_room, appends)) > 0


def _make_room(append: Op) -> bool:
    xs, loop = append.operands[0], append.parent.parent if append.parent is not None else None
    if loop is None or not is_made(xs) or loop.parent is not xs.block or not _runs_to_its_end(loop):
        return False
    if any(user.name == "list.room" for user in xs.users()):
        return False
    Builder.before(loop).op("list.room", [xs, loop.operands[1]], loop.loc)
    return True


def _runs_to_its_end(loop: Op) -> bool:
    """Return whether a loop counts from 0 to the number of its iterations, which are more than a few."""
    if not is_loop(loop) or not loop.attrs["counted"]:
        return False
    start, stop, step = loop.operands[:3]
    number = constant_int(stop)
    if constant_int(start) != 0 or constant_int(step) != 1 or (number is not None and number <= FEWEST):
        return False
    assert loop.parent is not None
    return not any(leaves(op, loop.parent) or (op.name == "break" and target(op) is loop) for op in loop.walk())
