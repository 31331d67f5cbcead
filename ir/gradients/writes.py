"""Backward code of writes to tensors: the gradient of what was there before is zero, and that of what was written is taken.

That of an optional that is a tensor is the gradient of the tensor.
"""

from __future__ import annotations

from scriptc.ir.core import Op, Value
from scriptc.ir.gradients.activity import root_of
from scriptc.ir.gradients.levels import Level
from scriptc.ir.gradients.ops import fit
from scriptc.ir.gradients.reversal import Reversal, reverses
from scriptc.ir.loc import Loc
from scriptc.ir.types import TensorType, Type


@reverses("copy_")
def reverse_copy(reversal: Reversal, level: Level, op: Op) -> None:
    dst, src = op.operands
    gradient = clear(reversal, level, dst, op.loc)
    if gradient is not None and src in reversal.adjoints.active and not _never_fits(dst.type, src.type):
        reversal.adjoints.accumulate(level, src, fit(level, op, gradient, src))


def _never_fits(dst: Type, src: Type) -> bool:
    """Return whether `copy_` raises for all sizes of tensors of these types, as it adds no dims to `dst`."""
    assert isinstance(dst, TensorType) and isinstance(src, TensorType)
    return dst.dims is not None and src.dims is not None and len(src.dims) > len(dst.dims)


@reverses("random.fill", "random.bernoulli", "random.slopes")
def reverse_fill(reversal: Reversal, level: Level, op: Op) -> None:
    clear(reversal, level, op.operands[0], op.loc)


def clear(reversal: Reversal, level: Level, dst: Value, loc: Loc) -> Value | None:
    """Clear the gradients of a tensor that was written, and return what they were; None if it has none."""
    adjoints, builder, t = reversal.adjoints, level.builder, dst.type
    if root_of(dst) not in adjoints.buffered or dst not in adjoints.active:
        return None
    assert isinstance(t, TensorType)
    part = adjoints.part(level, dst)
    gradient = builder.build("clone", [part], loc)
    zero = builder.build("full", [builder.build("tuple", [], loc), builder.const(0.0, loc)], loc, dtype=t.dtype)
    builder.op("copy_", [part, zero], loc)
    return gradient


@reverses("optional.unwrap")
def reverse_unwrap(reversal: Reversal, level: Level, op: Op) -> None:
    gradient = reversal.adjoints.take(level, op.result)
    if gradient is not None:
        reversal.adjoints.accumulate(level, op.operands[0], gradient)
