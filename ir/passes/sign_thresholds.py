"""Compute signs from sums of signs in integers, by thresholds for each filter.

    %s = signs.conv2d(%p, %q, %o)                       %n = signs.sums(%q) {terms = 576}
    %m = mul(%s, %a)                                    %e = expand(%n, ...)
    %b = add(%m, %c)                             =>     %m = mul(%e, %a)
    %r = signs.image(%b) {how = 3, bound = 0.0}         %b = add(%m, %c)
    %z = signs.conv2d(%r, %w, %o)                       %h = signs.thresholds(%b) {how = 3, bound = 0.0}
                                                        %r = signs.conv2d_bits(%p, %q, %h)
                                                        %z = signs.conv2d(%r, %w, %o)

With `frozen=1`. A sum of n signs is one of -n to n. Pointwise ops compute a float from a sum, numbers, and a number of
each filter that depends on frozen weights alone, as the scale and the shift of a BatchNorm do. The same ops compute the
floats of all sums, which give the thresholds. `cache_frozen` keeps them. So the signs are exactly those of the floats, and
sums and floats are not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.frozen_weights import FrozenWeights, known_sizes
from scriptc.ir.ops.rules import tensor
from scriptc.ir.ranges import constant
from scriptc.ir.types import TensorType

MOST_VALUES = 1 << 26  # that are computed for the thresholds of a product
_PRODUCTS = {"signs.rows": "signs.linear", "signs.image": "signs.conv2d"}


class _Chain:
    """The pointwise ops between the result of a product and an op that packs signs."""

    def __init__(self, packing: Op, frozen: FrozenWeights):
        self.packing, self.frozen = packing, frozen
        self.product: Op | None = None
        self.ops: dict[Op, None] = {}

    def find(self) -> bool:
        """Return whether the signs depend on one product alone, which is computed for nothing else."""
        if not self._visit(self.packing.operands[0]) or self.product is None:
            return False
        weight = self.product.attrs["weight"]
        terms, filters = prod(weight[1:]), weight[0]
        if (2 * terms + 1) * filters > MOST_VALUES:
            return False
        inside = {self.product.result, *(op.result for op in self.ops)}
        if any(user not in self.ops for value in inside if value is not self.packing.operands[0] for user in value.users()):
            return False
        return all(user is self.packing or user.name == "signs.order" for user in self.packing.operands[0].users())

    def _visit(self, value: Value) -> bool:
        op = value.op
        if op is None or op in self.ops or op is self.product:
            return op is not None
        if op.name == _PRODUCTS[self.packing.name] and self.product is None:
            self.product = op
            return True
        if not op.has("ELEMENTWISE") or op.defn.writes or op.results != [value]:
            return False
        for operand in op.operands:
            if not self._is_number_of_filters(operand) and not self._visit(operand):
                return False
        self.ops[op] = None
        return True

    def _is_number_of_filters(self, value: Value) -> bool:
        """Return whether a value is a number, or has one for each filter, and is equal in each call."""
        if not isinstance(value.type, TensorType):
            return constant(value) is not None or (value.op is not None and value.op.name == "const")
        sizes = known_sizes(value)
        if sizes is None or not self.frozen.is_computed_from_weights(value):
            return False
        of_image = self.packing.name == "signs.image"
        places = sizes[:-3] + sizes[-2:] if of_image else sizes[:-1]
        return len(sizes) <= (4 if of_image else 2) and all(n == 1 for n in places)


def _is_of_filters(chain: _Chain) -> bool:
    """Return whether a chain computes an element from the element of the product at the same place."""
    assert chain.product is not None
    made = tensor(chain.product.result)
    same = all(tensor(op.result).dims == made.dims for op in chain.ops)
    apart = made.rank == 2 or chain.product.attrs["weight"][0] > 1  # images of one channel have any order
    return same and made.dims is not None and len(made.dims) >= 2 and apart and chain.product.parent is chain.packing.parent


def _replace(chain: _Chain) -> None:
    packing, product = chain.packing, chain.product
    assert product is not None
    how = {name: packing.attrs[name] for name in ("how", "bound")}
    weight = product.attrs["weight"]
    b, loc = Builder.before(packing), packing.loc
    one = [b.const(1, loc)] * (len(weight) - 2)
    size = (2 * prod(weight[1:]) + 1, weight[0], *[1] * len(one))
    count = b.const(size[0], loc)
    sums = b.op("signs.sums", [product.operands[1]], loc, terms=prod(weight[1:])).result
    column = b.op("reshape", [sums, b.op("tuple", [count, b.const(1, loc), *one], loc).result], loc, proved=True).result
    whole = b.op("tuple", [count, b.const(weight[0], loc), *one], loc).result
    made = {product.result: b.op("expand", [column, whole], loc, proved=True).result}
    for op in chain.ops:
        copy = clone_op(b, op, made)
        copy.result.type = TensorType(tensor(op.result).dtype, size)
    thresholds = b.op("signs.thresholds", [made[packing.operands[0]]], loc, **how).result
    operands = [*product.operands[:2], thresholds]
    bits = b.op(f"{product.name}_bits", operands, loc, names=[packing.result.name], **product.attrs).result
    if packing.name == "signs.image":
        windows = {name: packing.attrs[name] for name in ("weight", "stride", "padding", "dilation")}
        b.op("signs.check", [bits], loc, **windows)
        _hand_on_order(chain, bits)
    packing.replace_with([bits])


def _hand_on_order(chain: _Chain, bits: Value) -> None:
    assert chain.product is not None
    numbers = all(len(op.operands) > 1 or op.name == "cast" for op in chain.ops)
    for user in [user for user in chain.packing.operands[0].users() if user.name == "signs.order"]:
        operands = [bits, chain.product.operands[2], user.operands[1]]
        b = Builder.before(user)
        user.replace_with([b.op("signs.next_order", operands, user.loc, numbers=numbers and user.attrs["numbers"]).result])


def run(module: Module, options: Mapping[str, int]) -> bool:
    if not options.get("frozen"):
        return False
    frozen = FrozenWeights(module)
    changed = False
    for op in list(module.walk()):
        if op.name in _PRODUCTS:
            chain = _Chain(op, frozen)
            if chain.find() and _is_of_filters(chain):
                _replace(chain)
                changed = True
    return changed
