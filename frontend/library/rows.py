"""Rows that need no code: the elementwise ones, served under the torch names that they list."""

from __future__ import annotations

from scriptc.frontend.library import FUNCTIONS, serves
from scriptc.frontend.operators import Operators
from scriptc.frontend.values import AV
from scriptc.ir.opdef import OpDef
from scriptc.ir.ops import OPS


def _unary(name: str):  # type: ignore[no-untyped-def]
    def handler(r: Operators, input: AV) -> AV:
        return r.elementwise(name, input)

    return handler


def _binary(name: str):  # type: ignore[no-untyped-def]
    def handler(r: Operators, input: AV, other: AV) -> AV:
        return r.elementwise(name, input, other)

    return handler


def _direct(row: OpDef):  # type: ignore[no-untyped-def]
    """A row all of whose arguments are operands without defaults."""

    def handler(r: Operators, *operands: AV) -> AV:
        return r.op(row.name, *operands)

    return handler


def register() -> None:
    for row in OPS.values():
        if not row.torch:
            continue
        if "ELEMENTWISE" in row.traits:
            handler = (_unary, _binary)[len(row.operand_args) - 1](row.name)
        elif not row.attr_args:
            handler = _direct(row)
        else:
            raise ValueError(f"row {row.name} names torch functions but has attributes: it needs a handler")
        serves(*row.torch)(handler)
    assert FUNCTIONS
