"""NumPy arrays and scalars from tensors, Python numbers and sequences, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import torch

from scriptc.frontend.environment.host_objects import name_of_numpy_dtype, numpy_dtype, torch_dtype
from scriptc.frontend.library.numpy import arrays_decomposed as arrays
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.scalars import item_of, new_filled
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import exception_name
from scriptc.frontend.values.abstract import AbstractValue, ArrayValue, Known, NumpyScalarValue, TupleValue
from scriptc.frontend.values.predicates import (
    is_array,
    is_complex_number,
    is_known,
    is_numpy_scalar,
    is_of_numpy,
    is_sequence,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.verbs import describe, is_run_time, type_of
from scriptc.ir.dtypes import COMPLEX as COMPLEX_DTYPES
from scriptc.ir.dtypes import FLOATING, INEXACT, INTEGRAL
from scriptc.ir.types import BOOL, COMPLEX, FLOAT, INT, Type

_DTYPES: dict[Type | None, str] = {INT: "i64", FLOAT: "f64", BOOL: "bool", COMPLEX: "c128"}
_NEGATIVE_STRIDE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)


def is_number(av: AbstractValue) -> bool:
    """Return whether a value is a Python number."""
    return is_complex_number(av) or not is_numpy_scalar(av) and type_of(av) in _DTYPES


def number_dtype(av: AbstractValue) -> str:
    """Return the dtype that NumPy gives a Python number in a new array."""
    return _DTYPES[COMPLEX if is_complex_number(av) else type_of(av)]


def dtype_argument(reader: Reader, dtype: AbstractValue) -> str | None:
    """Return the dtype that an argument names; None for None."""
    obj = require_known(reader, dtype, "a dtype")
    if obj is None:
        return None
    try:
        name = name_of_numpy_dtype(obj)
    except TypeError as e:
        reader.emit.raise_error("TypeError", str(e))
    if name is None:
        reader.reject("dtype_of_other", dtype=obj)
    return name


# ---- from tensors and numbers ----


def scalar_of(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return the element of a tensor without dims as a NumPy scalar."""
    return NumpyScalarValue(item_of(reader, tensor), tensor_type(tensor).dtype)


def result_of(reader: Reader, tensor: AbstractValue) -> AbstractValue:
    """Return a result of NumPy: a scalar in place of an array without dims."""
    return ArrayValue(tensor) if tensor_type(tensor).rank else scalar_of(reader, tensor)


def known_scalar(av: AbstractValue) -> Any:
    """Return the Python object of a known number or NumPy scalar; None for other values."""
    if is_numpy_scalar(av):
        return numpy_dtype(av.dtype).type(av.number.obj) if is_known(av.number) else None
    return av.obj if is_known(av) else None


def filled(reader: Reader, size: Sequence[AbstractValue], number: AbstractValue, dtype: str) -> AbstractValue:
    """Return a new tensor that is filled with a Python number, which is cast to the dtype."""
    own = number_dtype(number)
    floats = own == "f64" and dtype in FLOATING or own in ("i64", "bool") and dtype in ("i64", "f64")
    if own == dtype or floats:
        return new_filled(reader, size, number, dtype)
    if own in COMPLEX_DTYPES or dtype in COMPLEX_DTYPES:
        return cast_to(reader, new_filled(reader, size, number, "c128"), dtype)
    return cast_to(reader, new_filled(reader, size, number, own), dtype)


# ---- to tensors ----


def memory_of(reader: Reader, array: ArrayValue) -> AbstractValue:
    """Return the tensor of an array whose memory is viewed or written."""
    if array.flips:
        reader.reject("view_of_reversed_array")
    if array.read_only:
        reader.reject("view_of_read_only_array")
    return array.tensor


def read_array(reader: Reader, array: ArrayValue) -> AbstractValue:
    """Return a tensor with the elements of an array."""
    return apply_op(reader, "flip", array.tensor, dims=array.flips) if array.flips else array.tensor


def tensor_from(reader: Reader, array: ArrayValue) -> AbstractValue:
    """Return `torch.from_numpy(array)`."""
    if array.flips:
        reader.emit.raise_error("ValueError", _NEGATIVE_STRIDE)
    return apply_op(reader, "alias", memory_of(reader, array))


def elements_of(reader: Reader, av: AbstractValue, dtype: str | None = None) -> AbstractValue:
    """Return a tensor with the elements of an array, a number, or a sequence of these, as NumPy's functions take it.

    dtype: the dtype that the program asks for.
    """
    if is_array(av):
        found = read_array(reader, av)
    elif is_numpy_scalar(av):
        found = filled(reader, (), av.number, av.dtype)
    elif is_tensor(av):
        reader.reject("tensor_in_numpy")
    elif is_number(av):
        if number_dtype(av) == "i64" and dtype in INTEGRAL and dtype != "i64":
            reader.call(Known(arrays.check_held), [av, Known(dtype)], {})
        return filled(reader, (), av, dtype or number_dtype(av))
    else:
        found = _elements_of_sequence(reader, av, dtype)
    return found if dtype is None else cast_to(reader, found, dtype)


def element_of(reader: Reader, array: ArrayValue) -> AbstractValue:
    """Return the element of an array without dims, which int() and float() take."""
    if tensor_type(array.tensor).rank:
        message = "only 0-dimensional arrays can be converted to Python scalars"
        reader.emit.raise_error("TypeError", message)
    return item_of(reader, array.tensor)


