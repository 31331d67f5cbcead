"""Values that are equal in every call if weights are frozen."""

from __future__ import annotations

from scriptc.ir.analysis import function_body, is_written
from scriptc.ir.core import Module, Value


class FrozenWeights:
    """Answer questions about a module, while the uses and writes of its weights do not change."""

    def __init__(self, module: Module):
        self.module = module
        self._derived: dict[Value, bool] = {}

    def is_computed_from_weights(self, value: Value) -> bool:
        """Return whether a value is a weight, or is computed from unwritten weights alone."""
        if value not in self._derived:
            self._derived[value] = self._is_weight(value) or self._is_computed(value)
        return self._derived[value]

    def _is_weight(self, value: Value) -> bool:
        if value.op is None or value.op.name != "param":
            return False
        return not any(is_written(value, func.body) for func in self.module.funcs.values())

    def _is_computed(self, value: Value) -> bool:
        op = value.op
        if op is None or len(op.results) != 1 or not op.has("PURE") or op.defn.reads - {"tensor"}:
            return False
        given = [v for v in op.operands if v.op is None or v.op.name != "const"]
        return bool(given) and all(map(self.is_computed_from_weights, given)) and not is_written(value, function_body(op))
