"""Checks: calls of the kernels sc_check_*, which raise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from scriptc.backend_c.arguments import Args, text
from scriptc.backend_c.emitters.registry import emitters
from scriptc.backend_c.value_leaves import Shape
from scriptc.ir.core import Op
from scriptc.ir.ops import OPS
from scriptc.ir.types import TensorType

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

EMITTERS, emitter = emitters()


@emitter
def check(low: Lowerer, op: Op) -> Sequence[Shape]:
    """Call sc_check_KIND with the arguments of the checked op. Broadcasting is checked for each pair of tensors."""
    of = OPS[op.attrs["of"]]
    if of.check != "broadcast":
        return low.call(op, f"sc_check_{of.check}", low.schema_args(op, of.args))
    tensors = [low.one(v) for v in op.operands if isinstance(v.type, TensorType)]
    for a, b in combinations(tensors, 2):
        low.call(op, "sc_check_broadcast", Args(a, b))
    return []


@emitter
def check_bound(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, f"sc_{op.name.replace('.', '_')}", Args(low.one(op.operands[0]), text(op.attrs["name"])))


@emitter
def check_unpack(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_check_unpack", Args(low.one(op.operands[0]), op.attrs["count"]))


@emitter
def check_step(low: Lowerer, op: Op) -> Sequence[Shape]:
    return low.call(op, "sc_check_step", Args(low.one(op.operands[0])))


@emitter
def check_store(low: Lowerer, op: Op) -> Sequence[Shape]:
    dst, src = low.operands(op)
    return low.call(op, "sc_check_broadcast_to", Args(src, dst))
