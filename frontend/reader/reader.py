"""The reader: its components, and the functions behind its methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from scriptc.frontend import kinds
from scriptc.frontend.environment.environment import Environment
from scriptc.frontend.environment.slots import OutsideState
from scriptc.frontend.environment.watching import grad_mode
from scriptc.frontend.operations import attributes, comparison, operators
from scriptc.frontend.reader import (
    contents,
    exceptions,
    expressions,
    iteration,
    jumps,
    loops,
    managers,
    matching,
    paths,
    statements,
    subscripts,
)
from scriptc.frontend.reader.assumptions import Assumptions
from scriptc.frontend.reader.diagnostics import Diagnostics
from scriptc.frontend.reader.emit import Emitter
from scriptc.frontend.reader.heap import Heap
from scriptc.frontend.reader.position import Position
from scriptc.frontend.reader.raised import RaisedExceptions
from scriptc.frontend.reader.recursion import RecursiveFunctions
from scriptc.frontend.reader.speculation import Speculation
from scriptc.frontend.reader.user_gradients import UserGradient
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, DictValue, Kinds, KnownLengthListValue, ObjectValue
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Module, Value

_KINDS = kinds.KINDS  # imported for the answers that they register
_REGISTERED = (exceptions, jumps, loops, managers, matching)  # imported for the statements that they register


class EntryReader:
    """Read one entry into `module`, based on `assumptions`. `frontend.reader.protocol` describes the methods."""

    def __init__(self, module: Module, assumptions: Assumptions, default_dtype: str, *, ahead: bool = False) -> None:
        self.assumptions = assumptions
        self.position = Position()
        self.diagnostics = Diagnostics(self.position)
        self.emit = Emitter(module, self.position, self.diagnostics, lambda: grad_mode(self))
        self.environment = Environment(default_dtype)
        self.heap = Heap()
        self.kinds = Kinds(assumptions.unions, assumptions.keeps_items)
        self.raised = RaisedExceptions()
        self.recursion = RecursiveFunctions()
        self.speculation = Speculation(assumptions, self.position, self.diagnostics)
        self.state = OutsideState(ahead)
        self.user_gradients: list[UserGradient] = []
        self.kept_flags: dict[Value, AbstractValue | None] = {}  # `requires_grad` of what a `backward` is given

    def evaluate(self, node: ast.expr) -> AbstractValue:
        return expressions.evaluate(self, node)

    def test(self, node: ast.expr) -> AbstractValue:
        return expressions.test(self, node)

    def run(self, stmts: Sequence[ast.stmt]) -> bool:
        return statements.run(self, stmts)

    def reject(self, key: str, /, **details: object) -> NoReturn:
        self.diagnostics.reject(key, **details)

    def branch(
        self,
        condition: AbstractValue,
        then: Callable[[], bool],
        orelse: Callable[[], bool],
        names: frozenset[str] | None,
    ) -> bool:
        return paths.branch(self, condition, then, orelse, names)

    def choose(
        self, condition: AbstractValue, then: Callable[[], AbstractValue], orelse: Callable[[], AbstractValue]
    ) -> AbstractValue:
        return paths.choose(self, condition, then, orelse)

    def call(
        self, func: AbstractValue, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
    ) -> AbstractValue:
        return verbs.call(self, func, args, kwargs)

    def attribute(self, owner: AbstractValue, name: str) -> AbstractValue:
        return attributes.attribute(self, owner, name)

    def store_attribute(self, owner: AbstractValue, name: str, value: AbstractValue) -> None:
        verbs.store_attribute(self, owner, name, value)

    def subscript(self, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
        return subscripts.subscript(self, owner, index)

    def store_item(self, owner: AbstractValue, index: AbstractValue, value: AbstractValue) -> None:
        subscripts.store_item(self, owner, index, value)

    def delete_item(self, owner: AbstractValue, index: AbstractValue) -> None:
        subscripts.delete_item(self, owner, index)

    def items_of(self, av: DictValue | ObjectValue | KnownLengthListValue) -> dict[Any, AbstractValue]:
        return contents.items_of(self, av)

    def truth(self, av: AbstractValue) -> AbstractValue:
        return verbs.truth(self, av)

    def compare(self, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
        return comparison.compare(self, op, a, b)

    def unary(self, node: ast.unaryop, av: AbstractValue) -> AbstractValue:
        return operators.unary(self, node, av)

    def binary(self, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
        return operators.binary(self, op, a, b)

    def inplace(self, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
        return operators.inplace(self, op, a, b)

    def iterate(self, av: AbstractValue) -> list[AbstractValue]:
        return iteration.iterate(self, av)

    def iteration(self, av: AbstractValue, site: Any) -> Walk:
        return iteration.iteration(self, av, site)
