"""The state of the differentiation of one function, and the table of ops that have code of their own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from scriptc.ir.core import Func, Module
from scriptc.ir.gradients.adjoints import Adjoints
from scriptc.ir.gradients.rules import Derivatives
from scriptc.ir.handlers import handlers
from scriptc.ir.passes import single_exit

REVERSES, reverses = handlers()  # functions of (reversal, level, op) that build the backward code of an op


class Reversal:
    """The differentiation of one function: the gradients of its values, and the derivatives of its ops.

    functions: those of the module, in which a `user_gradient` names its `backward`. labels: what the labels of loops in
    backward code begin with.
    """

    def __init__(self, adjoints: Adjoints, derivatives: Derivatives, functions: Mapping[str, Func], labels: str = "G"):
        self.adjoints = adjoints
        self.derivatives = derivatives
        self.functions = functions
        self._prefix = labels
        self._labels = itertools.count()
        self._read: dict[Any, Func] = {}

    def label(self) -> str:
        """Return a fresh label of a loop in backward code."""
        return f"{self._prefix}{next(self._labels)}"

    def derivative(self, op: str, operand: str, given: dict[str, Any]) -> Func:
        """Return the function that computes the gradient of an operand, left by its last op alone."""
        key = (op, operand, tuple((name, type(value), value) for name, value in given.items()))
        if key not in self._read:
            func = self.derivatives.read(op, operand, given)
            single_exit.run(Module(op, {func.name: func}), {})
            self._read[key] = func
        return self._read[key]
