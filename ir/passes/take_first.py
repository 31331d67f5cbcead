"""Make only the items of a list that a slice takes, and find only the first places of an order that nobody reads further.

    %order = list.argsort(%keys)                      %order = list.argsort(%keys) {most = 8}
    %n = list.len(%order)                             %n = list.len(%order)
    %ys = list.new()                                  %first = int.min(%n, %eight)
    loop L %i = 0 to %n step 1 {                      %ys = list.new()
      %j = list.at(%order, %i)                =>      loop L %i = 0 to %first step 1 {
      %y = list.at(%xs, %j)                             %j = list.at(%order, %i)
      list.append(%ys, %y)                              %y = list.at(%xs, %j)
    }                                                   list.append(%ys, %y)
    %zs = list.slice(%ys, %zero, %eight, %one)        }

This is `sorted(xs, key=...)[:8]`, by which a beam search chooses. The loop may do nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, loop_of_counter, runs_to_its_end
from scriptc.ir.rewrite import Rewriter, on, rewrite

_STEPS = [(0, 0), (2, 1)]  # operands of a loop that counts from 0, each by 1: start and step


def fills(loop: Op, append: Op) -> bool:
    """Return whether a loop appends an item in each of its iterations, which count from 0, and does nothing else."""
    if not is_loop(loop) or not loop.attrs["counted"] or loop.results or not runs_to_its_end(loop):
        return False
    if any(constant_int(loop.operands[i]) != number for i, number in _STEPS) or append.parent is not loop.regions[0]:
        return False
    inside = [op for op in loop.regions[0].walk() if op is not append and not op.has("TERMINATOR")]
    return not any(op.defn.writes or op.defn.raises or is_loop(op) for op in inside)


@on("list.slice")
def take_first_items(op: Op, rw: Rewriter) -> bool:
    xs, start, stop, step = op.operands
    most = constant_int(stop)
    if xs.op is None or xs.op.name != "list.new" or xs.op.operands or xs.block is not op.parent:
        return False
    others = [user for user in xs.users() if user is not op]
    if most is None or most < 0 or constant_int(start) != 0 or constant_int(step) != 1 or len(others) != 1:
        return False
    (append,) = others
    loop = append.parent.parent if append.parent is not None else None
    if append.name != "list.append" or append.operands[0] is not xs or append.operands[1] is xs:
        return False
    if loop is None or loop.parent is not op.parent or not loop.is_before(op) or not fills(loop, append):
        return False
    bound = rw.insert_before(loop, "int.min", [loop.operands[1], rw.const_before(loop, most)])
    rw.set_operands(loop, [loop.operands[0], bound, *loop.operands[2:]])
    rw.replace(op, [xs])
    return True


def _most_read(order: Value, user: Op) -> int | None:
    """Return how many items of an order an op reads at most; 0 if it only asks for the length of the loop that reads them."""
    if user.name == "list.len":
        return 0 if all(other.name == "int.min" for other in user.result.users()) else None
    loop = loop_of_counter(user.operands[1]) if user.name == "list.at" else None
    if loop is None or any(constant_int(loop.operands[i]) != number for i, number in _STEPS):
        return None
    bound = loop.operands[1].op
    if bound is None or bound.name != "int.min":
        return None
    length, most = bound.operands
    of_order = length.op is not None and length.op.name == "list.len" and length.op.operands[0] is order
    return constant_int(most) if of_order else None


@on("list.argsort")
def find_first_places(op: Op, rw: Rewriter) -> bool:
    read = [_most_read(op.result, user) for user in op.result.users()]
    known = [n for n in read if n is not None]
    most = max(known, default=0)
    if op.attrs.get("most", -1) != -1 or len(known) != len(read) or most <= 0:
        return False
    attrs = {**op.attrs, "most": most}
    new = Builder.before(op).op("list.argsort", op.operands, op.loc, names=[op.result.name], **attrs)
    rw.replace(op, new.results)
    return True


def run(module: Module, options: Mapping[str, int]) -> bool:
    taken = rewrite(module, [take_first_items])
    return rewrite(module, [find_first_places]) or taken
