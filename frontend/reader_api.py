"""What the op library sees of the reader: the mixins that make it up, without the entry."""

from __future__ import annotations

from scriptc.frontend.expressions import Expressions
from scriptc.frontend.statements import Statements


class Reader(Statements, Expressions):
    """A reader without calls: what handlers of the library use."""


__all__ = ["Reader"]
