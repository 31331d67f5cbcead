"""Counters: ints that begin with a small value and change by small steps, one at a time.

No program runs long enough for a counter to leave 64 bits. Its additions therefore need no overflow check, and a C
compiler may vectorize them.
"""

from __future__ import annotations

from scriptc.ir.core import Block, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import counter, region_arguments

_LONGEST_STEP = 8  # at one a nanosecond from 2**62, steps of 8 take 18 years to 2**63
_FIRST = 2**62
_LENGTHS = frozenset({"list.len", "str.len", "dict.len"})  # of objects in memory; an expanded tensor may be larger


def overflow_free_values(body: Block) -> frozenset[Value]:
    """Return the counters of a function.

    They are the largest set of values in which each is a constant, a length, a step away from another, or passed on by
    a region from others.
    """
    sources: dict[Value, list[Value]] = {}
    for op in body.walk():
        found = _sources(op)
        if found is not None:
            sources[op.result] = found
        for argument in region_arguments(op):
            for value, operands in ((argument.inner, argument.into_inner), (argument.result, argument.into_result)):
                if value is not None:
                    sources[value] = [giver.operands[i] for giver, i in operands]
        index = counter(op)
        if index is not None and _is_step(op.operands[2]):
            sources[index] = [op.operands[0]]
    users: dict[Value, list[Value]] = {}
    for value, givers in sources.items():
        for giver in givers:
            users.setdefault(giver, []).append(value)
    unknown = [giver for giver in users if giver not in sources]
    while unknown:
        for value in users.get(unknown.pop(), ()):
            if sources.pop(value, None) is not None:
                unknown.append(value)
    return frozenset(sources)


def _sources(op: Op) -> list[Value] | None:
    """Return the values that an op's result counts on from; None if the op does not count."""
    if op.name == "const":
        first = constant_int(op.result)
        return [] if first is not None and abs(first) < _FIRST else None
    if op.name in _LENGTHS:
        return []
    if op.name in ("int.add", "int.sub"):
        a, b = op.operands
        if _is_step(b):
            return [a]
        if op.name == "int.add" and _is_step(a):
            return [b]
    return None


def _is_step(value: Value) -> bool:
    number = constant_int(value)
    small = number is not None and abs(number) <= _LONGEST_STEP
    return small or (value.op is not None and value.op.name == "bool.to_int")
