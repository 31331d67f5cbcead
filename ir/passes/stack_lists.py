"""Write tensors that a loop appends to a list, which is only joined behind the loop, straight into the joined tensor.

    %l = list.new()                                   %s = stacked.new()
    loop L %i = 0 to %n step 1 {                      loop L %i = 0 to %n step 1 {
      %h = tanh(...)                                    %h = tanh(...)
      list.append(%l, %h)                      =>       stacked.put(%s, %h, %n) {dim = 0, stack = true}
    }                                                 }
    %y = stack(%l) {dim = 0}                          %y = stacked.join(%s) {dim = 0, stack = true}

The number of tensors must be known when the loop begins: the loop counts from 0, appends once in each iteration, and only an
error ends it early. Before and behind the loop, the block of the list may append more. An appended tensor must not be written,
as the list would alias it. `cat` is handled alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import function_body, is_written
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import dominates, is_loop, runs_to_its_end
from scriptc.ir.rewrite import Rewriter, rewrite
from scriptc.ir.types import TensorType

_JOINS = {"stack": True, "cat": False}


def _only_uses(made: Op) -> tuple[Op, list[Op], Op] | None:
    """Return the append in a loop, those in the list's own block, and the join, of a new list that has no other use."""
    users = list(made.result.uses.values())
    appends = [u for u in users if u.name == "list.append" and u.operands[0] is made.result]
    inside = [u for u in appends if u.parent is not made.parent]
    joins = [u for u in users if u.name in _JOINS]
    if len(inside) != 1 or len(joins) != 1 or len(users) != len(appends) + 1:
        return None
    more = [u for u in appends if u not in inside]
    return (inside[0], more, joins[0]) if all(dominates(u, joins[0]) for u in more) else None


def _runs_once(op: Op, block: Block) -> bool:
    """Return whether an op runs at most once each time that `block` runs: whether only branches are around it there."""
    at: Op | None = op
    while at is not None and at.parent is not block:
        at = at.parent.parent if at.parent is not None else None
        if at is None or at.name != "if":
            return False
    return at is not None


def _loop_of(append: Op, made: Op, join: Op) -> Op | None:
    """Return the loop between the list and the join that appends once in each iteration."""
    loop = append.enclosing(is_loop)
    if loop is None or append.parent is not loop.regions[0] or loop.parent is not made.parent:
        return None
    if made.parent is None or not _runs_once(join, made.parent):
        return None
    from_zero = bool(loop.attrs["counted"]) and (constant_int(loop.operands[0]), constant_int(loop.operands[2])) == (0, 1)
    return loop if from_zero and runs_to_its_end(loop) and dominates(loop, join) else None


def stack_list(op: Op, rw: Rewriter) -> bool:
    if op.name != "list.new" or op.operands or (found := _only_uses(op)) is None:
        return False
    append, more, join = found
    item, dim = append.operands[1], join.attrs["dim"]
    t = item.type
    if not isinstance(t, TensorType) or t.dims is None or not isinstance(join.result.type, TensorType):
        return False
    if t.dtype != join.result.type.dtype or (loop := _loop_of(append, op, join)) is None:
        return False
    if any(is_written(each.operands[1], function_body(op)) for each in (append, *more)):
        return False
    if not all(loop.operands[1].op is None or dominates(loop.operands[1].op, each) for each in more):
        return False
    how = {"dim": dim % (len(t.dims) + _JOINS[join.name]), "stack": _JOINS[join.name]}
    stacked = rw.insert_before(op, "stacked.new", [], hint=op.result.name)
    for each in (append, *more):
        builder, count = Builder.before(each), loop.operands[1]
        if more:
            length = builder.build("int.max", [count, builder.const(0, each.loc)], each.loc)
            count = builder.build("int.add", [length, builder.const(len(more), each.loc)], each.loc)
        builder.op("stacked.put", [stacked, each.operands[1], count], each.loc, **how)
        rw.replace(each, [])
    made = Builder.before(join).op("stacked.join", [stacked], join.loc, types=[join.result.type], **how)
    rw.replace(join, made.results)
    rw.erase_unused(op)
    return True


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [stack_list])
