"""The state of the differentiation of one function, and the table of ops that have code of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from scriptc.ir.core import Func, Module, Value
from scriptc.ir.gradients.adjoints import Adjoints
from scriptc.ir.gradients.rules import Derivatives
from scriptc.ir.handlers import handlers
from scriptc.ir.passes import single_exit

REVERSES, reverses = handlers()  # functions of (reversal, level, op) that build the backward code of an op


def fresh_labels(prefix: str) -> Callable[[], str]:
    """Return a function that returns another label at each call."""
    numbers = itertools.count()
    return lambda: f"{prefix}{next(numbers)}"


class Reversal:
    """The differentiation of one function: the gradients of its values, and the derivatives of its ops.

    functions: those of the module, in which a `user_gradient` names its `backward`. label: gives fresh labels to the loops
    of backward code. fetched: the lists of the gradients of tensors that forward code takes out of its arguments, by the lists
    of these tensors (fetched.py).
    """

    def __init__(self, adjoints: Adjoints, derivatives: Derivatives, functions: Mapping[str, Func], label: Callable[[], str]):
        self.adjoints = adjoints
        self.derivatives = derivatives
        self.functions = functions
        self.label = label
        self.fetched: dict[Value, Value] = {}
        self._read: dict[Any, Func] = {}

    def derivative(self, op: str, operand: str, given: dict[str, Any]) -> Func:
        """Return the function that computes the gradient of an operand, left by its last op alone."""
        key = (op, operand, tuple((name, type(value), value) for name, value in given.items()))
        if key not in self._read:
            func = self.derivatives.read(op, operand, given)
            single_exit.run(Module(op, {func.name: func}), {})
            self._read[key] = func
        return self._read[key]
