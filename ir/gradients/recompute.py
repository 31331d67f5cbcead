"""Forward code in backward code: the region of a `checkpoint` runs again, in front of its own backward code.

Backward code takes the region itself, whose values have gradients, and forward code keeps a copy of the region. What the
region uses from outside is kept, so that the region computes its values again.
"""

from __future__ import annotations

from collections.abc import Callable

from scriptc.ir.analysis import roots
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Block, Func, Module, Op, Value
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.loc import Loc
from scriptc.ir.ops.random import STATE_BYTES
from scriptc.ir.passes import dce
from scriptc.ir.regions import defined_by
from scriptc.ir.types import ListType, TensorType

_OUTSIDE = "call it outside of the checkpoint"
_LOCAL = frozenset({"tensor", "list", "cell"})  # memory that a region may have of its own


def refuse_effects(op: Op) -> None:
    """Refuse a checkpoint whose effects eager would repeat in backward."""
    region = op.regions[0]
    for inner in region.walk() if op.attrs["repeats"] else ():
        if inner.name == "try":
            raise not_differentiable(inner, "a `try` in a checkpoint", "write it around the call of the checkpoint")
        if inner.defn.writes - _LOCAL - {"random"} or inner.name == "call":
            raise not_differentiable(inner, f"`{inner.name}` in a checkpoint, which eager runs again in backward", _OUTSIDE)
        if writes_outside(inner, region):
            what = "a write in a checkpoint to a value from outside, which eager writes again in backward"
            raise not_differentiable(inner, what, "return the value from the function, and write it behind the checkpoint")
    if not op.attrs["preserve"] and _draws(region):
        raise not_differentiable(op, "random numbers with preserve_rng_state=False", "leave preserve_rng_state out")


def writes_outside(op: Op, region: Block) -> bool:
    """Return whether an op writes to a tensor, list or cell that is not made in a region."""
    if not op.defn.writes & _LOCAL or not op.operands:
        return False
    return any(root.op is None or not region.encloses(root.block) for root in roots(op.operands[0]))


def take_region(op: Op, label: Callable[[], str]) -> Block:
    """Take the region of a checkpoint out of forward code, which keeps a copy."""
    (region,) = op.regions
    copy, values = Block(), dict[Value, Value]()
    builder = Builder(copy)
    for inner in region.ops:
        clone_op(builder, inner, values, label=label)
    region.parent, copy.parent = None, op
    op.regions = [copy]
    return region


def run_again(level: Level, op: Op, region: Block, backward: Block) -> None:
    """Build the code of a region of a checkpoint, then its backward code, at the end of the code of a level.

    The values of the region that backward code does not read are not computed.
    """
    region.ops[-1].erase()
    for inner in list(region.walk()):
        if not inner.results and not inner.regions and not inner.has("TERMINATOR") and _is_dropped(inner, region):
            inner.erase()
    _drop_dead(region, backward, op.loc)
    own = defined_by(region.walk())
    given = {v: None for inner in region.walk() for v in inner.operands if v not in own}
    values = {v: _given(level, v, op) for v in given}
    for inner in region.walk():
        if any(v in values for v in inner.operands):
            inner.set_operands([values.get(v, v) for v in inner.operands])
    state = _kept_state(level, op) if _draws(region) else None
    before = _set_state(level.builder, state, op.loc) if state is not None else None
    _move(region, level.builder)
    if before is not None:
        level.builder.op("random.restore", [before], op.loc)
    _move(backward, level.builder)


def _is_dropped(op: Op, region: Block) -> bool:
    """Return whether an op without results is not run again: forward code has passed the checks, and done what is outside."""
    return not op.defn.writes & (_LOCAL | {"random"}) or writes_outside(op, region)


def _drop_dead(region: Block, backward: Block, loc: Loc) -> None:
    """Drop the code of a region that backward code does not need."""
    ops, own = region.ops, backward.ops
    both = Block()
    for op in (*ops, *own):
        both.append(op)
    end = Builder(both).op("return", [r for op in own for r in op.results], loc)
    dce.run(Module("", {"": Func("", both, [], loc)}), {})
    end.erase()
    kept = set(both.ops)
    region.ops, backward.ops = [], []
    for block, given in ((region, ops), (backward, own)):
        for op in given:
            if op in kept:
                block.append(op)


def _given(level: Level, value: Value, op: Op) -> Value:
    """Return a value from outside of a checkpoint as it was when the checkpoint ran."""
    if isinstance(value.type, ListType) and (value, op) not in level.copies:
        builder, loc = Builder.before(op), op.loc
        bounds = [builder.const(0, loc), builder.build("list.len", [value], loc), builder.const(1, loc)]
        level.copies[value, op] = builder.op("list.slice", [value, *bounds], loc, types=[value.type]).result
    if (value, op) in level.copies:
        return level.get(level.copies[value, op])
    return level.get_at(value, op)


# ---- random numbers ----


def _draws(region: Block) -> bool:
    return any("random" in op.defn.writes for op in region.walk())


def _empty_state(builder: Builder, loc: Loc) -> Value:
    shape = builder.build("tuple", [builder.const(STATE_BYTES, loc)], loc)
    return builder.op("empty", [shape], loc, dtype="u8", types=[TensorType("u8", (STATE_BYTES,))]).result


def _kept_state(level: Level, op: Op) -> Value:
    """Return the state that the generator had when a checkpoint ran."""
    builder = Builder.before(op)
    state = _empty_state(builder, op.loc)
    builder.op("random.state", [state], op.loc)
    return level.get(state)


def _set_state(builder: Builder, state: Value, loc: Loc) -> Value:
    """Set the state of the generator, and return what the state was before."""
    before = _empty_state(builder, loc)
    builder.op("random.state", [before], loc)
    builder.op("random.restore", [state], loc)
    return before


def _move(block: Block, builder: Builder) -> None:
    for op in list(block.ops):
        op.detach()
        builder.insert(op)
