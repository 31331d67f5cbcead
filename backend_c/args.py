"""Arguments of C calls, put together in the order of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scriptc.backend_c.literals import c_array, c_const
from scriptc.ir.core import Value
from scriptc.ir.dtypes import C_ENUM
from scriptc.ir.opdef import SchemaArg

REUSE = "{reuse}"  # filled in by ownership: whether the call may take over its first operand


class Args:
    """The arguments of a C call: text with {i} where an operand stands."""

    def __init__(self, *items: str | Value):
        self.parts: list[str] = []
        self.operands: list[Value] = []
        self.add(*items)

    def add(self, *items: str | Value) -> Args:
        self.parts += [self.slot(item) for item in items]
        return self

    def slot(self, item: str | Value) -> str:
        if isinstance(item, str):
            return item
        if item not in self.operands:
            self.operands.append(item)
        return f"{{{self.operands.index(item)}}}"

    def array(self, items: Sequence[str | Value], ctype: str = "const int64_t") -> Args:
        return self.add(c_array([self.slot(i) for i in items], ctype))

    @property
    def text(self) -> str:
        return ", ".join(self.parts)


def attr_arg(args: Args, arg: SchemaArg, value: Any) -> None:
    if arg.is_list:
        args.array([c_const(v) for v in value])
        if arg.size is None:
            args.add(str(len(value)))
    elif arg.type == "ScalarType":
        args.add(C_ENUM[value])
    else:
        args.add("0" if value is None else c_const(value))
