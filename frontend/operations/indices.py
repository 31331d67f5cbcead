"""Indices and slices as i64 values."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Bound, Known, RuntimeValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, is_known, is_made_tuple, is_none, tensor_type
from scriptc.frontend.values.structure import slice_parts
from scriptc.frontend.values.verbs import class_name_of, materialize, type_of
from scriptc.ir.core import Value
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.types import BOOL, FLOAT, INT, STR, TensorType

_BEYOND = 2**63 - 1


def single_index(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return the int of a tensor that is an index or a size."""
    refusal = "TypeError", "only integer tensors of a single element can be converted to an index"
    if tensor_type(tensor).dtype in INEXACT:
        reader.emit.raise_error(*refusal)
    count = reader.call(Bound(tensor, "numel"), [], {})
    check_that(reader, reader.compare("Eq", count, Known(1)), *refusal)
    return RuntimeValue(reader.emit.build("item.int", [materialize(reader, tensor)]))


def slice_bounds(reader: Reader, index: AbstractValue) -> list[Any]:
    """Return start, stop and step of a slice of a list. A bound that is None becomes a number beyond the end."""
    parts = slice_parts(index)
    step = Known(1) if is_none(parts[2]) else parts[2]
    back = reader.compare("Lt", step, Known(0))
    ends = (Known(_BEYOND), Known(-_BEYOND - 1))
    found: list[AbstractValue] = []
    for part, (forward, backward) in zip(parts, ((Known(0), ends[0]), ends), strict=False):
        absent = is_none(part)
        pick = reader.choose(back, lambda b=backward: b, lambda f=forward: f) if absent else part  # type: ignore[misc]
        found.append(pick)
    return [integer(reader, b) for b in (*found, step)]


def is_slice(index: AbstractValue) -> bool:
    return (
        is_known(index)
        and isinstance(index.obj, slice)
        or is_made_tuple(index)
        and index.cls is slice
    )


def check_slice(reader: Reader, index: AbstractValue) -> None:
    """Raise the TypeError of Python's sequences, and of tensors, for a slice whose bound is no int."""
    for part in slice_parts(index):
        is_index = part.obj is None or hasattr(part.obj, "__index__") if is_known(part) else type_of(part) not in (FLOAT, STR)
        if not is_index:
            message = "slice indices must be integers or None or have an __index__ method"
            reader.emit.raise_error("TypeError", message)


def has_step(index: AbstractValue) -> bool:
    """Return whether the step of a slice may differ from 1."""
    step = slice_parts(index)[2]
    return not (is_known(step) and step.obj in (None, 1))


def integer(reader: Reader, av: AbstractValue) -> Value:
    """Return the i64 value of an index or size. Integer tensors of one element are accepted, as in eager."""
    if has_alternatives(av):
        av = split(reader, av, lambda a: RuntimeValue(integer(reader, a)))
    value = materialize(reader, av)
    if value.type == INT:
        return value
    if value.type == BOOL:
        return reader.emit.build("bool.to_int", [value])
    if isinstance(value.type, TensorType):
        return materialize(reader, single_index(reader, RuntimeValue(value)))
    reader.emit.raise_error("TypeError", f"'{class_name_of(reader, av)}' object cannot be interpreted as an integer")
