"""Look a key up and enter it by one op where a lookup that fails enters the key.

    %n = dict.find(%d, %k)                          %p = dict.find_or_enter(%d, %k, %start)
    %c = int.ge(%n, %zero)                          %old = dict.at(%d, %p)
    %old, %p = if %c -> (f64, i64) {
      %v = dict.at(%d, %n)
      yield(%v, %n)                            =>
    } else {
      %m = dict.enter(%d, %k, %start)
      yield(%start, %m)
    }

This is `d[k]` of a defaultdict and `d.setdefault(k, start)`. The values are numbers, or tuples of a few, so that giving a
value costs nothing where the key is present.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scriptc.ir.analysis import calls, writes
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.rewrite import Rewriter, on, rewrite
from scriptc.ir.types import BOOL, FLOAT, INT, DictType, TupleType, Type

_MOST = 8  # numbers of a value


@on("dict.find")
def find_or_enter(op: Op, rw: Rewriter) -> bool:
    choice = _choice(op)
    if choice is None:
        return False
    there, missing = choice.regions
    entered = [each for each in missing.ops if each.name == "dict.enter"]
    if len(entered) != 1 or entered[0].operands[:2] != op.operands or not _is_small(op.operands[0]):
        return False
    (enter,) = entered
    made = [each for each in missing.ops if each is not enter and not each.has("TERMINATOR")]
    read = [each for each in there.ops if not each.has("TERMINATOR")]
    if not all(each.name in ("tuple", "const") for each in made) or not all(_reads(each, op) for each in read):
        return False
    ends = list(zip(there.ops[-1].operands, missing.ops[-1].operands, strict=True))
    if not all(_is_same(a, b, op, enter) for a, b in ends):
        return False
    values: dict[Value, Value] = {}
    for each in made:
        clone_op(Builder.before(choice), each, values, loc=each.loc)
    operands = [values.get(v, v) for v in enter.operands]
    values[op.result] = Builder.before(choice).op("dict.find_or_enter", operands, enter.loc).result
    for each in read:
        clone_op(Builder.before(choice), each, values, loc=each.loc)
    rw.replace(choice, [values.get(a, a) for a, _ in ends])
    return True


def _choice(op: Op) -> Op | None:
    """Return the `if` that asks whether a lookup found its key, if nothing else reads the result of the lookup."""
    conditions = [user for user in op.result.users() if user.name == "int.ge" and constant_int(user.operands[1]) == 0]
    if len(conditions) != 1 or len(users := list(conditions[0].result.users())) != 1:
        return None
    (choice,) = users
    if choice.name != "if" or choice.parent is not op.parent or not all(_yields(region) for region in choice.regions):
        return None
    inside = [user for user in op.result.users() if user is not conditions[0]]
    if not all(choice.regions[0].encloses(user.parent) for user in inside if user.parent is not None):
        return None
    return None if any(writes(each, "list") or calls(each) for each in _between(op, choice)) else choice


def _yields(region: Block) -> bool:
    return bool(region.ops) and region.ops[-1].name == "yield"


def _between(first: Op, last: Op) -> Iterator[Op]:
    assert first.parent is not None
    ops = first.parent.ops
    for op in ops[ops.index(first) + 1 : ops.index(last)]:
        yield from op.walk()


def _is_small(table: Value) -> bool:
    assert isinstance(table.type, DictType)
    return 0 < len(numbers := list(_numbers(table.type.elem))) <= _MOST and None not in numbers


def _numbers(t: Type) -> Iterator[Type | None]:
    """Yield the types of the numbers that a value consists of, and None for anything else."""
    if isinstance(t, TupleType):
        for item in t.items:
            yield from _numbers(item)
    else:
        yield t if t in (INT, FLOAT, BOOL) else None


def _reads(op: Op, find: Op) -> bool:
    """Return whether an op reads the value of the key that a lookup found, or a part of a value."""
    return op.name == "tuple.get" or (op.name == "dict.at" and list(op.operands) == [find.operands[0], find.result])


def _is_same(there: Value, missing: Value, find: Op, enter: Op) -> bool:
    """Return whether both branches give the position of the key, or the same part of its value."""
    if there is find.result or missing is enter.result:
        return there is find.result and missing is enter.result
    return there is missing or _entered(there, find, enter) is missing


def _entered(value: Value, find: Op, enter: Op) -> Value | None:
    """Return the part of the value that a key is entered with, which a branch reads if the key is present."""
    if value.op is None:
        return None
    if value.op.name == "dict.at":
        return enter.operands[2] if value.op.operands[1] is find.result else None
    if value.op.name != "tuple.get":
        return None
    whole = _entered(value.op.operands[0], find, enter)
    index = value.op.attrs["index"]
    return whole.op.operands[index] if whole is not None and whole.op is not None and whole.op.name == "tuple" else None


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [find_or_enter])
