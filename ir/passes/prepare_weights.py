"""A `linear` in a loop that does not change its weight multiplies by the weight in the kernels' own layout.

    loop L %i = 0 to %n step 1 {                      loop L %i = 0 to %n step 1 {
      %y = linear(%x, %w, %b)                   =>      %p = pack_linear(%w)
                                                        %y = linear_packed(%x, %p, %b) {features = 64}

The packing stands in the loop's body; licm moves it out, which is why the weight must not be made or written there.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import is_invariant, is_written
from scriptc.ir.core import Module, Op
from scriptc.ir.regions import ancestor_in, is_loop
from scriptc.ir.rewrite import Rewriter, rewrite
from scriptc.ir.types import TensorType

NAME = "prepare_weights"


def _place_of_packing(op: Op) -> Op | None:
    """The op of the innermost loop's body in front of which to pack, out of branches; None where that cannot leave."""
    loop = op.enclosing(is_loop)
    weight = op.operands[1]
    if loop is None or is_written(weight, loop):
        return None
    place = ancestor_in(loop.regions[0], op)
    made = weight.op
    if is_invariant(weight, loop):
        return place
    is_constant = made is not None and made.has("PURE") and not made.operands
    return place if is_constant and weight.block is loop.regions[0] else None


def pack_weight(op: Op, rw: Rewriter) -> bool:
    if op.name != "linear" or (place := _place_of_packing(op)) is None:
        return False
    x, weight, bias = op.operands
    t = weight.type
    if not isinstance(t, TensorType) or t.dtype not in ("f32", "f64") or t.dims is None or len(t.dims) != 2:
        return False
    features = t.dims[0] if isinstance(t.dims[0], int) else 0
    packed = rw.insert_before(place, "pack_linear", [weight], hint="packed")
    rw.replace(op, [rw.insert_before(op, "linear_packed", [x, packed, bias], features=features)])
    return True


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [pack_weight])
