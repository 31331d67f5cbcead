"""The interface of the reader to the other modules: its components, and the operations on values of any kind.

This module imports only types, so every module may import it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from scriptc.frontend.environment.environment import Environment
    from scriptc.frontend.environment.slots import OutsideState
    from scriptc.frontend.reader.assumptions import Assumptions
    from scriptc.frontend.reader.diagnostics import Diagnostics
    from scriptc.frontend.reader.emit import Emitter
    from scriptc.frontend.reader.heap import Heap
    from scriptc.frontend.reader.position import Position
    from scriptc.frontend.reader.raised import RaisedExceptions
    from scriptc.frontend.reader.recursion import RecursiveFunctions
    from scriptc.frontend.reader.speculation import Speculation
    from scriptc.frontend.reader.user_gradients import UserGradient
    from scriptc.frontend.values.abstract import AbstractValue, DictValue, Kinds, KnownLengthListValue, ObjectValue
    from scriptc.frontend.values.frame import Frame
    from scriptc.frontend.values.walk import Walk
    from scriptc.ir.core import Value

__all__ = ["Frame", "Reader"]


class Reader(Protocol):
    """One reading of a function: a record of components, and the verbs of the language."""

    assumptions: Assumptions
    diagnostics: Diagnostics
    emit: Emitter
    environment: Environment
    heap: Heap
    kinds: Kinds
    position: Position
    raised: RaisedExceptions
    recursion: RecursiveFunctions
    speculation: Speculation
    state: OutsideState
    user_gradients: list[UserGradient]
    kept_flags: dict[Value, AbstractValue | None]

    # ---- text ----
    def evaluate(self, node: ast.expr) -> AbstractValue:
        """Return the value of an expression."""

    def test(self, node: ast.expr) -> AbstractValue:
        """Return the truth of an expression."""

    def run(self, stmts: Sequence[ast.stmt]) -> bool:
        """Read statements; return whether control falls through."""

    def reject(self, key: str, /, **details: object) -> NoReturn:
        """Reject the current node, by a row of `frontend.rejections`."""

    # ---- paths ----
    def branch(
        self,
        condition: AbstractValue,
        then: Callable[[], bool],
        orelse: Callable[[], bool],
        names: frozenset[str] | None,
    ) -> bool:
        """Read both paths of a run-time condition, and join `names` after them. None joins all names that change."""

    def choose(
        self, condition: AbstractValue, then: Callable[[], AbstractValue], orelse: Callable[[], AbstractValue]
    ) -> AbstractValue:
        """Return the value of one of two expressions."""

    # ---- values ----
    def call(
        self, func: AbstractValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
    ) -> AbstractValue: ...

    def attribute(self, owner: AbstractValue, name: str) -> AbstractValue: ...

    def store_attribute(self, owner: AbstractValue, name: str, value: AbstractValue) -> None: ...

    def subscript(self, owner: AbstractValue, index: AbstractValue) -> AbstractValue: ...

    def store_item(self, owner: AbstractValue, index: AbstractValue, value: AbstractValue) -> None: ...

    def delete_item(self, owner: AbstractValue, index: AbstractValue) -> None: ...

    def items_of(self, av: DictValue | ObjectValue | KnownLengthListValue) -> dict[Any, AbstractValue]: ...

    def truth(self, av: AbstractValue) -> AbstractValue: ...

    def compare(self, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue: ...

    def unary(self, node: ast.unaryop, av: AbstractValue) -> AbstractValue: ...

    def binary(self, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue: ...

    def inplace(self, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue: ...

    def iterate(self, av: AbstractValue) -> list[AbstractValue]: ...

    def iteration(self, av: AbstractValue, site: Any) -> Walk: ...
