"""Items of NumPy arrays. Ints, slices, None and `...` make views; arrays, lists and masks pick elements."""

from __future__ import annotations

from collections.abc import Sequence

from scriptc.frontend.library.numpy import arrays_decomposed as arrays
from scriptc.frontend.operations.arrays import elements_of, filled, is_number, memory_of, number_dtype, result_of
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.indexing import index_tensor, indexed, is_integer, put_by_index
from scriptc.frontend.operations.indices import is_slice
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.operations.writes import copy_into
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ArrayValue, Known, TupleValue
from scriptc.frontend.values.predicates import (
    is_known,
    is_made_list,
    is_made_tuple,
    is_numpy_scalar,
    is_plain_tuple,
    is_sequence,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.structure import sequence_items, slice_parts
from scriptc.frontend.values.verbs import as_argument, type_of
from scriptc.ir.dtypes import FLOATING, INTEGRAL
from scriptc.ir.types import BOOL, FLOAT

_NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


def index_array(reader: Reader, array: ArrayValue, index: AbstractValue) -> AbstractValue:
    """Return `array[index]`: a scalar if ints index all dims."""
    parts = _parts(reader, array, index)
    whole = len(parts) == tensor_type(array.tensor).rank and all(map(is_integer, parts))
    copies = whole or any(map(is_tensor, parts))
    memory = array.tensor if copies and not array.flips else memory_of(reader, array)
    tensor, parts, flips = _forward(reader, memory, parts)
    made = index_tensor(reader, tensor, TupleValue(parts))
    return result_of(reader, made) if whole else ArrayValue(made, flips)


def put_into_array(reader: Reader, array: ArrayValue, index: AbstractValue, value: AbstractValue) -> None:
    """Execute `array[index] = value`. The value is cast to the dtype of the array."""
    parts = _parts(reader, array, index)
    tensor, parts, flips = _forward(reader, memory_of(reader, array), parts)
    dtype = tensor_type(tensor).dtype
    source = element_for(reader, value, dtype)
    view, picked = indexed(reader, tensor, TupleValue(parts))
    if flips:
        source = apply_op(reader, "flip", reader.call(Known(arrays.spread), [source, view], {}), dims=flips)
    if picked:
        copy_into(reader, view, put_by_index(reader, view, picked, source, accumulate=False))
    else:
        copy_into(reader, view, reader.call(Known(arrays.spread), [source, view], {}))


def element_for(reader: Reader, value: AbstractValue, dtype: str) -> AbstractValue:
    """Return a value as a tensor of a dtype, as an assignment to an array casts it."""
    if is_tensor(value):
        return cast_to(reader, value, dtype)
    if is_number(value) and number_dtype(value) == "i64" and dtype in INTEGRAL and (is_known(value) or dtype != "i64"):
        check_held(reader, value, dtype)
    return cast_to(reader, elements_of(reader, value), dtype)


def check_held(reader: Reader, number: AbstractValue, dtype: str) -> None:
    """Raise OverflowError for a Python int that a dtype of ints does not hold."""
    reader.call(Known(arrays.check_held), [number, Known(dtype)], {})


def _parts(reader: Reader, array: ArrayValue, index: AbstractValue) -> list[AbstractValue]:
    """Return the parts of an index, with arrays and lists as tensors. Ints beside these are tensors, too."""
    rank = tensor_type(array.tensor).rank
    items = sequence_items(index) if is_plain_tuple(index) or is_known(index) else None
    parts = [_part(reader, part) for part in ([index] if items is None else items)]
    used = sum(_dims_of(part) for part in parts)
    if used > rank:
        message = f"too many indices for array: array is {rank}-dimensional, but {used} were indexed"
        reader.emit.raise_error("IndexError", message)
    picks = any(is_tensor(part) for part in parts)
    dim, made = 0, []
    for part in parts:
        if is_integer(part):
            size = size_av(reader, array.tensor, dim)
            reader.call(Known(arrays.check_index), [part, size, Known(dim)], {})
            part = filled(reader, [Known(1)], part, "i64") if picks else part
        made.append(part)
        dim += rank - used if is_known(part) and part.obj is Ellipsis else _dims_of(part)
    return made


def _part(reader: Reader, part: AbstractValue) -> AbstractValue:
    if is_known(part) and (part.obj is None or part.obj is Ellipsis) or is_slice(part):
        return part
    if is_numpy_scalar(part) and part.dtype != "bool":
        part = as_argument(reader, part)
    if is_integer(part):
        return part
    if type_of(part) == FLOAT or type_of(part) == BOOL and not is_numpy_scalar(part):
        if type_of(part) == BOOL:
            reader.reject("index_of_other", what="a bool")
        reader.emit.raise_error("IndexError", _NO_INDEX)
    tensor = part if is_tensor(part) else elements_of(reader, part)
    t = tensor_type(tensor)
    if t.dtype in FLOATING and not (is_sequence(part) and not _has_items(part)):
        reader.emit.raise_error("IndexError", "arrays used as indices must be of integer (or boolean) type")
    if not t.rank:
        if t.dtype == "bool":
            reader.reject("index_of_other", what="a bool")
        return reader.call(reader.attribute(tensor, "item"), [], {})
    return tensor if t.dtype == "bool" else cast_to(reader, tensor, "i64")


def _has_items(av: AbstractValue) -> bool:
    items = av.items if is_made_list(av) or is_made_tuple(av) else av.obj if is_known(av) else None
    return items is None or len(items) > 0


def _dims_of(part: AbstractValue) -> int:
    """Return the number of dims that a part of an index consumes."""
    if is_tensor(part):
        t = tensor_type(part)
        return t.rank if t.dtype == "bool" else 1
    return 0 if is_known(part) and (part.obj is None or part.obj is Ellipsis) else 1


def _forward(
    reader: Reader, tensor: AbstractValue, parts: Sequence[AbstractValue]
) -> tuple[AbstractValue, list[AbstractValue], tuple[int, ...]]:
    """Return a tensor and the parts of an index without slices that run backward, and the dims of the item that such
    slices reverse."""
    made: list[AbstractValue] = []
    flips: list[int] = []
    source, dim = 0, 0
    left = tensor_type(tensor).rank - sum(map(_dims_of, parts))
    for part in parts:
        if is_slice(part):
            step = slice_parts(part)[2]
            if not is_known(step) and not is_numpy_scalar(step):
                reader.reject("slice_of_array")
            by = 1 if (known := step.obj if is_known(step) else step.number.obj) is None else known  # type: ignore[attr-defined]
            if by == 0:
                reader.emit.raise_error("ValueError", "slice step cannot be zero")
            if by < 0:
                part = _reversed_slice(reader, part, size_av(reader, tensor, source), by)
                flips.append(dim)
        made.append(part)
        step_of_source = left if is_known(part) and part.obj is Ellipsis else _dims_of(part)
        source += step_of_source
        dim += 1 if is_known(part) and part.obj is None else 0 if is_integer(part) else step_of_source
    if flips and any(is_tensor(part) for part in made):
        reader.reject("slice_of_array")
    return tensor, made, tuple(flips)


def _reversed_slice(reader: Reader, part: AbstractValue, size: AbstractValue, step: int) -> AbstractValue:
    """Return the slice of the same elements that runs forward."""
    start, stop, _ = slice_parts(part)
    bounds = reader.call(Known(arrays.forward_bounds), [start, stop, Known(step), size], {})
    return TupleValue([*reader.iterate(bounds), Known(-step)], slice)
