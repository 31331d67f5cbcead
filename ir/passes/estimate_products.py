"""Find the largest elements of products by frozen weights, most of which are only estimated.

    %p = pack_linear.kept(%w) {...}                      %p = pack_linear.kept(%w) {...}
    loop L %i = 0 to %n step 1 {                         %e = pack_estimate(%w)
      %y = linear_packed(%x, %p, %b)                     loop L %i = 0 to %n step 1 {
      %k = argmax(%y) {dim = 1}                   =>       %k = linear_argmax(%x, %p, %b, %e)

With `frozen=1`, as greedy decoding chooses the next word. A product of few rows is as fast as its weight is read, and the
estimate has a quarter of the bytes (half of them without AVX-512). Only elements that may be the largest are computed in
float32, so that the result is the same (runtime/src/sc_linear_argmax.c). The estimate is made once (`cache_frozen`).

Nothing but the argmax may use the product, whose weight must be large enough to be worth it.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.frozen_weights import FrozenWeights, computed_again, known_sizes
from scriptc.ir.ops.rules import tensor
from scriptc.ir.regions import before_loops

_LEAST_ELEMENTS = 1 << 16  # of a weight: products by smaller ones take less time than an estimate's other steps
_MOST_TERMS = 1 << 16  # of a sum of products of signed bytes, in 32 bits


class Estimates:
    """Find the products whose largest elements an estimate finds."""

    def __init__(self, module: Module):
        self.frozen = FrozenWeights(module)

    def weight(self, argmax: Op) -> Value | None:
        """Return the weight of the product whose largest elements an op finds, if it can be estimated."""
        product = argmax.operands[0].op if argmax.name == "argmax" else None
        if product is None or product.name != "linear_packed" or argmax.attrs["dim"] != tensor(product.result).rank - 1:
            return None
        packing = product.operands[1].op
        if packing is None or packing.name not in ("pack_linear", "pack_linear.kept") or len(packing.operands) != 1:
            return None
        weight, sizes = packing.operands[0], known_sizes(packing.operands[0])
        if sizes is None or packing.attrs.get("store") or {tensor(v).dtype for v in (weight, product.result)} != {"f32"}:
            return None
        large = sizes[0] * sizes[1] >= _LEAST_ELEMENTS and sizes[1] <= _MOST_TERMS
        return weight if large and self.frozen.is_computed_from_weights(weight) else None


def run(module: Module, options: Mapping[str, int]) -> bool:
    if not options.get("frozen"):
        return False
    estimates, changed = Estimates(module), False
    for op in [op for op in module.walk() if op.name == "argmax"]:
        weight, product = estimates.weight(op), op.operands[0].op
        if weight is None or product is None or any(user is not op for user in product.result.users()):
            continue
        at = Builder.before(before_loops(op))
        estimate = at.op("pack_estimate", [computed_again(weight, at)], op.loc).result
        b, names = Builder.before(op), [op.result.name]
        found = b.op("linear_argmax", [*product.operands, estimate], op.loc, names=names, keepdim=op.attrs["keepdim"]).result
        found.type = op.result.type
        op.replace_with([found])
        product.erase()
        changed = True
    return changed
