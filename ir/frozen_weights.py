"""Values that are equal in every call if weights are frozen."""

from __future__ import annotations

from scriptc.ir.analysis import Origins, may_write, writers
from scriptc.ir.builder import Builder
from scriptc.ir.cloning import clone_op
from scriptc.ir.core import Module, Value
from scriptc.ir.types import TensorType


def known_sizes(value: Value) -> tuple[int, ...] | None:
    """Return the sizes of a tensor, as those of all weights are known; None for others, and for what is no tensor."""
    t = value.type
    if not isinstance(t, TensorType) or t.dims is None:
        return None
    sizes = tuple(d for d in t.dims if isinstance(d, int))
    return sizes if len(sizes) == len(t.dims) else None


def computed_again(value: Value, b: Builder, made: dict[Value, Value] | None = None) -> Value:
    """Build a copy of a value that is computed from weights alone. Its checks stay where they are, in front of the original."""
    made = {} if made is None else made
    if value not in made:
        assert value.op is not None
        for operand in value.op.operands:
            computed_again(operand, b, made)
        clone_op(b, value.op, made)
    return made[value]


class FrozenWeights:
    """Answer questions about a module, while the uses and writes of its weights do not change."""

    def __init__(self, module: Module):
        found = (op for func in module.funcs.values() for op in writers(func.body))
        self._writers = [op for op in found if op.name != "call"]  # which writes what those in its function write
        self._origins = Origins()
        self._derived: dict[Value, bool] = {}

    def is_computed_from_weights(self, value: Value) -> bool:
        """Return whether a value is a weight, or is computed from unwritten weights alone."""
        if value not in self._derived:
            self._derived[value] = self._is_weight(value) or self._is_computed(value)
        return self._derived[value]

    def is_written(self, value: Value) -> bool:
        return any(may_write(writer, value, self._origins) for writer in self._writers)

    def _is_weight(self, value: Value) -> bool:
        if value.op is None or value.op.name != "param":
            return False
        return not self.is_written(value)

    def _is_computed(self, value: Value) -> bool:
        op = value.op
        if op is None or not op.has("PURE") or op.defn.reads - {"tensor"}:
            return False
        given = [v for v in op.operands if not self._is_constant(v)]
        return bool(given) and all(map(self.is_computed_from_weights, given)) and not self.is_written(value)

    def _is_constant(self, value: Value) -> bool:
        """Return whether a value is a Python constant, a tuple of such, or an unwritten tensor that such fill."""
        op = value.op
        if op is None or op.name not in ("const", "tuple", "full"):
            return False
        return all(map(self._is_constant, op.operands)) and not (op.name == "full" and self.is_written(value))
