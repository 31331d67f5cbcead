"""Hoist loop-invariant ops out of loops.

    loop L %i = 0 to %n step 1 {                      %p = pack_linear(%w)
      %p = pack_linear(%w)                      =>    loop L %i = 0 to %n step 1 {
      %y = linear_packed(%x, %p, %b)                    %y = linear_packed(%x, %p, %b)

The loop may have zero iterations, so only ops that cannot raise are hoisted. Out of a loop of constant bounds that has an
iteration, checks are hoisted, too, if nothing happens in front of them. An op that reads memory stays if the loop may write
that memory. A new object stays if it escapes or is written, since each iteration makes another one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from scriptc.ir.analysis import (
    escapes,
    interferes,
    is_invariant,
    is_reference,
    is_written,
    movable,
    only_raises,
    passed_undefined,
    shares_memory,
    writers,
)
from scriptc.ir.core import Block, Module, Op, Value
from scriptc.ir.ranges import iterations
from scriptc.ir.regions import is_loop


def _needs_own_object(op: Op, value: Value, loop: Op) -> bool:
    """Return whether a single object for all iterations could be told from one for each iteration."""
    if not is_reference(value.type) or op.has("FETCHES"):
        return False
    return escapes(value) or (not shares_memory(value) and is_written(value, loop))


def _may_leave(op: Op, loop: Op, passed: Collection[Value]) -> bool:
    if not all(is_invariant(v, loop) for v in op.operands) or not movable(op, loop, passed):
        return False
    if any(interferes(writer, op) for writer in writers(loop)):
        return False
    return not any(_needs_own_object(op, r, loop) for r in op.results)


def _hoist_from(loop: Op, passed: Collection[Value]) -> bool:
    changed = False
    comes_first = bool(iterations(loop))  # an error of the op is the first thing that happens in the loop
    for op in list(loop.regions[0].ops):
        raises_first = comes_first and only_raises(op) and all(is_invariant(v, loop) for v in op.operands)
        if raises_first or _may_leave(op, loop, passed):
            assert loop.parent is not None
            op.detach()
            loop.parent.insert_before(loop, op)
            changed = True
        else:
            comes_first = comes_first and op.has("PURE") and not op.defn.raises and not op.regions
    return changed


def _visit(block: Block, passed: Collection[Value]) -> bool:
    """Yield loops, inner ones first, since an op that leaves an inner loop may then leave the outer one too."""
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            changed |= _visit(region, passed)
        if is_loop(op):
            changed |= _hoist_from(op, passed)
    return changed


def run(module: Module, options: Mapping[str, int]) -> bool:
    passed = passed_undefined(module)
    return any([_visit(func.body, passed) for func in module.funcs.values()])
