"""Views that only elementwise loops look at stand on the C stack: no object is made, nothing is counted.

    %f = c.view(%g) {fn = "sc_slice_here", args = "{0}, 1, 0, 512, 1"}        sc_tensor f = sc_slice_here(g, 1, 0, 512, 1);
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scriptc.backend_c.args import Args
from scriptc.ir.core import Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.ranges import known_int

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer


def _is_looked_at(value: Value) -> bool:
    """Whether all that uses a tensor are loops over its elements, and checks of their sizes."""
    return all(
        user.has("ELEMENTWISE") or user.name == "fuse" or _is_check_of_sizes(user) for user in value.users()
    ) and bool(value.uses)


def _is_check_of_sizes(op: Op) -> bool:
    return op.name == "check" and OPS[op.attrs["of"]].check == "broadcast"


def _cannot_fail(op: Op) -> bool:
    if op.name == "slice":
        bounds = [known_int(v) for v in op.operands[1:]]
        return None not in bounds and (bounds[2] or 0) > 0
    return op.name == "select"  # behind its check


def local_view(low: Lowerer, op: Op) -> Value | None:
    """The view as a variable on the stack, where it may be one."""
    if not op.has("VIEW") or not _cannot_fail(op) or not _is_looked_at(op.result):
        return None
    args = low.schema_args(op, Args())
    made = low.build("c.view", args.operands, (op.result.type,), op.loc, fn=f"sc_{op.name}_here", args=args.text)
    return made.result
