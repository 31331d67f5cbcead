"""What the op library sees of the reader: the mixins that make it up, without the entry."""

from __future__ import annotations

from scriptc.frontend.expressions import Expressions
from scriptc.frontend.statements import Statements
from scriptc.frontend.values import AV


class Reader(Statements, Expressions):
    """A reader without calls: what handlers of the library use."""

    def python_class(self, av: AV) -> type:
        from scriptc.frontend.library.builtin import python_class

        return python_class(self, av)


__all__ = ["Reader"]
