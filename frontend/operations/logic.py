"""Truth values, conversions of numbers, and the errors of unsuitable operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from scriptc.frontend.operations.operator_tables import COMPARE, SYMBOLS
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, OneOf, RuntimeValue
from scriptc.frontend.values.alternatives import is_kind
from scriptc.frontend.values.predicates import is_known
from scriptc.frontend.values.verbs import class_name_of, materialize
from scriptc.ir.core import Value
from scriptc.ir.types import FLOAT, INT


def check_that(reader: Reader, condition: AbstractValue, type: str, message: str) -> None:
    """Raise at run time unless the condition holds."""
    truth = reader.truth(condition)
    if is_known(truth):
        if not truth.obj:
            reader.emit.raise_error(type, message)
        return

    def fails() -> bool:
        reader.emit.raise_error(type, message)

    reader.branch(truth, lambda: True, fails, frozenset())


def is_one_of(reader: Reader, av: OneOf, numbers: Sequence[int]) -> AbstractValue:
    """Return whether a value has one of some kinds, as a condition by which both branches narrow its kinds."""
    others = [n for n in av.alternatives if n not in numbers]
    if not numbers or not others:
        return Known(bool(numbers))
    if len(others) < len(numbers):
        return negated(reader, is_one_of(reader, av, others))
    found = [materialize(reader, is_kind(reader, av, n)) for n in numbers]
    while len(found) > 1:
        found[:2] = [reader.emit.build("bool.or_", found[:2])]
    return RuntimeValue(found[0])


def bad_operands(reader: Reader, op: str, a: AbstractValue, b: AbstractValue) -> NoReturn:
    symbol, left, right = SYMBOLS.get(op, op), class_name_of(reader, a), class_name_of(reader, b)
    if op in COMPARE:
        text = f"'{symbol}' not supported between instances of '{left}' and '{right}'"
    else:
        name = "** or pow()" if op == "Pow" else symbol
        text = f"unsupported operand type(s) for {name}: '{left}' and '{right}'"
    reader.emit.raise_error("TypeError", text)


def to_float(reader: Reader, v: Value) -> Value:
    if v.type == FLOAT:
        return v
    return reader.emit.build("int.to_float" if v.type == INT else "bool.to_float", [v])


def to_int(reader: Reader, v: Value) -> Value:
    return v if v.type == INT else reader.emit.build("bool.to_int", [v])


def logical_and(reader: Reader, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return `a and b` of two bools that were computed without effects."""
    for x, y in ((a, b), (b, a)):
        if is_known(x):
            return y if x.obj else Known(False)
    return RuntimeValue(reader.emit.build("bool.and_", [materialize(reader, a), materialize(reader, b)]))


def negated(reader: Reader, av: AbstractValue) -> AbstractValue:
    return (
        Known(not av.obj)
        if is_known(av)
        else RuntimeValue(reader.emit.build("bool.not", [materialize(reader, av)]))
    )
