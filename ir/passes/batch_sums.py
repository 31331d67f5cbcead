"""Compute sums of contractions over the iterations of a loop by contractions of the rows of many iterations.

    %w = loop L %i = 0 to %n step 1 carry (%a = %z) {     %some = int.gt(%n, 0)
      %t = transpose(%x, 0, 1)                            %w = if %some {
      %p = matmul(%t, %y)                                   %s = outer_sum.new() {matrices = 2}
      %b = add(%a, %p)                                      loop L %i = 0 to %n step 1 {
      yield(%b)                                      =>       outer_sum.add(%s, %x, %y)
    }                                                       }
                                                            %p = outer_sum.part(%s) {part = 0}
                                                            %b = add(%z, %p)
                                                            yield(%b)
                                                          } else { yield(%z) }

Zeros of the sizes of the sum are not added.

Gradients of weights are such sums. Those that share %x are computed together, as are sums of the rows of %x, the gradients of
biases. The result differs in the order of the sum.
Rows are copied at the end of an iteration, and %z is read behind the loop: nothing may write to them in the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scriptc.ir.analysis import Origins, is_written
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import is_loop, runs_to_its_end
from scriptc.ir.types import TensorType, Type

_DTYPES = ("f32", "f64")  # those of the kernel


@dataclass
class _Sum:
    """A carried value to which each iteration adds `term`: left^T right, or the sum of the rows of left."""

    slot: int
    add: Op
    term: Op
    left: Value
    right: Value | None


@dataclass
class _Group:
    """The sums of one left matrix."""

    left: Value
    sums: list[_Sum] = field(default_factory=list)

    @property
    def rights(self) -> list[Value]:
        return list(dict.fromkeys(s.right for s in self.sums if s.right is not None))


def _is_matrix(value: Value) -> bool:
    t = value.type
    return isinstance(t, TensorType) and t.dims is not None and len(t.dims) == 2 and t.dtype in _DTYPES


def _term(op: Op | None) -> tuple[Value, Value | None] | None:
    """Return the matrices over whose rows an op sums up, None if it does something else."""
    if op is None:
        return None
    if op.name == "sum" and _is_matrix(op.operands[0]) and op.attrs["dim"] == (0,) and not op.attrs["keepdim"]:
        t = op.operands[0].type
        return (op.operands[0], None) if isinstance(t, TensorType) and t.dtype == op.attrs["dtype"] else None
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
    known = Origins()
    for slot, arg in enumerate(body.args[1:]):
        users = arg.users()
        total = last.operands[slot]
        add = total.op
        if len(arg.uses) != 1 or add is None or users != [add] or add.name != "add" or add.parent is not body:
            continue
        if len(total.uses) != 1 or arg.type != total.type and not _same_rank(arg, total):
            continue
        other = add.operands[1] if add.operands[0] is arg else add.operands[0]
        term, matrices = other.op, _term(other.op)
        if term is None or matrices is None or term.parent is not body or not _same_rank(arg, other):
            continue
        if not any(v is not None and is_written(v, body, known) for v in (loop.operands[3 + slot], *matrices)):
            found.append(_Sum(slot, add, term, *matrices))
    adds = {s.add for s in found}
    return [s for s in found if all(u in adds or u.name == "check" for u in s.term.result.users())]


def _groups(loop: Op) -> list[_Group]:
    """Return the sums of a loop by their left matrix, where there is a product among them."""
    groups: dict[Value, _Group] = {}
    for each in _sums(loop):
        groups.setdefault(each.left, _Group(each.left)).sums.append(each)
    return [group for group in groups.values() if group.rights]


def _same_rank(a: Value, b: Value) -> bool:
    ranks = [len(v.type.dims) for v in (a, b) if isinstance(v.type, TensorType) and v.type.dims is not None]
    return len(ranks) == 2 and ranks[0] == ranks[1]


def _counts_up(loop: Op) -> bool:
    bounds = constant_int(loop.operands[0]), constant_int(loop.operands[2])
    return bounds == (0, 1) and runs_to_its_end(loop)


def _batch(loop: Op, groups: Sequence[_Group]) -> None:
    """Move a loop into a branch where it has an iteration, and take the sums behind it."""
    (body,), loc = loop.regions, loop.loc
    before = Builder.before(loop)
    some = before.build("int.gt", [loop.operands[1], before.const(0, loc)], loc)
    then, orelse = Block(), Block()
    inner = Builder(then)
    carried = loop.operands[3:]
    zeros = {v for v in carried if v.op is not None and v.op.name == "full" and len(v.uses) == 1}  # no other name
    totals = [_collect(group, body, inner) for group in groups]
    taken = {s.slot for group in groups for s in group.sums}
    kept = [i for i in range(len(carried)) if i not in taken]
    last = body.ops[-1]
    last.set_operands([last.operands[i] for i in kept])
    for each in [s for group in groups for s in group.sums]:
        _erase(each)
    body.args = [body.args[0], *(body.args[1 + i] for i in kept)]
    body.parent = None
    loop.regions = []
    types: list[Type] = [r.type for r in loop.results]
    moved = inner.op(
        "loop", [*loop.operands[:3], *(carried[i] for i in kept)], loc, regions=[body],
        names=[loop.results[i].name for i in kept], types=[types[i] for i in kept], **loop.attrs,
    )  # fmt: skip
    results: dict[int, Value] = dict(zip(kept, moved.results, strict=True))
    for group, total in zip(groups, totals, strict=True):
        parts: dict[Value | None, Value] = {}
        for each in group.sums:
            if each.right not in parts:
                number = -1 if each.right is None else group.rights.index(each.right)
                part = inner.op("outer_sum.part", [total], each.term.loc, types=[each.term.result.type], part=number)
                parts[each.right] = part.result
            start, own = carried[each.slot], parts[each.right]
            if _is_zeros_like(start, own) and own not in results.values():
                results[each.slot] = own
            else:
                results[each.slot] = inner.op("add", [start, own], loc, types=[types[each.slot]]).result
    inner.op("yield", [results[i] for i in range(len(carried))], loc)
    other = Builder(orelse)  # makes zeros of its own, which the loop does not need
    starts = [clone_op(other, v.op, {}).result if v.op is not None and v in zeros else v for v in carried]
    other.op("yield", starts, loc)
    chosen = before.op("if", [some], loc, regions=[then, orelse], names=[r.name for r in loop.results], types=types)
    loop.replace_with(chosen.results)
    for value in carried:
        if value.op is not None and value in zeros and not value.uses:
            value.op.erase()  # before equal ops are merged, which would make the zeros on both paths


def _is_zeros_like(start: Value, part: Value) -> bool:
    """Return whether a value is a new tensor of zeros with the sizes and the dtype of another one."""
    made, t = start.op, part.type
    if made is None or made.name != "full" or made.operands[1].op is None or made.operands[1].op.name != "const":
        return False
    known = isinstance(t, TensorType) and t.dims is not None and None not in t.dims
    return known and start.type == t and made.operands[1].op.attrs["value"] == 0


def _collect(group: _Group, body: Block, before_loop: Builder) -> Value:
    """Build the collected sum of a group, to which iterations add at their ends, so as not to stand between fused ops."""
    matrices, loc = [group.left, *group.rights], group.sums[0].term.loc
    total = before_loop.op("outer_sum.new", [], loc, matrices=len(matrices)).result
    Builder.before(body.ops[-1]).op("outer_sum.add", [total, *matrices], loc)
    return total


def _erase(each: _Sum) -> None:
    """Erase what an iteration did for a sum. The check of its addition is left to the addition behind the loop."""
    for check in [u for v in each.add.operands for u in v.users() if u.name == "check"]:
        if check.parent is each.add.parent and set(check.operands) == set(each.add.operands):
            check.erase()
    each.add.erase()
    if not each.term.result.uses:
        each.term.erase()


def _loops(func: Func) -> list[Op]:
    return [op for op in func.body.walk() if is_loop(op) and op.attrs["counted"] and _counts_up(op)]


def run(module: Module, options: Mapping[str, int]) -> bool:
    changed = False
    for func in module.funcs.values():
        for loop in _loops(func):
            if groups := _groups(loop):
                _batch(loop, groups)
                changed = True
    return changed
