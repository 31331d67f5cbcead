"""The exceptions by which reading leaves a statement, a path or the whole reading."""

from __future__ import annotations

import ast

from scriptc.ir.core import Value
from scriptc.ir.loc import Loc


class UserError(Exception):
    """Say that something in the user's program cannot be compiled. The statement it stands in reports the error."""

    def __init__(self, node: ast.AST | Loc | None, message: str, hint: str | None = None):
        self.node = node
        self.message = message
        self.hint = hint
        super().__init__(message)


class Poisoned(Exception):
    """Leave a statement one of whose operands comes from an expression in error, which was reported."""


class Terminated(Exception):
    """Leave a path whose last statement always raises at run time, so that nothing after it is reached."""


class NeedsKnown(Exception):
    """Demand a number, or list of numbers, at compile time. Another reading may know it; `error` is reported where none can."""

    def __init__(self, value: Value, error: UserError):
        self.value = value
        self.error = error
        super().__init__(error.message)


class Restart(Exception):
    """End this reading: the function is read again, under other assumptions. `Speculation` alone raises this."""


class UnsupportedArgument(TypeError):
    """Refuse an argument of the call, or a value of its state, that cannot be passed to compiled code.

    The front end lets no other TypeError pass: those are faults of its own.
    """


class Conflict(Exception):
    """Say that values have nothing in common; the message describes them."""


class ItemConflict(Conflict):
    """Say that the items of containers have nothing in common, unless containers hold values of several kinds."""
