"""The errors of one reading."""

from __future__ import annotations

from typing import NoReturn

from scriptc.frontend.reader.errors import UserError
from scriptc.frontend.reader.position import Position
from scriptc.frontend.rejections import rejection
from scriptc.ir.errors import Diagnostic


class Diagnostics:
    """Collect the errors of a reading, each with the user's line."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self.errors: list[Diagnostic] = []
        self.poisoned = False  # a statement is in error, so `errors` is not empty

    def error(self, key: str, /, **details: object) -> UserError:
        """Return the error of a row of `frontend.rejections`, at the current node."""
        return UserError(self.position.loc, *rejection(key, **details))

    def reject(self, key: str, /, **details: object) -> NoReturn:
        """Reject the current node, by a row of `frontend.rejections`."""
        raise self.error(key, **details)

    def report(self, error: UserError) -> None:
        found = Diagnostic(self.position.loc_of(error.node), error.message, error.hint)
        if found not in self.errors:  # a `finally` block is read once for each way out
            self.errors.append(found)
