"""Lists to which code in any block appends tensors, for the caller of a function."""

from __future__ import annotations

from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Op, Value
from scriptc.ir.gradients.rules import not_differentiable
from scriptc.ir.types import TensorType, Type, list_of


class TensorLists:
    """The lists of one function, one for each dtype and rank. name: the name of their values."""

    def __init__(self, func: Func, name: str):
        self.func = func
        self.name = name
        self._made: dict[tuple[str, int], Value] = {}

    def values(self) -> list[Value]:
        """Return all lists, in the order in which they were made."""
        return list(self._made.values())

    def of(self, t: Type, op: Op) -> Value:
        """Return the list of the tensors of a type, made at the start of the function, which moves the ops behind.

        Raises CompileError at `op` for tensors of unknown rank.
        """
        if not isinstance(t, TensorType) or t.dims is None:
            raise not_differentiable(op, "a tensor whose rank is known only at run time, in a container")
        key = (t.dtype, t.rank)
        if key not in self._made:
            elem = TensorType(t.dtype, (None,) * t.rank)
            builder = Builder(self.func.body, 0)
            self._made[key] = builder.op("list.new", [], op.loc, names=[self.name], types=[list_of(elem)]).result
        return self._made[key]
