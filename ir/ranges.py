"""Constant integers, and counters that are below a length or a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scriptc.ir.core import Op, Value
from scriptc.ir.ops.rules import as_dim
from scriptc.ir.regions import loop_of_counter
from scriptc.ir.types import TensorType

UNKNOWN = object()


def constant(value: Value) -> object:
    """Return the Python value of a constant; UNKNOWN for others."""
    return value.op.attrs["value"] if value.op is not None and value.op.name == "const" else UNKNOWN


def constant_int(value: Value) -> int | None:
    number = constant(value)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def iterations(loop: Op) -> int | None:
    """Return the number of iterations of a loop over constant bounds, if it does not leave early; None for others."""
    bounds = [constant_int(v) for v in loop.operands[:3]] if loop.attrs["counted"] else []
    known = [b for b in bounds if b is not None]
    return len(range(*known)) if len(known) == 3 and known[2] != 0 else None


def upper_bounds(index: Value) -> Iterator[Value]:
    """Return values that `index` is below: its loop's stop, and the operands if that is a minimum.

    The index must count up from 0 or more.
    """
    loop = loop_of_counter(index)
    if loop is None:
        return
    start, stop, step = loop.operands[:3]
    first, stride = constant_int(start), constant_int(step)
    if first is None or first < 0 or stride is None or stride <= 0:
        return
    todo = [stop]
    while todo:
        value = todo.pop()
        yield value
        if value.op is not None and value.op.name == "int.min":
            todo += value.op.operands


def is_below(index: Value, is_length: Callable[[Op], bool]) -> bool:
    """Return whether `index` is in 0..n-1 for the result n of some op for which `is_length` holds."""
    return any(bound.op is not None and is_length(bound.op) for bound in upper_bounds(index))


def in_dim(index: Value, x: Value, dim: int) -> bool:
    """Return whether `index` is valid for a dim of the tensor `x`."""
    assert isinstance(x.type, TensorType)
    if x.type.dims is None:
        return False
    size = x.type.dims[dim]
    number = constant_int(index)
    if number is not None:
        return isinstance(size, int) and -size <= number < size

    def is_size(op: Op) -> bool:
        return op.name == "size" and op.operands[0] is x and op.attrs["dim"] == dim

    def fits(bound: Value) -> bool:
        limit = as_dim(bound)
        if isinstance(limit, int) and isinstance(size, int):
            return limit <= size
        return limit is not None and limit == size

    return is_below(index, is_size) or any(map(fits, upper_bounds(index)))
