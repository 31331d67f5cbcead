"""The table of rows: for an op of the IR, the function that adds its nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scriptc.ir.core import Op, Value
from scriptc.ir.types import ListType, TensorType, Type
from scriptc.onnx.writing.builder import Builder, Unsupported, dtype_of


@dataclass
class Call:
    """One op on its way to ONNX. `operands` holds the names of the leaves of each operand.

    sequence: the type of the sequence, where the row of an op of lists is called for one leaf of the items.
    """

    op: Op
    graph: Builder
    operands: list[tuple[str, ...]]
    sequence: ListType | None = None

    def __getitem__(self, index: int) -> str:
        """Return the name of an operand that is one leaf, "" for None."""
        leaves = self.operands[index]
        return leaves[0] if leaves else ""

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        return self.graph.node(op, *inputs, **attributes)

    def attr(self, name: str) -> Any:
        return self.op.attrs[name]

    def type(self, index: int) -> Type:
        return self.op.operands[index].type

    def rank(self, index: int = 0) -> int:
        """Return the number of dims of an operand."""
        t = self.op.operands[index].type
        if not isinstance(t, TensorType) or t.dims is None:
            raise Unsupported("the number of dims is known only at run time", "give the tensor a known number of dims")
        return len(t.dims)

    @property
    def dtype(self) -> str:
        """Return the element type of the result."""
        return dtype_of(self.op.result.type)

    def in_dtype(self, index: int, dtype: str) -> str:
        """Return an operand in an element type."""
        return self[index] if dtype_of(self.type(index)) == dtype else self.graph.cast(self[index], dtype)

    def common(self, *indices: int) -> list[str]:
        """Return operands in the element type of those that are tensors."""
        types = [self.type(i) for i in indices]
        tensors = [t for t in types if isinstance(t, TensorType)]
        dtype = dtype_of(tensors[0]) if tensors else self.dtype
        return [self.in_dtype(i, dtype) for i in indices]

    def const(self, index: int) -> Any:
        """Return the number that an operand is. Raise Unsupported if it is known only at run time."""
        value: Value = self.op.operands[index]
        if value.op is None or value.op.name != "const":
            raise Unsupported("ONNX needs this number in the model", "write the number as a constant")
        return value.op.attrs["value"]

    def nonzero(self, index: int) -> bool:
        """Return whether an operand is a number that is known not to be zero."""
        value: Value = self.op.operands[index]
        return value.op is not None and value.op.name == "const" and value.op.attrs["value"] != 0


Row = Callable[[Call], "str | tuple[str, ...]"]
ROWS: dict[str, Row] = {}


def row(*names: str) -> Callable[[Row], Row]:
    """Make a function the row of these ops."""

    def add(function: Row) -> Row:
        assert not ROWS.keys() & set(names), f"{names} have rows already"
        ROWS.update(dict.fromkeys(names, function))
        return function

    return add


def simple(names: dict[str, str], *, numbers: bool = False) -> None:
    """Add rows for ops that are one node with the same operands."""
    for name, node in names.items():
        if numbers:
            ROWS[name] = lambda c, node=node: c(node, *(leaves[0] for leaves in c.operands))  # type: ignore[misc]
        else:
            ROWS[name] = lambda c, node=node: c(node, *c.common(*range(len(c.operands))))  # type: ignore[misc]
