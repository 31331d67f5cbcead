"""Accumulate a product into the tensor that is added to it.

    %y = linear_rows(..., %b)                         %b2 = add(%b, %c)
    %z = linear_packed(%h, %p, %c)              =>    %y = linear_rows(..., %b2)
    check(%y, %z) {of = "add"}                        %a = linear_add(%h, %p, %none, %y) {first = true}
    %a = add(%y, %z)

If the addend is a product too, the biases of both are added first. Sums are reassociated, so results may differ in their last
bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.analysis import may_write, writers
from scriptc.ir.builder import Builder
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.regions import dominates
from scriptc.ir.rewrite import Rewriter, rewrite
from scriptc.ir.types import NONE, TensorType

_BIAS = {"linear_packed": 2, "linear_rows": 5}  # which operand of a product is its bias


def _is_check_of(user: Op, op: Op) -> bool:
    return (
        user.name == "check"
        and user.attrs["of"] == op.name
        and user.operands == op.operands
        and user.parent is op.parent
    )


def _own_checks(op: Op) -> list[Op]:
    return [user for user in op.operands[0].users() if _is_check_of(user, op)]


def _only_summed(value: Value, op: Op) -> bool:
    return all(user is op or _is_check_of(user, op) for user in value.users())


def _same_vectors(a: Value, b: Value) -> bool:
    t = a.type
    known = isinstance(t, TensorType) and t.dims is not None and len(t.dims) == 1 and isinstance(t.dims[0], int)
    return known and a.type == b.type


def _defined_before(value: Value, op: Op) -> bool:
    made = value.op
    return made is None or dominates(made, op)


def _is_unwritten(values: list[Value], first: Op, last: Op) -> bool:
    """Return whether no op between two ops of a block writes memory that values refer to."""
    block = first.parent
    assert block is not None and block is last.parent
    between = block.ops[block.ops.index(first) : block.ops.index(last)]
    return not any(may_write(w, v) for op in between for w in writers(op, "tensor") for v in values)


def _can_take_bias(other: Op | None, product: Op, total: Op) -> bool:
    """Return whether `other` makes the addend, and may add the product's bias to its own."""
    bias = product.operands[2]
    if (
        other is None
        or other.name not in _BIAS
        or other.parent is not total.parent
        or not _only_summed(other.result, total)
    ):
        return False
    own = other.operands[_BIAS[other.name]]
    first = other if other.is_before(product) else product
    if not _defined_before(bias, other) or not _is_unwritten([bias, own], first, total):
        return False
    return _same_vectors(own, bias) if own.type != NONE else _adds_columns(other, bias)


def _adds_columns(other: Op, bias: Value) -> bool:
    t, made = bias.type, other.result.type
    assert isinstance(t, TensorType) and isinstance(made, TensorType) and made.dims
    return t.dims is not None and len(t.dims) == 1 and isinstance(t.dims[0], int) and t.dims[0] == made.dims[-1]


def _move_bias(product: Op, other: Op, rw: Rewriter) -> None:
    """Move the product's bias to the other product."""
    at, bias = _BIAS[other.name], product.operands[2]
    own = other.operands[at]
    if own.type != NONE:
        bias = rw.insert_checked(other, "add", [own, bias])
    rw.set_operands(other, [*other.operands[:at], bias, *other.operands[at + 1 :]])
    rw.set_operands(product, [*product.operands[:2], rw.const_before(product, None)])


def accumulate(op: Op, rw: Rewriter) -> bool:
    if op.name != "add" or not all(isinstance(v.type, TensorType) for v in op.operands):
        return False
    for at in (1, 0):
        product, addend = op.operands[at].op, op.operands[1 - at]
        if product is None or product.name != "linear_packed" or product.parent is not op.parent:
            continue
        if not _only_summed(product.result, op) or op.operands[0] is op.operands[1]:
            continue
        if not _is_unwritten([product.operands[0], product.operands[2]], product, op):
            continue
        if product.operands[2].type != NONE and _can_take_bias(addend.op, product, op):
            assert addend.op is not None
            _move_bias(product, addend.op, rw)
        _replace(op, product, addend, at == 1, rw)
        return True
    return False


def _replace(op: Op, product: Op, addend: Value, first: bool, rw: Rewriter) -> None:
    checks = _own_checks(op)
    anchor = checks[0] if checks else op
    operands = [*product.operands, addend]
    made = Builder.before(anchor).op(
        "linear_add", operands, op.loc, names=[op.result.name], types=[op.result.type], proved=True,
        features=product.attrs["features"], first=first,
    )  # fmt: skip
    rw.add(made)
    rw.replace(op, made.results)
    for check in checks:
        rw.erase_unused(check)
    rw.erase_unused(product)


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, [accumulate])
