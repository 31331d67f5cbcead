"""Compute products of tensors of -1, 0 and 1 in bits.

    %s = sign(%x)                                       %s = sign(%x)
    %v = where(%c, %one, %minus)                        %v = where(%c, %one, %minus)
    %y = linear(%s, %v, %b)                    =>       %p = signs.rows(%s)
                                                        %q = signs.filters(%v)
                                                        %z = signs.linear(%p, %q) {weight = [64, 128]}
                                                        %y = add(%z, %b)

The values of both operands decide (ir/value_sets.py), and no name. A factor of all elements, or of each filter, is taken out of
an operand, and multiplies the sums: %x = mul(%s, %a). The sums are exact integers, as eager's are while they have fewer than
2^24 terms; a factor or a bias is rounded once, behind the sum, where eager rounds each term. Factors that are Python numbers
are finite.

Taken are float32 `linear`, `matmul` by a matrix, and `conv2d` of one group and a batch of images, by weights of known sizes.
`signs.image` raises the errors of the convolution; the check of a linear stays, and asks a tensor of the weight's sizes.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.frozen_weights import known_sizes
from scriptc.ir.ops.rules import tensor
from scriptc.ir.product_factors import factored, like_weight, replace_by_sums
from scriptc.ir.ranges import constant_int
from scriptc.ir.sign_sources import sign_source
from scriptc.ir.types import NONE, TensorType
from scriptc.ir.value_sets import ValueSets

MOST_TERMS = 1 << 24  # of an exact sum in float32
LEAST_TERMS = 32  # shorter sums are no faster in bits


class _Products:
    def __init__(self, module: Module):
        self.sets = ValueSets(module)

    def replace(self, op: Op) -> bool:
        match op.name:
            case "linear" | "matmul":
                return self._replace_linear(op)
            case "conv2d":
                return self._replace_convolution(op)
        return False

    def _replace_linear(self, op: Op) -> bool:
        x, weight = op.operands[:2]
        sizes = known_sizes(weight)
        rows = tensor(x)
        if sizes is None or len(sizes) != 2 or not rows.dims or rows.dtype != "f32":
            return False
        by_matrix = op.name == "matmul"
        size = sizes[::-1] if by_matrix else sizes
        if not _is_worthwhile(size[0], size[1]):
            return False
        left = factored(x, self.sets.is_signs, None)
        right = factored(weight, self.sets.is_signs, None if by_matrix else 2)
        if left is None or right is None:
            return False
        b, loc = Builder.before(op), op.loc
        source = sign_source(left.tensor, self.sets)
        filters = b.op("transpose", [right.tensor], loc, dim0=0, dim1=1).result if by_matrix else right.tensor
        packed = b.op("signs.rows", [source.tensor], loc, how=source.how, bound=source.bound, proved=True).result
        kernel = b.op("signs.filters", [filters], loc, proved=True).result
        made = b.op("signs.linear", [packed, kernel], loc, weight=size, names=[op.result.name]).result
        made.type = op.result.type
        bias = None if by_matrix else op.operands[2]
        replace_by_sums(op, b, made, (left, right), bias, (size[0],))
        _detach_checks(weight, sizes)
        return True

    def _replace_convolution(self, op: Op) -> bool:
        x, weight, bias, groups = op.operands
        sizes, image = known_sizes(weight), tensor(x)
        if sizes is None or len(sizes) != 4 or min(sizes) == 0 or image.rank != 4 or image.dtype != "f32":
            return False
        if constant_int(groups) != 1 or not _is_worthwhile(sizes[0], sizes[1] * sizes[2] * sizes[3]):
            return False
        if not all(n > 0 for n in (*op.attrs["stride"], *op.attrs["dilation"])) or min(op.attrs["padding"]) < 0:
            return False
        if bias.type != NONE and known_sizes(bias) != sizes[:1]:
            return False
        left, right = factored(x, self.sets.is_signs, None), factored(weight, self.sets.is_signs, 4)
        if left is None or right is None:
            return False
        b, loc = Builder.before(op), op.loc
        windows = {name: op.attrs[name] for name in ("stride", "padding", "dilation")}
        source = sign_source(left.tensor, self.sets)
        packed = b.op(
            "signs.image", [source.tensor], loc, weight=sizes, how=source.how, bound=source.bound, **windows
        ).result  # fmt: skip
        kernel = b.op("signs.filters", [right.tensor], loc, proved=True).result
        made_of = [*source.ops, *([x.op] if left.factors and x.op is not None else [])]
        numbers = all(map(_keeps_order, made_of))
        order = b.op("suggests_channels_last", [weight], loc).result
        if made_of and len(left.factors) < 2 and (numbers or len(made_of) == 1):
            order = b.op("signs.order", [source.tensor, order], loc, numbers=numbers).result
        else:
            order = b.op("bool.or_", [b.op("suggests_channels_last", [x], loc).result, order], loc).result
        made = b.op("signs.conv2d", [packed, kernel, order], loc, weight=sizes, names=[op.result.name], **windows).result
        made.type = op.result.type
        replace_by_sums(op, b, made, (left, right), bias, (sizes[0], 1, 1))
        return True


def _keeps_order(op: Op) -> bool:
    """Return whether the order of dims of a pointwise result is that of its operand, even if the operand is contiguous."""
    tensors = [v for v in op.operands if isinstance(v.type, TensorType)]
    return len(tensors) == 1 and (op.name == "cast" or len(op.operands) > 1)


def _is_worthwhile(filters: int, terms: int) -> bool:
    return filters > 0 and LEAST_TERMS <= terms < MOST_TERMS


def _detach_checks(weight: Value, sizes: tuple[int, ...]) -> None:
    """Let checks of a product ask another tensor of the weight's sizes, so that the weight is not computed for them."""
    for check in [user for user in weight.users() if user.name == "check" and user.attrs["of"] in ("linear", "matmul")]:
        like = like_weight(Builder.before(check), sizes, "f32", check.loc)
        check.set_operands([like if v is weight else v for v in check.operands])


def run(module: Module, options: Mapping[str, int]) -> bool:
    products = _Products(module)
    found = [op for op in module.walk() if op.name in ("linear", "matmul", "conv2d")]
    return any([products.replace(op) for op in found])
