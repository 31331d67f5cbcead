"""The tables of statements and expressions: the reading function of each class of nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue

EXPRESSIONS: dict[type[ast.expr], Callable[[Reader, Any], AbstractValue]] = {}
STATEMENTS: dict[type[ast.stmt], Callable[[Reader, Any], bool]] = {}
_Reads = TypeVar("_Reads", bound=Callable[..., AbstractValue])
_Runs = TypeVar("_Runs", bound=Callable[..., bool])


def reads(*kinds: type[ast.expr]) -> Callable[[_Reads], _Reads]:
    """Register a function `f(reader, node) -> AbstractValue` for expressions of some classes."""

    def register(function: _Reads) -> _Reads:
        EXPRESSIONS.update(dict.fromkeys(kinds, function))
        return function

    return register


def runs(*kinds: type[ast.stmt]) -> Callable[[_Runs], _Runs]:
    """Register a function `f(reader, node) -> bool` for statements of some classes. It returns whether control falls
    through."""

    def register(function: _Runs) -> _Runs:
        STATEMENTS.update(dict.fromkeys(kinds, function))
        return function

    return register
