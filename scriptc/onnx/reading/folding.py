"""Compute operators of small constants of integers or bools, such as the shapes and axes in the bodies of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scriptc.onnx.reading.element_types import of_number
from scriptc.onnx.reading.files import Array
from scriptc.onnx.reading.operation import Operation
from scriptc.onnx.reading.values import Value, constant

MAX_ELEMENTS = 64
DTYPES = ("int64", "int32", "bool")

Parts = Sequence[Any]


def _axes(op: Operation, parts: Parts) -> list[int] | None:
    given = op.attr("axes") if len(parts) < 2 else parts[1].reshape(-1)
    return None if given is None else [int(axis) for axis in given]


def _squeeze(op: Operation, parts: Parts) -> Array:
    axes = _axes(op, parts)
    return np.squeeze(parts[0], None if axes is None else tuple(axes))


def _unsqueeze(op: Operation, parts: Parts) -> Array:
    return np.expand_dims(parts[0], _axes(op, parts) or ())


def _slice(op: Operation, parts: Parts) -> Array:
    if op.version < 10:
        starts, ends, axes, steps = op.need("starts"), op.need("ends"), op.attr("axes"), None
    else:
        starts, ends, axes, steps = (*(p.tolist() for p in parts[1:]), None, None)[:4]
    made = parts[0]
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis, step = i if axes is None else axes[i], 1 if steps is None else steps[i]
        size = made.shape[axis]
        if step > 0:
            picked = range(size)[start:end:step]
        else:
            first = min(start + size if start < 0 else start, size - 1)
            last = max(end + size if end < 0 else end, -1)
            picked = range(first, last, step)
        made = np.take(made, list(picked), axis)
    return made


def _filled(op: Operation, parts: Parts) -> Array:
    fill = op.constant("value")
    if fill is None or fill.dtype not in DTYPES:
        raise ValueError("the value is no integer")
    shape = [int(size) for size in parts[0].reshape(-1)]
    if min(shape, default=0) < 0 or int(np.prod(shape, dtype=object)) > MAX_ELEMENTS:
        raise ValueError("too many elements")
    return np.full(shape, fill.array.reshape(-1)[0])


def _range(op: Operation, parts: Parts) -> Array:
    numbers = range(*(int(part.reshape(-1)[0]) for part in parts))
    if len(numbers) > MAX_ELEMENTS:
        raise ValueError("too many elements")
    return np.array(numbers, dtype=parts[0].dtype)


def _cast(op: Operation, parts: Parts) -> Array:
    dtype = of_number(op.need("to"))
    if dtype not in DTYPES:
        raise ValueError("the result is no integer")
    return parts[0].astype(dtype)


def _quotient(op: Operation, parts: Parts) -> Array:
    a, b = parts
    if (b == 0).any() or a.dtype == bool:
        raise ValueError("there is no quotient")
    return np.where((a < 0) == (b < 0), np.abs(a) // np.abs(b), -(np.abs(a) // np.abs(b)))


def _reshape(op: Operation, parts: Parts) -> Array:
    sizes = [int(size) for size in (parts[1].reshape(-1) if len(parts) > 1 else op.need("shape"))]
    if not op.attr("allowzero", 0):
        sizes = [parts[0].shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return parts[0].reshape(sizes)


def _all(function: Callable[..., Array]) -> Callable[[Operation, Parts], Array]:
    return lambda op, parts: function(*parts)


COMPUTED: dict[str, Callable[[Operation, Parts], Array]] = {
    "Neg": _all(np.negative), "Abs": _all(np.abs), "Not": _all(np.logical_not), "Identity": _all(np.array),
    "Add": _all(np.add), "Sub": _all(np.subtract), "Mul": _all(np.multiply), "Div": _quotient,
    "And": _all(np.logical_and), "Or": _all(np.logical_or), "Equal": _all(np.equal), "Less": _all(np.less),
    "Greater": _all(np.greater), "LessOrEqual": _all(np.less_equal), "GreaterOrEqual": _all(np.greater_equal),
    "Where": _all(np.where), "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Slice": _slice, "Range": _range,
    "ConstantOfShape": _filled, "Cast": _cast, "Reshape": _reshape,
    "Concat": lambda op, parts: np.concatenate(parts, op.attr("axis", 1)),
    "Gather": lambda op, parts: np.take(parts[0], parts[1], op.attr("axis", 0)),
}  # fmt: skip


def folded(op: Operation) -> Value | None:
    """Return the result of an operator of constants as a constant; None if the row of the operator has to write it."""
    compute = COMPUTED.get(op.node.op) if not op.node.domain and op.outputs == 1 and op.count else None
    if compute is None or op.node.attributes.get("broadcast"):
        return None
    for value in op.values:
        if value is None or value.form != "constant" or value.dtype not in DTYPES or np.size(value.array) > MAX_ELEMENTS:
            return None
    try:
        with np.errstate(all="raise"):
            made = np.asarray(compute(op, [np.asarray(value.array) for value in op.values if value is not None]))
    except (ValueError, TypeError, IndexError, ArithmeticError, LookupError):
        return None  # the row raises the error that users see
    if made.size > MAX_ELEMENTS or str(made.dtype) not in DTYPES:
        return None
    return constant(made, str(made.dtype))
