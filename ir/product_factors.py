"""Factors that are taken out of the operands of a product, and multiply its sums.

    (s * a) @ (w * b)  =  (s @ w) * a * b

A factor is a number for all elements of an operand, or one for each filter of a weight. It is rounded once, behind the sum,
where the product as written rounds each term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite

from scriptc.ir.analysis import is_written
from scriptc.ir.builder import Builder
from scriptc.ir.core import Op, Value
from scriptc.ir.frozen_weights import known_sizes
from scriptc.ir.loc import Loc
from scriptc.ir.ranges import constant
from scriptc.ir.types import NONE, TensorType


@dataclass
class Factored:
    """`tensor` times factors. factors: the names of the ops and their other operands, the last first."""

    tensor: Value
    factors: list[tuple[str, Value]] = field(default_factory=list)


def factored(value: Value, is_taken: Callable[[Value], bool], filters: int | None) -> Factored | None:
    """Return the tensor for which `is_taken` holds whose product with factors is `value`; None if there is none.

    filters: the rank of a weight, whose filters may have factors of their own; None for other operands.
    """
    found = Factored(value)
    while not is_taken(found.tensor):
        op = found.tensor.op
        if op is None or op.name not in ("mul", "div") or len(op.operands) != 2:
            return None
        at = next((i for i in (0, 1) if _is_factor(op, i, filters)), None)
        if at is None:
            return None
        found.factors.append((op.name, op.operands[at]))
        found.tensor = op.operands[1 - at]
    return found if isinstance(found.tensor.type, TensorType) else None


def _is_factor(op: Op, i: int, filters: int | None) -> bool:
    """Return whether operand i of a product is a number for all elements, or one for each filter of a weight."""
    factor, other = op.operands[i], op.operands[1 - i]
    if not isinstance(other.type, TensorType) or other.type != op.result.type:
        return False
    if not isinstance(factor.type, TensorType):
        number = constant(factor)
        is_number = isinstance(number, (int, float)) and isfinite(number)
        return is_number and (op.name == "mul" or (i == 1 and number != 0))
    if op.name == "div":
        return False
    sizes = known_sizes(factor)
    if sizes is None or factor.type.dtype != "f32" or _is_written_near(factor):
        return False
    if all(n == 1 for n in sizes):
        return len(sizes) <= 1
    whole = known_sizes(other)
    return filters is not None and whole is not None and len(sizes) == filters and sizes == (whole[0], *[1] * (filters - 1))


def _is_written_near(value: Value) -> bool:
    """Return whether the function around writes a tensor."""
    block = value.block
    while block.parent is not None and block.parent.parent is not None:
        block = block.parent.parent
    return is_written(value, block)


def replace_by_sums(
    op: Op, b: Builder, sums: Value, operands: tuple[Factored, Factored], bias: Value | None, filters: tuple[int, ...]
) -> None:
    """Multiply the sums of a product by the factors of its operands, add the bias, and let that stand for the result of `op`.

    filters: the sizes of a tensor of one number for each filter that broadcasts with the sums.
    """

    def of_filters(value: Value) -> Value:
        if not isinstance(value.type, TensorType) or not value.type.dims or known_sizes(value) in (filters, (1,)):
            return value
        sizes = b.op("tuple", [b.const(n, op.loc) for n in filters], op.loc).result
        return b.op("reshape", [value, sizes], op.loc, proved=True).result

    factors = [*operands[0].factors, *operands[1].factors]
    steps = [*reversed(factors), *([("add", bias)] if bias is not None and bias.type != NONE else [])]
    for name, value in steps:
        sums = b.op(name, [sums, of_filters(value)], op.loc, proved=True).result
        sums.type = op.result.type
    op.replace_with([sums])


def like_weight(b: Builder, sizes: tuple[int, ...], dtype: str, loc: Loc) -> Value:
    """Return a tensor of a weight's sizes, of one element in memory, for a check of a product to ask."""
    one = b.op("tuple", [b.const(1, loc) for _ in sizes], loc).result
    number = b.op("full", [one, b.const(0, loc)], loc, dtype=dtype).result
    shape = b.op("tuple", [b.const(n, loc) for n in sizes], loc).result
    return b.op("expand", [number, shape], loc, proved=True).result
