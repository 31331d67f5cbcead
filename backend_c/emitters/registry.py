"""The table of emitters of a file, which a decorator fills by the names of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scriptc.backend_c.value_leaves import Shape
from scriptc.ir.core import Op

if TYPE_CHECKING:
    from scriptc.backend_c.lower import Lowerer

Emitter = Callable[["Lowerer", Op], Sequence[Shape]]


def emitters() -> tuple[dict[str, Emitter], Callable[[Emitter], Emitter]]:
    table: dict[str, Emitter] = {}

    def register(emitter: Emitter) -> Emitter:
        table[emitter.__name__] = emitter
        return emitter

    return table, register
