"""Views on the C stack, for views that only elementwise loops, products and conversions to numbers read.

No object is made, nothing is counted.

    %f = c.view(%g) {kernel = "sc_slice_here", args = ["%0", 1, 0, 512, 1]}        sc_tensor f;
                                                                                   sc_slice_here(&f, g, 1, 0, 512, 1);
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scriptc.ir.core import Op, Value
from scriptc.ir.ranges import constant_int
from scriptc.ir.types import TensorType

MAX_RANK = 12  # SC_MAX_RANK

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer


# Ops whose kernels only read their tensors and keep no reference.
_READERS = frozenset({
    "fuse", "check", "check.leaf", "check.detached", "linear_packed", "linear_activated", "linear_add", "item.float",
    "item.int", "item.bool",
})  # fmt: skip


def _is_only_read(value: Value) -> bool:
    """Return whether the users of a value, and of its views, only read it."""

    def reads(user: Op) -> bool:
        return user.has("ELEMENTWISE") or user.name in _READERS or _is_local(user)

    return bool(value.uses) and all(map(reads, value.users()))


def _is_local(op: Op) -> bool:
    return op.has("VIEW") and _cannot_fail(op) and _is_only_read(op.result)


def _cannot_fail(op: Op) -> bool:
    if op.name == "slice":
        bounds = [constant_int(v) for v in op.operands[1:]]
        return None not in bounds and (bounds[2] or 0) > 0
    if op.name == "unsqueeze":
        t = op.result.type
        return isinstance(t, TensorType) and t.dims is not None and len(t.dims) <= MAX_RANK
    return op.name in ("select", "transpose")  # `select` follows its check


def local_view(low: Lowerer, op: Op) -> Value | None:
    """Build a view on the stack if it may live there; else return None."""
    if not _is_local(op):
        return None
    args = low.schema_args(op)
    return low.build(
        "c.view", args.operands, (op.result.type,), op.loc, kernel=f"sc_{op.name}_here", args=tuple(args.entries)
    ).result
