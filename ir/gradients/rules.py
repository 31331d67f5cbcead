"""The derivatives of ops, which another layer provides as functions of the tensor IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from scriptc.ir.core import Func, Op, Value
from scriptc.ir.errors import CompileError, Diagnostic


class Derivatives(Protocol):
    """A source of the derivatives of ops with respect to their operands."""

    def parameters(self, op: str, operand: str) -> list[str] | None:
        """Return the names of what the gradient of an operand is computed from, None if the op has none for it."""

    def read(self, op: str, operand: str, arguments: Mapping[str, Any]) -> Func:
        """Return the function that computes the gradient of an operand from `arguments`: IR types, and known values."""


def is_constant(op: Op) -> bool:
    """Return whether the results of an op have zero gradients with respect to all its operands."""
    return op.defn.gradient == ()


def parts_of_call(op: Op) -> tuple[Sequence[Value], Sequence[Value], Sequence[Value]]:
    """Return the operands of a `user_gradient`: the results of the call, its sources, and the values for `backward`."""
    first, second = op.attrs["results"], op.attrs["results"] + op.attrs["sources"]
    return op.operands[:first], op.operands[first:second], op.operands[second:]


def written_by(op: Op) -> list[Value]:
    """Return the tensors of whose gradients those before and those after an op differ, because the op writes to them."""
    if op.name == "user_gradient":
        return [op.operands[i] for i in op.attrs["dirty"]]
    return [op.operands[0]] if "tensor" in op.defn.writes and op.operands else []


def not_differentiable(op: Op, what: str, hint: str = "") -> CompileError:
    """Return the error of an op whose gradient is needed and cannot be computed."""
    return CompileError(Diagnostic(op.loc, f"the gradient of {what} is not supported in compiled code", hint or None))
