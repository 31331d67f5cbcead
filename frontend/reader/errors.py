"""The exceptions by which reading leaves a statement, a path or the whole reading."""

from __future__ import annotations

import ast

from scriptc.ir.core import Value
from scriptc.ir.loc import Loc


class UserError(Exception):
    """Something in the user's program cannot be compiled. Reported by the statement it stands in."""

    def __init__(self, node: ast.AST | Loc | None, message: str, hint: str | None = None):
        self.node = node
        self.message = message
        self.hint = hint
        super().__init__(message)


class Poisoned(Exception):
    """An operand comes from an expression in error: nothing further to say."""


class Terminated(Exception):
    """The statement being read always raises at run time: nothing after it is reached."""


class NeedsKnown(Exception):
    """A number that the program computes is needed at compile time. Loops and the entry may make it known."""

    def __init__(self, value: Value, error: UserError):
        self.value = value
        self.error = error
        super().__init__(error.message)


class Restart(Exception):
    """The function must be read again, under assumptions that were corrected."""


class Conflict(Exception):
    """The values have nothing in common; the message says what they are."""


class ItemConflict(Conflict):
    """Containers whose items have nothing in common, unless containers hold values of several kinds."""
