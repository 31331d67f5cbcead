"""Compute products of tensors of small integers in 16 bits.

    %a = cast(%x) {dtype = "i32"}                        %a = cast(%x) {dtype = "i32"}
    %b = sub(%a, %zero)                                  %b = sub(%a, %zero)
    %w = cast(%v) {dtype = "i32"}                        %w = cast(%v) {dtype = "i32"}
    %y = matmul(%b, %w)                        =>        %p = cast(%b) {dtype = "i16"}
                                                         %q = cast(%w) {dtype = "i16"}
                                                         %r = integers.columns(%q)
                                                         %y = integers.matmul(%p, %r, %n)

The ranges of both operands decide (ir/integer_ranges.py): differences of bytes, as quantized nets multiply them, in whatever
dtype. Sums wrap at 32 bits, as those of dtypes up to 32 bits do. Sums of other dtypes are taken if they cannot wrap; those of
float32 are exact where eager's are, and are rounded once elsewhere. A factor of all elements, or of each filter, multiplies the
sums.

Taken are `matmul` by a matrix, and `linear` and `conv2d` of a batch of images by weights of known sizes. `integers.conv2d`
raises the errors of the convolution; the check of a matmul stays, and asks the integers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.frozen_weights import known_sizes
from scriptc.ir.integer_ranges import IntegerRanges
from scriptc.ir.loc import Loc
from scriptc.ir.ops.rules import tensor
from scriptc.ir.product_factors import Factored, factored, like_weight, replace_by_sums
from scriptc.ir.ranges import constant_int
from scriptc.ir.types import NONE, Dim, TensorType

_WRAPS = ("u8", "i8", "i16", "i32")  # sums modulo a divisor of 2^32
_FLOATS = ("f32", "f64")
_MOST = (1 << 15) - 1  # of an operand: the sum of two products must not wrap before it is added
_LEAST_TERMS = 16  # shorter sums of floats are no faster in integers


class _Products:
    def __init__(self, module: Module):
        self.ranges = IntegerRanges(module)

    def replace(self, op: Op) -> bool:
        match op.name:
            case "linear" | "matmul":
                return self._replace_matmul(op)
            case "conv2d":
                return self._replace_convolution(op)
        return False

    def _is_small(self, value: Value) -> bool:
        found = self.ranges.of(value)
        return found is not None and found.most <= _MOST

    def small(self, b: Builder, value: Value, loc: Loc) -> Value:
        """Return small integers in 16 bits. What computes them computes in 16 bits too."""
        op = value.op
        if tensor(value).dtype == "i16":
            return value
        if op is not None and op.name in ("add", "sub") and all(map(self._is_small_tensor, op.operands)):
            return b.op(op.name, [self.small(b, v, loc) for v in op.operands], loc, proved=True).result
        return b.op("cast", [value], loc, dtype="i16").result

    def _is_small_tensor(self, value: Value) -> bool:
        return isinstance(value.type, TensorType) and self._is_small(value)

    def _operands(self, op: Op, terms: int | None, filters: int | None) -> tuple[Factored, Factored] | None:
        """Return the small integers that a product multiplies, if its sums are those of 32 bits."""
        x, weight = tensor(op.operands[0]), tensor(op.operands[1])
        if x.dtype != weight.dtype or x.dtype not in (*_WRAPS, "i64", *_FLOATS):
            return None
        left, right = factored(op.operands[0], self._is_small, None), factored(op.operands[1], self._is_small, filters)
        if left is None or right is None or (x.dtype != "f32" and (left.factors or right.factors)):
            return None
        most = [found.most for found in map(self.ranges.of, (left.tensor, right.tensor)) if found is not None]
        if x.dtype not in _WRAPS and (terms is None or terms * most[0] * most[1] >= 1 << 31):
            return None
        if x.dtype == "f32" and terms is not None and terms < _LEAST_TERMS:
            return None
        return left, right

    def _replace_matmul(self, op: Op) -> bool:
        x, weight = op.operands[:2]
        by_matrix = op.name == "matmul"
        dims = tensor(weight).dims
        if not tensor(x).dims or dims is None or len(dims) != 2:
            return False
        terms, columns = dims if by_matrix else dims[::-1]
        bias = None if by_matrix else op.operands[2]
        if not by_matrix and (known_sizes(weight) is None or not _fits(bias, x, (columns, 1))):
            return False
        found = self._operands(op, terms if isinstance(terms, int) else None, None if by_matrix else 2)
        if found is None:
            return False
        left, right = found
        self._ask_integers(op, left, right)
        b, loc = Builder.before(op), op.loc
        small, matrix = self.small(b, left.tensor, loc), self.small(b, right.tensor, loc)
        if not by_matrix:
            matrix = b.op("transpose", [matrix], loc, dim0=0, dim1=1).result
        packed = b.op("integers.columns", [matrix], loc).result
        size = b.const(columns, loc) if isinstance(columns, int) else b.op("size", [matrix], loc, dim=1).result
        sums = b.op("integers.matmul", [small, packed, size], loc, names=[op.result.name]).result
        replace_by_sums(op, b, _converted(b, sums, op), found, bias, tuple(d for d in (columns,) if isinstance(d, int)))
        return True

    def _ask_integers(self, op: Op, left: Factored, right: Factored) -> None:
        """Let checks of a product ask the integers, so that what is made of them is not computed for a check."""
        x, weight = op.operands[:2]
        for check in [user for user in weight.users() if user.name == "check" and user.attrs["of"] == op.name]:
            if x in check.operands:
                b, loc = Builder.before(check), check.loc
                sizes = known_sizes(weight)
                asked = self.small(b, right.tensor, loc) if sizes is None else like_weight(b, sizes, "i16", loc)
                integers = {x: self.small(b, left.tensor, loc), weight: asked}
                for v in check.operands:
                    if v not in integers:
                        integers[v] = v if v.type == NONE else b.op("cast", [v], loc, dtype="i16").result
                check.set_operands([integers[v] for v in check.operands])

    def _replace_convolution(self, op: Op) -> bool:
        x, weight, bias, groups = op.operands
        sizes, count = known_sizes(weight), constant_int(groups)
        if sizes is None or len(sizes) != 4 or min(sizes) == 0 or tensor(x).rank != 4 or count is None or count < 1:
            return False
        if not all(n > 0 for n in (*op.attrs["stride"], *op.attrs["dilation"])) or min(op.attrs["padding"]) < 0:
            return False
        if sizes[0] % count or not _fits(bias, x, (sizes[0],)):
            return False
        found = self._operands(op, sizes[1] * sizes[2] * sizes[3], 4)
        if found is None:
            return False
        b, loc = Builder.before(op), op.loc
        windows = {name: op.attrs[name] for name in ("stride", "padding", "dilation")}
        small, kernel = (self.small(b, one.tensor, loc) for one in found)
        order = b.op("suggests_channels_last", [small, kernel], loc).result
        packed = b.op("integers.filters", [kernel], loc).result
        sums = b.op(
            "integers.conv2d", [small, packed, order], loc, weight=sizes, groups=count, names=[op.result.name], **windows
        ).result  # fmt: skip
        replace_by_sums(op, b, _converted(b, sums, op), found, bias, (sizes[0], 1, 1))
        return True


def _fits(bias: Value | None, x: Value, lengths: Collection[Dim]) -> bool:
    """Return whether a bias is a vector of one of these lengths, if there is one."""
    if bias is None or bias.type == NONE:
        return True
    sizes = known_sizes(bias)
    return sizes is not None and len(sizes) == 1 and sizes[0] in lengths and tensor(bias).dtype == tensor(x).dtype


def _converted(b: Builder, sums: Value, op: Op) -> Value:
    dtype = tensor(op.result).dtype
    if dtype != "i32":
        sums = b.op("cast", [sums], op.loc, dtype=dtype).result
    sums.type = op.result.type
    return sums


def run(module: Module, options: Mapping[str, int]) -> bool:
    products = _Products(module)
    found = [op for op in module.walk() if op.name in ("linear", "matmul", "conv2d")]
    return any([products.replace(op) for op in found])
