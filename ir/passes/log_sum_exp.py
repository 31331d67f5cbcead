"""Compute the log of a sum of exponentials, as decoders add likelihoods, by one op.

    %m = float.max(%a, %b)                             %m = float.max(%a, %b)
    %t0 = float.sub(%a, %m)                            %t8 = float.log_sum_exp(%a, %b)
    %t1 = math.exp(%t0)
    %t2 = float.sub(%b, %m)
    %t3 = math.exp(%t2)                         =>
    %t4 = float.add(%zero, %t1)
    %t5 = float.add(%t4, %t3)
    %t6 = math.log(%t5)
    %t8 = float.add(%m, %t6)

The logs of two or three likelihoods are added, in the order of the sum. No exponential is larger than 1 and one of them is 1,
so none of the ops raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scriptc.ir.core import Module, Op, Value
from scriptc.ir.ranges import constant
from scriptc.ir.rewrite import Rewriter, on, rewrite

_NAMES = {2: "float.log_sum_exp", 3: "float.log_sum_exp_3"}


@on("math.log")
def log_sum_exp(op: Op, rw: Rewriter) -> bool:
    users = list(op.result.users())
    if len(users) != 1 or users[0].name != "float.add":
        return False
    (end,) = users
    largest = end.operands[0] if end.operands[1] is op.result else end.operands[1]
    logs = [_log(term, largest) for term in _terms(op.operands[0])]
    known = [log for log in logs if log is not None]
    if len(known) != len(logs) or len(logs) not in _NAMES or set(_leaves(largest)) != set(known):
        return False
    rw.replace(end, [rw.insert_before(end, _NAMES[len(logs)], known)])
    _erase_unused(op, rw)
    return True


def _terms(total: Value) -> Iterator[Value]:
    """Yield the terms of a sum that is computed from the left, but for a first term of 0."""
    if total.op is not None and total.op.name == "float.add":
        yield from _terms(total.op.operands[0])
        yield total.op.operands[1]
    elif constant(total) != 0.0:
        yield total


def _log(term: Value, largest: Value) -> Value | None:
    """Return the log of which a term of the sum is exp(log - largest)."""
    difference = term.op.operands[0].op if term.op is not None and term.op.name == "math.exp" else None
    if difference is None or difference.name != "float.sub" or difference.operands[1] is not largest:
        return None
    return difference.operands[0]


def _leaves(value: Value) -> Iterator[Value]:
    """Yield the values of which a value is the largest."""
    if value.op is not None and value.op.name == "float.max":
        for operand in value.op.operands:
            yield from _leaves(operand)
    else:
        yield value


def _erase_unused(op: Op, rw: Rewriter) -> None:
    """Erase an op without users, and the sums and exponentials that only it used. By their rows they may raise."""
    operands = [v.op for v in op.operands if v.op is not None]
    rw.erase_unused(op)
    for each in operands:
        if each.name in ("float.add", "math.exp") and each.parent is not None and not list(each.result.users()):
            _erase_unused(each, rw)


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [log_sum_exp])
