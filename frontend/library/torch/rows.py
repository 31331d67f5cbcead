"""Rows of the IR that need no code of their own, served under the torch names that they list."""

from __future__ import annotations

from scriptc.frontend.library.registry import FUNCTIONS, serves
from scriptc.frontend.operations.elementwise import elementwise
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.ir.opdef import OpDef
from scriptc.ir.ops import OPS


def _elementwise(row: OpDef):  # type: ignore[no-untyped-def]
    count = len(row.operand_args)

    def unary(r: Reader, input: AbstractValue) -> AbstractValue:
        return elementwise(r, row.name, input)

    def binary(r: Reader, input: AbstractValue, other: AbstractValue) -> AbstractValue:
        return elementwise(r, row.name, input, other)

    return (unary, binary)[count - 1]


def _direct(row: OpDef):  # type: ignore[no-untyped-def]
    """Return the handler of a row all of whose arguments are operands without defaults."""

    def handler(r: Reader, *operands: AbstractValue) -> AbstractValue:
        return apply_op(r, row.name, *operands)

    return handler


def register() -> None:
    for row in OPS.values():
        if not row.torch:
            continue
        if "ELEMENTWISE" in row.traits:
            handler = _elementwise(row)
        elif not row.attr_args:
            handler = _direct(row)
        else:
            raise ValueError(f"row {row.name} names torch functions but has attributes: it needs a handler")
        serves(*row.torch)(handler)
    assert FUNCTIONS
