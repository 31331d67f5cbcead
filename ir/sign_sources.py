"""The floats whose comparisons with a number tell the signs of a tensor.

    %c = gt(%x, %zero)
    %s = where(%c, %one, %minus)                 the elements of %s are -1 where not %x > 0, and 1 elsewhere

A chain of pointwise ops that reads a tensor by comparisons with one number alone has one value below the number, one at it, one
above it, and one for NaN, which the interpreter computes.
"""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import Any, NamedTuple

from scriptc.ir.core import Op, Value
from scriptc.ir.ranges import constant
from scriptc.ir.types import TensorType
from scriptc.ir.value_sets import ValueSets

_COMPARISONS = frozenset({"gt", "ge", "lt", "le", "eq", "ne"})
# The values below a bound, at it, above it, and of NaN, for each `how` of ir/ops/signs.py.
_HOW = {(-1, 0, 1, 0): 0, (-1, 1, 1, 1): 1, (-1, -1, 1, 1): 2, (-1, 1, 1, -1): 3, (-1, -1, 1, -1): 4}


class SignSource(NamedTuple):
    """A float32 tensor whose elements, compared with a bound, tell signs. ops: the pointwise ops that compute them."""

    tensor: Value
    how: int
    bound: float
    ops: tuple[Op, ...] = ()


def sign_source(signs: Value, sets: ValueSets) -> SignSource:
    """Return what tells the signs of a tensor of -1, 0 and 1: a tensor that it is computed from, or the signs themselves."""
    found = _Chain(sets).read(signs)
    return found if found is not None and found.tensor.type == signs.type else SignSource(signs, 0, 0.0)


class _Chain:
    def __init__(self, sets: ValueSets):
        self.sets = sets
        self.source: tuple[Value, float] | None = None
        self.values: dict[Value, Any] = {}

    def read(self, signs: Value) -> SignSource | None:
        made = self._value_of(signs)
        if made is None or self.source is None or self.sets.is_written(self.source[0]):
            return None
        how = _HOW.get(tuple(made.tolist()))
        ops = tuple(value.op for value in self.values if isinstance(value.type, TensorType) and value.op is not None)
        return None if how is None else SignSource(self.source[0], how, self.source[1], ops)

    def _value_of(self, value: Value) -> Any:
        """Return the elements below the bound, at it, above it, and for NaN; None if there is no such bound."""
        if value not in self.values:
            self.values[value] = self._computed(value)
        return self.values[value]

    def _computed(self, value: Value) -> Any:
        op = value.op
        if not isinstance(value.type, TensorType):
            return constant(value)
        if op is None or not op.has("ELEMENTWISE") or op.defn.writes or op.results != [value] or self.sets.is_written(value):
            return None
        bound = self._bound(op)
        if bound is not None:
            x = op.operands[0]
            if self.source not in (None, (x, bound)):
                return None
            self.source = (x, bound)
            operands = [self._around(bound), *map(constant, op.operands[1:])]
        else:
            operands = [self._value_of(v) for v in op.operands]
        if any(operand is None for operand in operands):
            return None
        made = self.sets.apply(op, operands)
        return made if made is not None and made.shape == (4,) else None

    def _bound(self, op: Op) -> float | None:
        """Return the number with which an op compares a float32 tensor of many values."""
        x = op.operands[0]
        if not isinstance(x.type, TensorType) or x.type.dtype != "f32" or self.sets.of(x) is not None:
            return None
        if op.name == "sign":
            return 0.0
        number = constant(op.operands[1]) if op.name in _COMPARISONS else None
        if not isinstance(number, (bool, int, float)) or not isfinite(number):
            return None
        bound = self._around(float(number))[1].item()
        return float(bound) if bound == number else None

    def _around(self, bound: float) -> Any:
        torch = self.sets.torch
        at = torch.tensor([bound] * 4, dtype=torch.float32)
        return torch.nextafter(at, torch.tensor([-inf, bound, inf, bound])) + torch.tensor([0.0, 0.0, 0.0, nan])
