"""Read the derivative of an op: the Python function of the library becomes a function of the tensor IR."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend import library
from scriptc.frontend.environment import dependencies
from scriptc.frontend.environment.arguments import parameter
from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.library.registry import DERIVATIVES
from scriptc.frontend.operations.materialize import wrap
from scriptc.frontend.reader.assumptions import Assumptions
from scriptc.frontend.reader.errors import Restart
from scriptc.frontend.reader.jumps import leave_with
from scriptc.frontend.reader.reader import EntryReader
from scriptc.frontend.reader.statements import enter
from scriptc.frontend.returns import fill_returns
from scriptc.frontend.source.functions import source_of, statements_of
from scriptc.frontend.values.abstract import AbstractValue, ComplexValue, Known, TupleValue
from scriptc.frontend.values.frame import Frame
from scriptc.ir.core import Func, Module
from scriptc.ir.errors import InternalError
from scriptc.ir.loc import Loc
from scriptc.ir.types import COMPLEX, FLOAT, TupleType, Type

_MAX_READINGS = 20


class LibraryDerivatives:
    """The derivatives that the library holds, as `ir.gradients` asks for them."""

    def __init__(self) -> None:
        library.load()

    def parameters(self, op: str, operand: str) -> list[str] | None:
        """Return the names of what the gradient of an operand is computed from, None if the op has none for it."""
        func = DERIVATIVES.get((op, operand))
        return None if func is None else list(inspect.signature(func).parameters)

    def read(self, op: str, operand: str, arguments: Mapping[str, Any]) -> Func:
        """Return the function that computes the gradient of an operand.

        arguments: for each of `parameters` an IR type, or a Python value that is known.
        """
        return _read(DERIVATIVES[op, operand], arguments)


def _read(func: FunctionType, arguments: Mapping[str, Any]) -> Func:
    assume = Assumptions()
    with dependencies.noted():
        for _ in range(_MAX_READINGS):
            try:
                return _read_once(func, arguments, assume)
            except Restart:
                pass
    raise InternalError(
        f"the derivative {func.__qualname__} is not settled after {_MAX_READINGS} readings",
        Loc(func.__code__.co_filename, func.__code__.co_firstlineno),
    )


def _read_once(func: FunctionType, arguments: Mapping[str, Any], assume: Assumptions) -> Func:
    default = dtype_name(torch.get_default_dtype())
    assert default is not None
    reader = EntryReader(Module(func.__qualname__), assume, default)
    source = source_of(func)
    frame = Frame(source, func, None)
    reader.position.frames.append(frame)
    reader.position.node = source.node
    body = reader.emit.body = reader.emit.builder.block
    for name, given in arguments.items():
        frame.locals[name] = _argument(reader, name, given)
    enter(reader, frame)
    if reader.run(statements_of(source.node)):
        leave_with(reader, Known(None))
    types: list[Type] = []
    if not reader.diagnostics.errors and not reader.speculation.outdated:
        _, types = fill_returns(reader, frame.returns)
    reader.speculation.settle()
    if reader.diagnostics.errors:
        raise InternalError(f"the derivative {func.__qualname__}: {reader.diagnostics.errors[0].message}",
                            reader.diagnostics.errors[0].loc)  # fmt: skip
    return Func(func.__name__, body, types, source.loc(source.node, None))


def _argument(reader: EntryReader, name: str, given: Any) -> AbstractValue:
    if isinstance(given, TupleType):
        return TupleValue([_argument(reader, f"{name}_{i}", t) for i, t in enumerate(given.items)])
    if given == COMPLEX:
        return ComplexValue(*(_argument(reader, f"{name}_{part}", FLOAT) for part in ("real", "imag")))
    if isinstance(given, Type):
        return wrap(reader, parameter(reader, given, name))
    return Known(given)
