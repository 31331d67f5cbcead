"""Views that only elementwise loops and products look at stand on the C stack: no object is made, nothing is counted.

%f = c.view(%g) {fn = "sc_slice_here", args = "{0}, 1, 0, 512, 1"}        sc_tensor f = sc_slice_here(g, 1, 0, 512, 1);
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scriptc.backend_c.args import Args
from scriptc.ir.core import Op, Value
from scriptc.ir.ranges import known_int

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer


# Whose kernels read the tensors that they are given, and keep none.
_READERS = frozenset({"fuse", "check", "linear_packed", "linear_add"})


def _is_looked_at(value: Value) -> bool:
    return bool(value.uses) and all(user.has("ELEMENTWISE") or user.name in _READERS for user in value.users())


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
