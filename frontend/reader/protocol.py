"""What the modules of the front end ask of the reader: its components, and what each kind of value answers in its own way.

This is the one module that others may import ahead of what it names: it imports types alone.
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
    from scriptc.frontend.reader.iterables import Walk
    from scriptc.frontend.reader.position import Position
    from scriptc.frontend.reader.raised import RaisedExceptions
    from scriptc.frontend.reader.recursion import RecursiveFunctions
    from scriptc.frontend.reader.speculation import Speculation
    from scriptc.frontend.values.abstract import AV, DictV, Kinds, KnownLengthListV, ObjectV
    from scriptc.frontend.values.frame import Frame

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

    # ---- text ----
    def evaluate(self, node: ast.expr) -> AV:
        """Return the value of an expression."""

    def test(self, node: ast.expr) -> AV:
        """Return the truth of an expression."""

    def run(self, stmts: Sequence[ast.stmt]) -> bool:
        """Read statements; return whether control falls through."""

    def reject(self, key: str, /, **details: object) -> NoReturn:
        """Refuse what is being read, by a row of `frontend.rejections`."""

    # ---- paths ----
    def branch(
        self, condition: AV, then: Callable[[], bool], orelse: Callable[[], bool], names: frozenset[str] | None
    ) -> bool:
        """Read two paths of a run-time condition, and join `names` behind them (None: all that change)."""

    def choose(self, condition: AV, then: Callable[[], AV], orelse: Callable[[], AV]) -> AV:
        """Return the value of one of two expressions."""

    # ---- values ----
    def call(self, func: AV, args: Sequence[AV], kwargs: dict[str, AV]) -> AV: ...

    def attribute(self, owner: AV, name: str) -> AV: ...

    def store_attribute(self, owner: AV, name: str, value: AV) -> None: ...

    def subscript(self, owner: AV, index: AV) -> AV: ...

    def store_item(self, owner: AV, index: AV, value: AV) -> None: ...

    def delete_item(self, owner: AV, index: AV) -> None: ...

    def items_of(self, av: DictV | ObjectV | KnownLengthListV) -> dict[Any, AV]: ...

    def truth(self, av: AV) -> AV: ...

    def compare(self, op: str, a: AV, b: AV) -> AV: ...

    def unary(self, node: ast.unaryop, av: AV) -> AV: ...

    def binary(self, op: str, a: AV, b: AV) -> AV: ...

    def inplace(self, op: str, a: AV, b: AV) -> AV: ...

    def iterate(self, av: AV) -> list[AV]: ...

    def iteration(self, av: AV, site: Any) -> Walk: ...
