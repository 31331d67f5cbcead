"""The integers that all elements of a tensor lie between, as far as dtypes and ops tell.

`x.to(torch.float32) - zero` lies between -255 and 255 if x and zero are uint8. Elements that may be fractions, NaN or infinite
have no range, and neither have integers that their dtype may round. Integers that may wrap have the range of their dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scriptc.ir.analysis import Origins, may_write, writers
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.element_sources import element_sources
from scriptc.ir.ranges import constant
from scriptc.ir.types import TensorType


@dataclass(frozen=True)
class IntegerRange:
    low: int
    high: int

    @property
    def most(self) -> int:
        """Return the largest magnitude."""
        return max(-self.low, self.high)

    def joined(self, other: IntegerRange) -> IntegerRange:
        return IntegerRange(min(self.low, other.low), max(self.high, other.high))


def _signed(bits: int) -> IntegerRange:
    return IntegerRange(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _magnitudes(bits: int) -> IntegerRange:
    return IntegerRange(-(1 << bits), 1 << bits)


_WHOLE = {
    "bool": IntegerRange(0, 1), "u8": IntegerRange(0, 255), "i8": _signed(8), "i16": _signed(16), "i32": _signed(32),
    "i64": _signed(64),
}  # fmt: skip
# All integers between these are elements of a dtype.
_EXACT = _WHOLE | {"f64": _magnitudes(53), "f32": _magnitudes(24), "f16": _magnitudes(11), "bf16": _magnitudes(8)}


class IntegerRanges:
    """Answer where the elements of tensors lie, while the ops of a module do not change."""

    def __init__(self, module: Module):
        self._writers = [op for func in module.funcs.values() for op in writers(func.body) if op.name != "call"]
        self._origins = Origins()
        self._found: dict[Value, IntegerRange | None] = {}

    def of(self, value: Value) -> IntegerRange | None:
        if value not in self._found:
            self._found[value] = None  # of a value that depends on itself
            self._found[value] = self._of(value)
        return self._found[value]

    def _of(self, value: Value) -> IntegerRange | None:
        t = value.type
        if not isinstance(t, TensorType):
            number = constant(value)
            if isinstance(number, int) or (isinstance(number, float) and number.is_integer()):
                return IntegerRange(int(number), int(number))
            return None
        found = self._with_writes(value, self._of_op(value.op, value)) if value.op is not None else None
        exact = _EXACT.get(t.dtype)
        fits = found is not None and exact is not None and exact.low <= found.low and found.high <= exact.high
        return found if fits else _WHOLE.get(t.dtype)

    def _with_writes(self, value: Value, made: IntegerRange | None) -> IntegerRange | None:
        """Return where elements lie that were in a range until writes put others there."""
        for writer in self._writers:
            if made is not None and may_write(writer, value, self._origins):
                put = self.of(writer.operands[1]) if writer.name == "copy_" else None
                made = made.joined(put) if put is not None else None
        return made

    def _of_op(self, op: Op, value: Value) -> IntegerRange | None:
        match op.name:
            case "cast":
                return self.of(op.operands[0]) if isinstance(op.operands[0].type, TensorType) else None
            case "full":
                return self.of(op.operands[1])
            case "where":
                return self._joined(op.operands[1:])
        if op.name in _OF_ONE:
            given = self.of(op.operands[0])
            return None if given is None else _OF_ONE[op.name](given)
        if op.name in _OF_TWO:
            first, second = map(self.of, op.operands)
            return None if first is None or second is None else _OF_TWO[op.name](first, second)
        sources = element_sources(op, value)
        return None if sources is None else self._joined(sources)

    def _joined(self, values: Iterable[Value]) -> IntegerRange | None:
        found: IntegerRange | None = None
        for value in values:
            one = self.of(value)
            if one is None:
                return None
            found = one if found is None else found.joined(one)
        return found


def _product(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return IntegerRange(min(corners), max(corners))


def _most(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    return IntegerRange(max(a.low, b.low), max(a.high, b.high))


def _least(a: IntegerRange, b: IntegerRange) -> IntegerRange:
    return IntegerRange(min(a.low, b.low), min(a.high, b.high))


# The range of the result of a pointwise op, from those of its operands.
_OF_ONE: dict[str, Callable[[IntegerRange], IntegerRange]] = {
    "neg": lambda a: IntegerRange(-a.high, -a.low),
    "relu": lambda a: _most(a, IntegerRange(0, 0)),
}
_OF_TWO: dict[str, Callable[[IntegerRange, IntegerRange], IntegerRange]] = {
    "add": lambda a, b: IntegerRange(a.low + b.low, a.high + b.high),
    "sub": lambda a, b: IntegerRange(a.low - b.high, a.high - b.low),
    "mul": _product, "maximum": _most, "clamp.min": _most, "minimum": _least, "clamp.max": _least,
}  # fmt: skip