def common_dtype(dtypes: Sequence[str]) -> str:
    """Return the dtype of a new array of elements of these dtypes."""
    return str(name_of_numpy_dtype(np.result_type(*map(numpy_dtype, dtypes))))


def _elements_of_sequence(reader: Reader, av: AbstractValue, dtype: str | None) -> AbstractValue:
    known = av.obj if is_known(av) else None
    if not (is_sequence(av) or isinstance(known, range) or is_run_time(reader, av)):
        reader.reject("array_of_other", what=describe(av))
    if is_run_time(reader, av) or any(is_sequence(i) and is_run_time(reader, i) for i in reader.iterate(av)):
        wanted = Known(None if dtype is None else torch_dtype(dtype))
        return reader.call(Known(arrays.elements_of_list), [reader.call(Known(list), [av], {}), wanted], {})
    leaves = list(_leaves(reader, av))
    found = dtype or common_dtype([_dtype_of(leaf) for leaf in leaves] or ["f64"])
    if any(is_array(leaf) and tensor_type(leaf.tensor).rank for leaf in leaves):
        rows = TupleValue([elements_of(reader, item, found) for item in reader.iterate(av)])
        return reader.call(Known(arrays.rows_of), [rows], {})
    shape = _shape_of(reader, av)
    if not leaves:
        return new_filled(reader, [Known(n) for n in shape], Known(0), found)
    made = reader.call(Known(torch.stack), [TupleValue([elements_of(reader, leaf, found) for leaf in leaves])], {})
    return reader.call(Known(torch.reshape), [made, Known(tuple(shape))], {}) if len(shape) > 1 else made


def _dtype_of(leaf: AbstractValue) -> str:
    if is_array(leaf):
        return tensor_type(leaf.tensor).dtype
    return leaf.dtype if is_numpy_scalar(leaf) else number_dtype(leaf)


def _is_nested(av: AbstractValue) -> bool:
    return is_sequence(av) or is_known(av) and isinstance(av.obj, range)


def _leaves(reader: Reader, av: AbstractValue) -> Iterator[AbstractValue]:
    """Yield the arrays, scalars and numbers in nested sequences of known length."""
    if _is_nested(av):
        for item in reader.iterate(av):
            yield from _leaves(reader, item)
        return
    if is_tensor(av):
        reader.reject("tensor_in_numpy")
    if not is_array(av) and not is_numpy_scalar(av) and not is_number(av):
        reader.reject("array_of_other", what=describe(av))
    yield av


def _shape_of(reader: Reader, av: AbstractValue) -> list[int]:
    """Return the shape of nested sequences of numbers."""
    if not _is_nested(av):
        return []
    shapes = [_shape_of(reader, item) for item in reader.iterate(av)]
    if any(shape != shapes[0] for shape in shapes):
        _refuse_ragged(reader, [len(shapes)], shapes)
    return [len(shapes), *(shapes[0] if shapes else [])]


def _refuse_ragged(reader: Reader, shape: list[int], shapes: list[list[int]]) -> NoReturn:
    for sizes in zip(*shapes, strict=False):
        if len(set(sizes)) > 1:
            break
        shape = [*shape, sizes[0]]
    text = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    reader.emit.raise_error(
        "ValueError",
        "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
        f"{len(shape)} dimensions. The detected shape was {text} + inhomogeneous part.",
    )


def data_of(reader: Reader, data: AbstractValue) -> AbstractValue | None:
    """Return a tensor of the memory of an array, or with the elements of a NumPy scalar or of a sequence of arrays and
    NumPy scalars; None for other data of torch.tensor."""
    if is_array(data):
        return tensor_from(reader, data)
    if is_numpy_scalar(data):
        return elements_of(reader, data)
    items = reader.iterate(data) if is_sequence(data) and not is_run_time(reader, data) else []
    if not any(map(is_of_numpy, items)):
        return None
    if not all(map(is_of_numpy, items)):
        reader.reject("array_of_other", what="a sequence of NumPy scalars and other values")
    return elements_of(reader, data)


# ---- axes ----


def axis_of(reader: Reader, axis: AbstractValue, rank: int) -> int:
    """Return an axis counted from the front; raise AxisError if there is none."""
    number = require_known(reader, axis, "an axis")
    if not hasattr(number, "__index__"):
        name = type(number).__name__
        reader.emit.raise_error("TypeError", f"'{name}' object cannot be interpreted as an integer")
    if not -rank <= number < rank:
        message = f"axis {number} is out of bounds for array of dimension {rank}"
        reader.emit.raise_error(exception_name(reader, np.exceptions.AxisError), message)
    return int(number) % rank


def axes_of(reader: Reader, axes: AbstractValue, rank: int) -> tuple[int, ...]:
    """Return the axes of a reduction: all for None."""
    known = require_known(reader, axes, "the axes")
    if known is None:
        return tuple(range(rank))
    given = tuple(known) if isinstance(known, (tuple, list)) else (known,)
    if not rank and all(axis in (0, -1) for axis in given):
        return ()
    if not given and rank:
        reader.reject("form_of_call", name="a reduction", why="axis=() is not supported")
    found = tuple(axis_of(reader, Known(axis), rank) for axis in given)
    if len(set(found)) < len(found):
        reader.emit.raise_error("ValueError", "duplicate value in 'axis'")
    return found


def is_inexact(tensor: AbstractValue) -> bool:
    return tensor_type(tensor).dtype in INEXACT
