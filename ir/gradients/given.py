"""Let backward code skip what only results contribute to whose gradients are not given.

Each result that takes a gradient gets a gate (gates.py), whose condition is an argument of the backward function.
"""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.ir.analysis import may_be_undefined
from scriptc.ir.builder import Builder
from scriptc.ir.core import Op, Value
from scriptc.ir.gradients.gates import add_gate, remove_gate
from scriptc.ir.gradients.levels import Level
from scriptc.ir.types import BOOL, TensorType


class GivenFlags:
    """The results that have a flag. results: those of the function that take gradients, with those of gates in their place.

    numbers: the numbers among `results` of those that have a flag.
    """

    def __init__(self, last: Op, results: Sequence[Value]):
        self.results = list(results)
        self.numbers: list[int] = []
        self._gates: list[Op] = []
        if len(results) > 1:  # a single gradient is given, or backward does not run
            for i, value in enumerate(results):
                if isinstance(value.type, TensorType) and value.op is not None and not may_be_undefined(value, ()):
                    self.numbers.append(i)
                    self._gates.append(add_gate(Builder.before(last), value, last.loc))
                    self.results[i] = self._gates[-1].result

    def add_arguments(self, level: Level) -> list[Value]:
        """Return the flags as arguments of the backward function, whose outermost level this is."""
        flags = [Value(BOOL, level.builder.block, f"given_{gate.result.name}") for gate in self._gates]
        for gate, flag in zip(self._gates, flags, strict=True):
            level.known[gate.operands[0]] = flag
        return flags

    def makes(self, op: Op) -> bool:
        """Return whether an op tests a flag."""
        return op in self._gates

    def remove(self) -> None:
        """Put the results themselves in the place of the gates in forward code."""
        for gate in self._gates:
            remove_gate(gate)
