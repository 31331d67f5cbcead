"""The few numbers that all elements of a tensor are among, such as -1 and 1.

A pointwise op of tensors with few values has few values, which the interpreter computes: `(x > 0).float() * 2 - 1` is -1 or 1.
Ops that move elements, such as views, keep them.
"""

from __future__ import annotations

from itertools import product
from math import copysign, isnan
from typing import Any

from scriptc.ir.analysis import Origins, may_write, writers
from scriptc.ir.core import Module, Op, Value
from scriptc.ir.dtypes import TORCH_NAMES
from scriptc.ir.element_sources import element_sources
from scriptc.ir.interp import Interpreter
from scriptc.ir.ranges import constant
from scriptc.ir.types import TensorType

MOST_VALUES = 8  # of a tensor that is followed
MOST_CASES = 64  # of operands that are tried
SIGNS = frozenset({-1.0, 1.0})
TERNARY = SIGNS | {0.0}
_SIGN_OF = {"sign": (-1.0, 0.0, 1.0)}  # ops with few values whatever their operands are; sign(NaN) is 0

Values = frozenset[float]


def _key(number: float) -> tuple[Any, float]:
    return ("nan", 0.0) if isnan(number) else (number, copysign(1.0, number))


def _distinct(numbers: list[float]) -> list[float]:
    """Return numbers once each. A zero and the other zero are two, and NaN is one."""
    return list({_key(number): number for number in numbers}.values())


class ValueSets:
    """Answer which numbers the elements of tensors are, while the ops of a module do not change."""

    def __init__(self, module: Module):
        self._writers = [op for func in module.funcs.values() for op in writers(func.body) if op.name != "call"]
        self._origins = Origins()
        self._interpreter: Interpreter | None = None
        self._module = module
        self._found: dict[Value, list[float] | None] = {}

    def of(self, value: Value) -> Values | None:
        """Return the numbers that the elements of a tensor are among; None if they are many, or NaN is among them.

        Both zeros are 0.
        """
        found = self._numbers(value)
        if found is None or any(map(isnan, found)):
            return None
        return frozenset(number + 0.0 for number in found)

    def is_signs(self, value: Value) -> bool:
        """Return whether all elements are -1, 0 or 1."""
        found = self.of(value)
        return found is not None and found <= TERNARY

    def is_written(self, value: Value) -> bool:
        return any(may_write(writer, value, self._origins) for writer in self._writers)

    @property
    def torch(self) -> Any:
        if self._interpreter is None:
            self._interpreter = Interpreter(self._module)
        return self._interpreter.torch

    def apply(self, op: Op, operands: list[Any]) -> Any:
        """Return the tensor that a pointwise op computes of these operands; None if it cannot."""
        torch = self.torch
        assert self._interpreter is not None
        try:
            made = self._interpreter.apply(op.name, operands, op.attrs)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return None
        return made if isinstance(made, torch.Tensor) and not made.is_complex() else None

    def _numbers(self, value: Value) -> list[float] | None:
        if value not in self._found:
            self._found[value] = None  # of a value that depends on itself
            self._found[value] = self._unwritten(value)
        return self._found[value]

    def _unwritten(self, value: Value) -> list[float] | None:
        if not isinstance(value.type, TensorType):
            number = constant(value)
            return [float(number)] if isinstance(number, (bool, int, float)) else None
        found = self._of_tensor(value)
        return None if found is None or self.is_written(value) else found

    def _of_tensor(self, value: Value) -> list[float] | None:
        op, t = value.op, value.type
        assert isinstance(t, TensorType)
        found = self._of_op(op, value) if op is not None else None
        return [0.0, 1.0] if found is None and t.dtype == "bool" else found

    def _of_op(self, op: Op, value: Value) -> list[float] | None:
        if op.name in _SIGN_OF:
            given = self._numbers(op.operands[0])
            return list(_SIGN_OF[op.name]) if given is None else self._computed(op)
        if op.has("ELEMENTWISE"):
            return self._computed(op)
        if op.name == "full":
            return self._numbers(op.operands[1])
        sources = element_sources(op, value)
        return None if sources is None else self._joined(sources)

    def _joined(self, values: list[Value]) -> list[float] | None:
        found: list[float] = []
        for value in values:
            numbers = self._numbers(value)
            if numbers is None:
                return None
            found += numbers
        found = _distinct(found)
        return found if 0 < len(found) <= MOST_VALUES else None

    def _computed(self, op: Op) -> list[float] | None:
        """Return the results of a pointwise op for all numbers that its operands may be."""
        if op.results[0].op is not op or len(op.results) != 1 or op.defn.writes:
            return None
        given = [self._numbers(v) for v in op.operands]
        cases = 1
        for numbers in given:
            if not numbers:
                return None
            cases *= len(numbers)
        if cases > MOST_CASES:
            return None
        rows = list(product(*(numbers for numbers in given if numbers is not None)))
        return self._run(op, rows)

    def _run(self, op: Op, rows: list[tuple[float, ...]]) -> list[float] | None:
        torch = self.torch
        operands: list[Any] = []
        for i, v in enumerate(op.operands):
            if isinstance(v.type, TensorType):
                dtype = getattr(torch, TORCH_NAMES[v.type.dtype])
                if dtype.is_complex:
                    return None
                operands.append(torch.tensor([row[i] for row in rows], dtype=torch.float64).to(dtype))
            else:
                operands.append(constant(v))
        made = self.apply(op, operands)
        if made is None:
            return None
        found = _distinct([float(x) for x in made.to(torch.float64).reshape(-1).tolist()])
        return found if len(found) <= MOST_VALUES else None

