"""Compute the items of a list again where they are read, instead of making the list.

    %xs = list.new()
    %n = dict.len(%d)                                 %n = dict.len(%d)
    loop L %i = 0 to %n step 1 {
      %k = dict.key(%d, %i)
      %v = dict.at(%d, %i)                      =>
      %x = tuple(%k, %v)
      list.append(%xs, %x)
    }
    %m = list.len(%xs)
    loop M %j = 0 to %m step 1 {                      loop M %j = 0 to %n step 1 {
      %y = list.at(%xs, %j)                             %k = dict.key(%d, %j)
      ...                                               %v = dict.at(%d, %j)
                                                        %y = tuple(%k, %v)

Such lists are `d.items()` and `list(xs)` as arguments of `sorted`. Items are recomputed if

- the loop does nothing else, and its ops only fetch objects and make tuples;
- nothing writes what the ops read while the list is in use;
- the list is only read, by `list.at` and `list.len`, in at most one loop: reading an item of a list is faster than
  recomputing it many times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scriptc.ir.analysis import Origins, interferes, writers
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.passes.take_first import fills
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import ancestor_in, counter, is_loop
from scriptc.ir.rewrite import Rewriter, on, rewrite

_MOST = 4  # ops for one item
_LENGTHS = ("list.len", "dict.len", "size", "str.len")


@on("list.append")
def recompute(op: Op, rw: Rewriter) -> bool:
    xs, item = op.operands
    loop = op.parent.parent if op.parent is not None else None
    if xs.op is None or xs.op.name != "list.new" or xs.op.operands or loop is None or loop.parent is not xs.block:
        return False
    if not xs.op.is_before(loop) or not fills(loop, op) or not _is_length(loop.operands[1]):
        return False
    made = [each for each in loop.regions[0].ops if each is not op and not each.has("TERMINATOR")]
    readers = [user for user in xs.users() if user is not op]
    if len(made) > _MOST or not all(map(_is_cheap, made)) or not all(_reads(user, xs, item, loop) for user in readers):
        return False
    if _is_overwritten(made, xs.block, loop, readers):
        return False
    for user in readers:
        rw.replace(user, [loop.operands[1] if user.name == "list.len" else _recomputed(made, item, loop, user)])
    rw.erase_unused(loop)
    rw.erase_unused(xs.op)
    return True


def _is_length(bound: Value) -> bool:
    """Return whether the bound of a loop from 0 is its trip count: a number that is not negative."""
    number = constant_int(bound)
    if number is not None:
        return number >= 0
    return bound.op is not None and (
        bound.op.name in _LENGTHS or (bound.op.name == "int.min" and all(map(_is_length, bound.op.operands)))
    )


def _is_cheap(op: Op) -> bool:
    return op.name == "tuple" or (op.has("FETCHES") and op.has("PURE") and not op.defn.raises)


def _reads(user: Op, xs: Value, item: Value, loop: Op) -> bool:
    """Return whether an op behind the loop that fills a list reads its length, or an item in at most one loop."""
    at = ancestor_in(xs.block, user)
    if at is None or not loop.is_before(at):
        return False
    return user.name == "list.len" or (
        user.name == "list.at" and user.result.type == item.type and _loops_around(user, xs.block) <= 1
    )


def _loops_around(op: Op, block: Block) -> int:
    """Return how many loops of a block are around an op."""
    n, around = 0, op.parent
    while around is not None and around is not block:
        assert around.parent is not None
        n += is_loop(around.parent)
        around = around.parent.parent
    return n


def _is_overwritten(made: Sequence[Op], block: Block, loop: Op, readers: Sequence[Op]) -> bool:
    """Return whether an op may write what the items are computed from, behind the loop and before the last read."""
    found = {ancestor_in(block, user) for user in readers}
    last = max((block.ops.index(at) for at in found if at is not None), default=0)
    known = Origins()
    between = (writer for op in block.ops[block.ops.index(loop) + 1 : last + 1] for writer in writers(op))
    return any(interferes(writer, each, known) for writer in between for each in made)


def _recomputed(made: Sequence[Op], item: Value, loop: Op, user: Op) -> Value:
    """Compute the item that an op reads, in front of that op."""
    number = counter(loop)
    assert number is not None
    values = {number: user.operands[1]}
    for each in made:
        clone_op(Builder.before(user), each, values, loc=user.loc)
    return values.get(item, item)


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [recompute])
