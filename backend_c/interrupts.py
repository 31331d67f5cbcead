"""Insert c.stop, by which loops ask whether the call is to end because of Ctrl-C or a cancellation.

A loop asks at the start of each iteration. A loop with a small body asks once in many iterations. A loop with a small
body and a small trip count never asks: one over a constant range, or over the items of a list, which are in memory.
Loops over the elements of a tensor and kernels do not ask either: the loop around them does.
"""

from __future__ import annotations

from scriptc.ir.builder import Builder
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.runtime.kernels import KERNELS

_SMALL = frozenset(
    "const undef c.store c.weight c.retain c.release c.cell c.get c.set yield break continue return raise "
    "reraise unreachable".split()
)
_FEW = 1 << 16  # iterations of small bodies without c.stop: less than a millisecond
_LOOPS_IN_SMALL = 16  # iterations of inner loops that a small body may have


def insert_stops(module: Module) -> None:
    """Insert c.stop into the loops of a module of the loop IR, before ownership.py runs."""
    for func in module.funcs.values():
        for op in list(func.body.walk()):
            if op.name == "loop":
                _insert(op)


def _insert(loop: Op) -> None:
    body = loop.regions[0]
    work, trips = _iterations(body), _trips(loop)
    if work is not None and trips is not None and trips * work <= _FEW:
        return
    small = work is not None and work <= _LOOPS_IN_SMALL
    if small and loop.attrs["counted"] and _is_length(loop.operands[1]):
        return
    Builder(body, 0).op("c.stop", (), loop.loc, sparse=small)


def _iterations(block: Block) -> int | None:
    """Return how many small bodies a block runs at most, itself included; None where there is no bound."""
    total = 1
    for op in block.ops:
        if op.name == "loop":
            trips, work = _trips(op), _iterations(op.regions[0])
            if trips is None or work is None:
                return None
            total += trips * work
        elif op.name in ("if", "scope"):
            for region in op.regions:
                work = _iterations(region)
                if work is None:
                    return None
                total += work - 1
        elif not _is_small(op):
            return None
    return total


def _is_small(op: Op) -> bool:
    if op.name == "c.call":
        return KERNELS[op.attrs["kernel"]].inline
    return op.name in _SMALL or op.has("EXPRESSION")


def _trips(loop: Op) -> int | None:
    """Return the trip count of a loop over a constant range."""
    if not loop.attrs["counted"]:
        return None
    start, stop, step = map(constant_int, loop.operands[:3])
    return len(range(start, stop, step)) if start is not None and stop is not None and step else None


def _is_length(value: Value) -> bool:
    """Return whether a value is the length of a list, dict or string, so that as many items stand in memory."""
    op = value.op
    return op is not None and (op.name == "c.len" or op.attrs.get("of") == "str.len")
