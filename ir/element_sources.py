"""The values that a tensor's elements come from, where an op moves or picks elements and computes none."""

from __future__ import annotations

from scriptc.ir.core import Op, Value
from scriptc.ir.regions import exits, is_loop, target
from scriptc.ir.types import TensorType

_JOINS = frozenset({"contiguous", "clone", "repeat", "flip", "cat", "cat.items", "stack", "concat"})
_PICKS = frozenset({"index_select", "gather", "max_pool2d"})  # from their first operand


def element_sources(op: Op, value: Value) -> list[Value] | None:
    """Return tensors, or values that branches choose from, among whose elements are all those of a result of `op`.

    None if the op may compute others, or its elements come from what is no tensor.
    """
    if op.name == "if":
        return [t.operands[op.results.index(value)] for t in exits(op) if target(t) is op]
    if (op.has("VIEW") and op.has("PURE") and not is_loop(op)) or op.name in _PICKS:
        return [op.operands[0]]
    if op.name in _JOINS:
        return [v for v in op.operands if isinstance(v.type, TensorType)] or None
    return None
