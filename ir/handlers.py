"""Tables of methods by the ops that they handle, filled by a decorator that refuses names without a row.

    PRINTERS, prints = handlers()

    class Printer:
        @prints("const", "undef")
        def constant(self, op: Op) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scriptc.ir.ops import OPS

Method = TypeVar("Method", bound=Callable[..., Any])
Decorator = Callable[..., Callable[[Method], Method]]


def handlers() -> tuple[dict[str, Callable[..., Any]], Decorator[Any]]:
    """Return an empty table, and the decorator that enters a method under the names of ops."""
    table: dict[str, Callable[..., Any]] = {}

    def handles(*names: str) -> Callable[[Method], Method]:
        for name in names:
            if name not in OPS:
                raise ValueError(f"there is no op {name}")
            if name in table:
                raise ValueError(f"two methods handle {name}")

        def enter(method: Method) -> Method:
            table.update(dict.fromkeys(names, method))
            return method

        return enter

    return table, handles
