"""Pack the invariant weight of a `linear` in a loop into the layout of the kernels.

    loop L %i = 0 to %n step 1 {                      loop L %i = 0 to %n step 1 {
      %y = linear(%x, %w, %b)                   =>      %p = pack_linear(%w)
                                                        %y = linear_packed(%x, %p, %b) {features = 64}

The packing is built in the loop's body and hoisted by licm, so the weight must not be made or written in the loop.

With `frozen=1` weights do not change between calls, so params and views of them are packed once, wherever they are used:

    %y = linear(%x, %w, %b)                         =>      %p = pack_linear.kept(%w) {slot = 0}
                                                            %y = linear_packed(%x, %p, %b) {features = 64}

Weights that are computed from params are packed in front of the product, which `cache_frozen` makes once.

With `weight_format=1` (bfloat16) or `weight_format=2` (float16) besides, kept float32 weights are rounded to that type:
{slot = 0, store = "bf16"}.

A `matmul` by a matrix is a linear by its transpose. The weight of a transposed convolution is arranged likewise:

    %y = conv_transpose2d(%x, %w, %b, %none)        =>      %a = arrange_transposed(%w)
                                                            %y = conv_transpose2d(%x, %w, %b, %a)

So are frozen weights of float32 convolutions without groups, and of depthwise ones. The strides of the result are eager's:

    %y = conv2d(%x, %w, %b, %one)                   =>      %p = pack_conv(%w, %b) {depthwise = false}
                                                            %l = suggests_channels_last(%x, %w)
                                                            %y = conv2d_packed(%x, %p, %none, %l, %none) {...}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf

from scriptc.ir.analysis import is_invariant, is_written, may_be_undefined, passed_undefined
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.frozen_weights import FrozenWeights, known_sizes
from scriptc.ir.ops.rules import tensor
from scriptc.ir.ranges import constant_int
from scriptc.ir.regions import ancestor_in, is_loop
from scriptc.ir.rewrite import Rewriter, Rule, rewrite
from scriptc.ir.types import NONE, TensorType

MIN_DEPTHWISE = 16  # channels that the kernel of depthwise convolutions needs: a block of sc_conv_packed.c
WEIGHT_FORMATS = ("", "bf16", "f16")  # by the option `weight_format`; "" is the dtype of the weights
KEPT = ("pack_linear.kept", "arrange_transposed.kept")  # their results are kept; they share one count of `slot`


def _packing_anchor(op: Op, passed: Collection[Value]) -> Op | None:
    """Return the op before which to pack, in the innermost loop's body and outside of branches; None if that is
    impossible."""
    loop = op.enclosing(is_loop)
    weight = op.operands[1]
    if loop is None or is_written(weight, loop) or may_be_undefined(weight, passed):
        return None
    anchor = ancestor_in(loop.regions[0], op)
    made = weight.op
    if is_invariant(weight, loop):
        return anchor
    is_constant = made is not None and made.has("PURE") and not made.operands
    return anchor if is_constant and weight.block is loop.regions[0] else None


def _is_packable(weight: Value, rank: int) -> bool:
    t = weight.type
    return isinstance(t, TensorType) and t.dtype in ("f32", "f64") and t.dims is not None and len(t.dims) == rank


def _is_product(op: Op) -> bool:
    """Return whether the second operand of a product can be packed: [N, K] of a linear, [K, N] of a matmul."""
    if op.name not in ("linear", "matmul") or not _is_packable(op.operands[1], 2):
        return False
    x = op.operands[0].type
    return isinstance(x, TensorType) and bool(x.dims)


def _use_packed(op: Op, anchor: Op, rw: Rewriter, packing: str, **attrs: int | str) -> bool:
    """Pack the weight in front of `anchor`."""
    x, weight = op.operands[:2]
    if op.name == "matmul":
        weight, bias = rw.insert_before(anchor, "transpose", [weight], dim0=0, dim1=1), rw.const_before(op, None)
    else:
        bias = op.operands[2]
    packed = rw.insert_before(anchor, packing, [weight], hint="packed", **attrs)
    assert isinstance(weight.type, TensorType) and weight.type.dims is not None
    rows = weight.type.dims[0]
    features = rows if isinstance(rows, int) else 0
    product = rw.insert_before(op, "linear_packed", [x, packed, bias], features=features)
    product.type = op.result.type  # a packed weight does not tell the size of the last dim
    rw.replace(op, [product])
    return True


def _is_transposed(op: Op) -> bool:
    """Return whether the op is a transposed convolution whose weight is not arranged yet."""
    return op.name == "conv_transpose2d" and op.operands[3].type == NONE and _is_packable(op.operands[1], 4)


def _use_arranged(op: Op, anchor: Op, rw: Rewriter, arranging: str, **attrs: int) -> bool:
    """Arrange the weight in front of `anchor`."""
    x, weight, bias, _ = op.operands
    how = {name: op.attrs[name] for name in ("stride", "padding", "groups", "dilation")}
    arranged = rw.insert_before(anchor, arranging, [weight], hint="arranged", **how, **attrs)
    rw.set_operands(op, [x, weight, bias, arranged])
    return True


def _is_image_product(op: Op) -> bool:
    """Return whether a convolution of a batch of images has a kernel that takes a packed weight."""
    if op.name != "conv2d":
        return False
    x, weight, bias, groups = op.operands
    t, sizes = weight.type, known_sizes(weight)
    if not isinstance(t, TensorType) or sizes is None or len(sizes) != 4 or min(sizes) == 0 or t.dtype != "f32":
        return False
    of_filters = known_sizes(bias) == sizes[:1] and tensor(bias).dtype == "f32" if bias.type != NONE else True
    count = constant_int(groups)
    depthwise = count == sizes[0] >= MIN_DEPTHWISE and sizes[1] == 1
    return of_filters and isinstance(x.type, TensorType) and x.type.rank == 4 and (count == 1 or depthwise)


def _laid_out_as(weight: Value) -> Value:
    """Return a weight with the same order of strides that is not computed, where the weight is one with scaled filters."""
    op = weight.op
    while op is not None and op.name in ("mul", "div") and known_sizes(op.operands[0]) == known_sizes(weight):
        weight, op = op.operands[0], op.operands[0].op
    return weight


def _use_packed_image(op: Op, rw: Rewriter) -> bool:
    x, weight, bias, groups = op.operands
    count = constant_int(groups)
    dense = set(op.attrs["stride"]) | set(op.attrs["dilation"]) == {1}
    packed = rw.insert_before(op, "pack_conv", [weight, bias], hint="packed", depthwise=count != 1, dense=dense)
    follows = rw.insert_before(op, "suggests_channels_last", [x, _laid_out_as(weight)])
    none = rw.const_before(op, None)
    product = rw.insert_before(
        op, "conv2d_packed", [x, packed, none, follows, none], hint=op.result.name, weight=known_sizes(weight),
        groups=count, low=-inf, high=inf, **op.attrs,
    )  # fmt: skip
    product.type = op.result.type
    rw.replace(op, [product])
    return True


def weights_of_loops(module: Module) -> list[Rule]:
    """Return the rules for loop-invariant weights."""
    passed = passed_undefined(module)

    def pack_weight(op: Op, rw: Rewriter) -> bool:
        if not _is_product(op) or (anchor := _packing_anchor(op, passed)) is None:
            return False
        return _use_packed(op, anchor, rw, "pack_linear")

    def arrange_weight(op: Op, rw: Rewriter) -> bool:
        if not _is_transposed(op) or (anchor := _packing_anchor(op, passed)) is None:
            return False
        return _use_arranged(op, anchor, rw, "arrange_transposed")

    return [pack_weight, arrange_weight]


def _view_of_param(weight: Value) -> tuple[str, ...] | None:
    """Return a key of a param or a view of one; None for other tensors."""
    made, path = weight.op, []
    while made is not None and made.has("VIEW") and len(made.operands) == 1:
        path.append(f"{made.name} {sorted(made.attrs.items())}")
        made = made.operands[0].op
    return (*path, made.attrs["name"]) if made is not None and made.name == "param" else None


def keep_packed(module: Module, weight_format: str) -> Rule:
    """Return the rule for frozen weights. A weight that the module may write is not frozen."""
    slots: dict[tuple[str, ...], int] = {}
    frozen = FrozenWeights(module)

    def keep_packed_weight(op: Op, rw: Rewriter) -> bool:
        if _is_image_product(op):
            frozen_operands = all(map(frozen.is_computed_from_weights, (v for v in op.operands[1:3] if v.type != NONE)))
            return frozen_operands and _use_packed_image(op, rw)
        transposed = _is_transposed(op)
        if not (transposed or _is_product(op)):
            return False
        of = _view_of_param(op.operands[1])
        if of is None and not transposed and frozen.is_computed_from_weights(op.operands[1]):
            return _use_packed(op, op, rw, "pack_linear")  # the pass `cache_frozen` keeps the packed weight
        if of is None or frozen.is_written(op.operands[1]):
            return False
        if transposed:
            slot = slots.setdefault((op.name, str(sorted(op.attrs.items())), *of), len(slots))
            return _use_arranged(op, op, rw, "arrange_transposed.kept", slot=slot)
        slot = slots.setdefault((op.name, *of), len(slots))
        stored = weight_format if tensor(op.operands[1]).dtype == "f32" else ""
        return _use_packed(op, op, rw, "pack_linear.kept", slot=slot, store=stored)

    return keep_packed_weight


def run(module: Module, options: Mapping[str, int]) -> bool:
    rules = [keep_packed(module, WEIGHT_FORMATS[options.get("weight_format", 0)])] if options.get("frozen") else []
    return rewrite(module, [*rules, *weights_of_loops(module)])
