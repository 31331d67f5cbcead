"""Compute a sum of contractions over the iterations of a loop as one contraction behind the loop.

    %w = loop L %i = 0 to %n step 1 carry (%a = %z) {     %some = int.gt(%n, 0)
      %t = transpose(%x, 0, 1)                            %w = if %some {
      %p = matmul(%t, %y)                                   %xs, %ys = list.new(), list.new()
      %b = add(%a, %p)                                      loop L %i = 0 to %n step 1 {
      yield(%b)                                      =>       list.append(%xs, %x)
    }                                                         list.append(%ys, %y)
                                                            }
                                                            %t = transpose(cat(%xs), 0, 1)
                                                            %b = add(%z, matmul(%t, cat(%ys)))
                                                            yield(%b)
                                                          } else { yield(%z) }

Gradients of weights are such sums. `stack_lists` then writes the rows straight into the joined matrices. Sums over rows,
the gradients of biases, are handled alike. The result differs in the order of the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scriptc.ir.analysis import function_body, is_written
from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, runs_to_its_end
from scriptc.ir.types import TensorType, Type, list_of


@dataclass
class _Sum:
    """A carried value to which each iteration adds `term`: a product of matrices of rows, or the sum of rows."""

    slot: int
    add: Op
    term: Op
    rows: tuple[Value, ...]  # the matrices whose rows are joined


def _is_matrix(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dims is not None and len(value.type.dims) == 2


def _term(op: Op | None) -> tuple[Value, ...] | None:
    """Return the matrices over whose rows an op sums up, None if it does something else."""
    if op is None:
        return None
    if op.name == "sum" and _is_matrix(op.operands[0]) and op.attrs["dim"] == (0,) and not op.attrs["keepdim"]:
        t = op.operands[0].type
        return op.operands if isinstance(t, TensorType) and t.dtype == op.attrs["dtype"] else None
    if op.name != "matmul" or not all(map(_is_matrix, op.operands)):
        return None
    flipped = op.operands[0].op
    if flipped is None or not _swaps(flipped):
        return None
    return flipped.operands[0], op.operands[1]


def _swaps(op: Op) -> bool:
    """Return whether an op transposes a matrix."""
    if op.name == "permute":
        return op.attrs["dims"] == (1, 0)
    return op.name == "transpose" and {op.attrs["dim0"] % 2, op.attrs["dim1"] % 2} == {0, 1}


def _sums(loop: Op) -> list[_Sum]:
    (body,) = loop.regions
    last, found = body.ops[-1], []
    whole = function_body(loop)
    for slot, arg in enumerate(body.args[1:]):
        users = arg.users()
        total = last.operands[slot]
        add = total.op
        if len(arg.uses) != 1 or add is None or users != [add] or add.name != "add" or add.parent is not body:
            continue
        if len(total.uses) != 1 or arg.type != total.type and not _same_rank(arg, total):
            continue
        other = add.operands[1] if add.operands[0] is arg else add.operands[0]
        term, rows = other.op, _term(other.op)
        if term is None or rows is None or term.parent is not body or len(other.uses) > 2:
            continue
        if not _same_rank(arg, other) or any(user not in (add,) and user.name != "check" for user in other.users()):
            continue
        if any(v.block is not body or is_written(v, whole) for v in rows):
            continue
        found.append(_Sum(slot, add, term, rows))
    return found


def _same_rank(a: Value, b: Value) -> bool:
    ranks = [len(v.type.dims) for v in (a, b) if isinstance(v.type, TensorType) and v.type.dims is not None]
    return len(ranks) == 2 and ranks[0] == ranks[1]


def _counts_up(loop: Op) -> bool:
    bounds = constant_int(loop.operands[0]), constant_int(loop.operands[2])
    return bounds == (0, 1) and runs_to_its_end(loop)


def _batch(loop: Op, sums: Sequence[_Sum]) -> None:
    """Move a loop into a branch where it has an iteration, and compute sums behind it."""
    (body,), loc = loop.regions, loop.loc
    before = Builder.before(loop)
    some = before.build("int.gt", [loop.operands[1], before.const(0, loc)], loc)
    then, orelse = Block(), Block()
    slots = {s.slot for s in sums}
    carried = loop.operands[3:]
    inner = Builder(then)
    lists: dict[Value, Value] = {}
    for value in dict.fromkeys(v for s in sums for v in s.rows):
        lists[value] = inner.op("list.new", [], loc, names=[value.name], types=[list_of(value.type)]).result
        made = value.op
        index = 0 if made is None else body.ops.index(made) + 1
        Builder(body, index).op("list.append", [lists[value], value], loc)
    last = body.ops[-1]
    kept = [i for i in range(len(carried)) if i not in slots]
    last.set_operands([last.operands[i] for i in kept])
    for each in sums:
        for check in [u for u in each.add.operands[0].users() + each.add.operands[1].users() if u.name == "check"]:
            if check.parent is body and set(check.operands) == set(each.add.operands):
                check.erase()
        each.add.erase()
        if not each.term.result.uses:
            each.term.erase()
    body.args = [body.args[0], *(body.args[1 + i] for i in kept)]
    body.parent = None
    loop.regions = []
    types: list[Type] = [r.type for r in loop.results]
    moved = inner.op(
        "loop", [*loop.operands[:3], *(carried[i] for i in kept)], loc, regions=[body],
        names=[loop.results[i].name for i in kept], types=[types[i] for i in kept], **loop.attrs,
    )  # fmt: skip
    results: dict[int, Value] = dict(zip(kept, moved.results, strict=True))
    joined = {v: inner.build("cat", [made], loc, dim=0) for v, made in lists.items()}
    for each in sums:
        operands = [carried[each.slot], _total(inner, each, joined)]
        results[each.slot] = inner.op("add", operands, loc, types=[types[each.slot]]).result
    inner.op("yield", [results[i] for i in range(len(carried))], loc)
    Builder(orelse).op("yield", carried, loc)
    chosen = before.op("if", [some], loc, regions=[then, orelse], names=[r.name for r in loop.results], types=types)
    loop.replace_with(chosen.results)


def _total(builder: Builder, each: _Sum, joined: Mapping[Value, Value]) -> Value:
    """Build the sum of all iterations over joined rows."""
    term = each.term
    if term.name == "sum":
        return builder.build("sum", [joined[each.rows[0]]], term.loc, **term.attrs)
    left, right = (joined[v] for v in each.rows)
    flipped = builder.build("transpose", [left], term.loc, dim0=0, dim1=1)
    return builder.build("matmul", [flipped, right], term.loc)


def _loops(func: Func) -> list[Op]:
    return [op for op in func.body.walk() if is_loop(op) and op.attrs["counted"] and _counts_up(op)]


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        for loop in _loops(func):
            if sums := _sums(loop):
                _batch(loop, sums)
                changed = True
    return changed
