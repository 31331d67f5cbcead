"""The exceptions that end the reading of a statement, of a path or of the function."""

from __future__ import annotations

import ast

from scriptc.ir.core import Value
from scriptc.ir.loc import Loc


class UserError(Exception):
    """Say that something in the user's program cannot be compiled. The statement around it reports the error."""

    def __init__(self, node: ast.AST | Loc | None, message: str, hint: str | None = None):
        self.node = node
        self.message = message
        self.hint = hint
        super().__init__(message)


class Poisoned(Exception):
    """Leave a statement that uses the value of an expression in error, which was reported already."""


class Terminated(Exception):
    """Leave a path whose last statement always raises at run time, so that code after it is unreachable."""


class NeedsKnown(Exception):
    """Demand a number, or list of numbers, at compile time. If no other reading can know it, `error` is reported."""

    def __init__(self, value: Value, error: UserError):
        self.value = value
        self.error = error
        super().__init__(error.message)


class Restart(Exception):
    """End this reading, so that the function is read again under other assumptions. Only `Speculation` raises this."""


class UnsupportedArgument(TypeError):
    """Refuse an argument of the call, or a value of its state, that cannot be passed to compiled code.

    Every other TypeError in the front end is a fault of scriptc.
    """


class Conflict(Exception):
    """Say that values have no common type or structure. The message describes them."""


class ItemConflict(Conflict):
    """Say that the items of containers have no common type, unless containers may hold values of several kinds."""
