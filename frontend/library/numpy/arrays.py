"""NumPy arrays from tensors and sequences, their conversions, and tensors from arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from scriptc.frontend.environment.gradient_slots import lasting_tensor
from scriptc.frontend.environment.host_objects import name_of_numpy_dtype, numpy_dtype, torch_dtype
from scriptc.frontend.library.numpy import arrays_decomposed as arrays
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch.creation import as_dtype
from scriptc.frontend.operations.arrays import (
    axes_of,
    axis_of,
    common_dtype,
    dtype_argument,
    elements_of,
    filled,
    is_number,
    memory_of,
    number_dtype,
    result_of,
    tensor_from,
)
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.logic import check_that, negated
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.scalars import item_of
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ArrayValue, Bound, Known, NumpyScalarValue, TupleValue
from scriptc.frontend.values.predicates import (
    is_array,
    is_known,
    is_none,
    is_numpy_scalar,
    is_of_numpy,
    is_sequence,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.verbs import as_argument, class_name_of, is_run_time, materialize, type_of
from scriptc.ir.dtypes import INEXACT
from scriptc.ir.types import FLOAT, INT

_NONE, _FALSE = Known(None), Known(False)
_REQUIRES_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."

# ---- what decompositions ask ----


@serves(arrays.tensor_of)
def tensor_of(r: Reader, a: AbstractValue, dtype: AbstractValue = _NONE) -> AbstractValue:
    wanted = require_known(r, dtype, "a dtype")
    return elements_of(r, a, None if wanted is None else as_dtype(r, dtype, ""))


@serves(arrays.memory_of)
def memory_of_array(r: Reader, a: AbstractValue) -> AbstractValue:
    return memory_of(r, a) if is_array(a) else elements_of(r, a)


@serves(arrays.array_of)
def array_of(r: Reader, x: AbstractValue) -> AbstractValue:
    return ArrayValue(x)


@serves(arrays.read_only)
def read_only(r: Reader, x: AbstractValue) -> AbstractValue:
    return ArrayValue(x, read_only=True)


@serves(arrays.result_of)
def result(r: Reader, x: AbstractValue) -> AbstractValue:
    return result_of(r, x)


@serves(arrays.is_of_numpy)
def is_of_numpy_(r: Reader, a: AbstractValue) -> AbstractValue:
    return Known(is_of_numpy(a))


@serves(arrays.is_array)
def is_array_(r: Reader, a: AbstractValue) -> AbstractValue:
    return Known(is_array(a))


@serves(arrays.refuse_form)
def refuse_form(r: Reader, name: AbstractValue, why: AbstractValue) -> AbstractValue:
    r.reject("form_of_call", name=require_known(r, name, "a name"), why=require_known(r, why, "a text"))


@serves(arrays.is_scalar)
def is_scalar(r: Reader, a: AbstractValue) -> AbstractValue:
    return Known(is_numpy_scalar(a) or is_number(a))


@serves(arrays.promoted)
def promoted(r: Reader, *operands: AbstractValue) -> AbstractValue:
    """Return the dtype to which NumPy promotes arrays and numbers. Python numbers adapt to arrays."""
    given: list[Any] = []
    for av in operands:
        if is_number(av):
            given.append({"i64": 0, "f64": 0.0, "bool": np.dtype(bool), "c128": 0j}[number_dtype(av)])
        else:
            given.append(numpy_dtype(tensor_type(elements_of(r, av)).dtype))
    return Known(torch_dtype(str(name_of_numpy_dtype(np.result_type(*given)))))


@serves(arrays.common_of)
def common_of(r: Reader, sequence: AbstractValue, dtype: AbstractValue) -> AbstractValue:
    if not is_none(dtype):
        return dtype_of(r, dtype)
    if is_run_time(r, sequence):
        return _NONE  # the items of a run-time list have one dtype
    given = [asarray(r, av) for av in r.iterate(sequence)]
    return Known(torch_dtype(common_dtype([tensor_type(a.tensor).dtype for a in given if is_array(a)] or ["f64"])))


@serves(arrays.accumulator)
def accumulator(r: Reader, t: AbstractValue, dtype: AbstractValue) -> AbstractValue:
    if not is_none(dtype):
        return dtype_of(r, dtype)
    own = tensor_type(t).dtype
    if own == "u8":
        r.reject("form_of_call", name="a sum of uint8", why="the result is uint64: pass dtype=np.int64")
    return Known(torch_dtype(own if own in INEXACT else "i64"))


@serves(arrays.few_numbers)
def few_numbers(r: Reader, a: AbstractValue) -> AbstractValue:
    if not is_sequence(a) or is_run_time(r, a):
        return _FALSE
    items = r.iterate(a)
    return Known(0 < len(items) < 8 and all(is_number(i) and type_of(i) in (INT, FLOAT) for i in items))


@serves(arrays.axis_of)
def axis_(r: Reader, axis: AbstractValue, rank: AbstractValue) -> AbstractValue:
    return Known(axis_of(r, axis, require_known(r, rank, "a rank")))


@serves(arrays.axes_of)
def axes_(r: Reader, axis: AbstractValue, rank: AbstractValue) -> AbstractValue:
    return Known(axes_of(r, axis, require_known(r, rank, "a rank")))


@serves(arrays.dtype_of)
def dtype_of(r: Reader, dtype: AbstractValue) -> AbstractValue:
    name = dtype_argument(r, dtype)
    return Known(None if name is None else torch_dtype(name))


@serves(arrays.flipped)
def flipped(r: Reader, a: AbstractValue, axes: AbstractValue) -> AbstractValue:
    return ArrayValue(memory_of_array(r, a), tuple(require_known(r, axes, "the axes")))


# ---- between tensors and arrays ----


def array_from_tensor(r: Reader, tensor: AbstractValue) -> ArrayValue:
    """Return `tensor.numpy()`, which shares its memory; raise for a tensor that requires grad."""
    dtype = tensor_type(tensor).dtype
    if dtype == "bf16":
        r.emit.raise_error("TypeError", "Got unsupported ScalarType BFloat16")
    if dtype in INEXACT:
        if (at := lasting_tensor(r, tensor)) is not None and isinstance(at.container, dict):
            requires = r.attribute(tensor, "requires_grad")
        else:
            r.emit.check_detached(materialize(r, tensor), _REQUIRES_GRAD)
            requires = _FALSE
        check_that(r, negated(r, requires), "RuntimeError", _REQUIRES_GRAD)
    return ArrayValue(apply_op(r, "alias", tensor))


@serves("Tensor.numpy", "Tensor.__array__")
def numpy_(r: Reader, self: AbstractValue, *, force: AbstractValue = _FALSE) -> AbstractValue:
    if require_known(r, force, "force"):
        return array_from_tensor(r, apply_op(r, "alias", self))
    return array_from_tensor(r, self)


@serves("torch.from_numpy")
def from_numpy(r: Reader, a: AbstractValue) -> AbstractValue:
    if is_known(a) and isinstance(a.obj, np.ndarray):
        r.reject("array_of_other", what="an array from outside that is read-only or of another dtype")
    if not is_array(a):
        r.emit.raise_error("TypeError", f"expected np.ndarray (got {class_name_of(r, a).rpartition('.')[2]})")
    return tensor_from(r, a)


@serves("numpy.asarray", "numpy.asanyarray")
def asarray(r: Reader, a: AbstractValue, dtype: AbstractValue = _NONE) -> AbstractValue:
    wanted = dtype_argument(r, dtype)
    if is_tensor(a):
        a = array_from_tensor(r, a)
    if is_array(a) and wanted in (None, tensor_type(a.tensor).dtype):
        return a
    return ArrayValue(elements_of(r, tensors_as_arrays(r, a), wanted))


@serves("numpy.ascontiguousarray")
def ascontiguousarray(r: Reader, a: AbstractValue, dtype: AbstractValue = _NONE) -> AbstractValue:
    """Return an array in C order with at least one dim. An array that is one already shares its memory."""
    made = asarray(r, a, dtype)
    tensor = r.call(Bound(memory_of_array(r, made), "contiguous"), [], {})
    return ArrayValue(tensor if tensor_type(tensor).rank else r.call(Bound(tensor, "reshape"), [Known(1)], {}))


@serves("numpy.array")
def array(
    r: Reader, object: AbstractValue, dtype: AbstractValue = _NONE, *, copy: AbstractValue = Known(True),
    ndmin: AbstractValue = Known(0),
) -> AbstractValue:  # fmt: skip
    if require_known(r, ndmin, "ndmin"):
        r.reject("form_of_call", name="numpy.array", why="the argument ndmin is not supported")
    made = asarray(r, object, dtype)
    shares = is_tensor(object) or is_array(object)
    return r.call(r.attribute(made, "copy"), [], {}) if shares and require_known(r, copy, "copy") else made


def tensors_as_arrays(r: Reader, av: AbstractValue) -> AbstractValue:
    """Return a sequence of known length with its tensors as arrays, which NumPy takes."""
    if is_tensor(av):
        return array_from_tensor(r, av)
    if not is_sequence(av) or is_run_time(r, av):
        return av
    items = r.iterate(av)
    return TupleValue([tensors_as_arrays(r, item) for item in items]) if any(map(_may_hold_tensors, items)) else av


def _may_hold_tensors(av: AbstractValue) -> bool:
    return is_tensor(av) or is_sequence(av)


@serves("ndarray.astype")
def astype(r: Reader, self: AbstractValue, dtype: AbstractValue, *, copy: AbstractValue = Known(True)) -> AbstractValue:
    wanted = dtype_argument(r, dtype) or "f64"
    if is_numpy_scalar(self):
        return converted_scalar(r, self.number, wanted)
    tensor = elements_of(r, self)
    if wanted == tensor_type(tensor).dtype:
        return r.call(r.attribute(self, "copy"), [], {}) if require_known(r, copy, "copy") else self
    return ArrayValue(cast_to(r, tensor, wanted))


def converted_scalar(r: Reader, number: AbstractValue, dtype: str) -> AbstractValue:
    """Return a number as a NumPy scalar of a dtype."""
    if is_known(number):
        with np.errstate(all="ignore"):
            try:
                made = numpy_dtype(dtype).type(number.obj) if dtype != "bool" else np.bool_(number.obj)
            except OverflowError as e:
                r.emit.raise_error("OverflowError", str(e))
            except ValueError as e:
                r.emit.raise_error("ValueError", str(e))
        return NumpyScalarValue(Known(made.item()), dtype)
    own = number_dtype(number)
    if own == dtype or (own, dtype) in (("bool", "i64"), ("bool", "f64"), ("i64", "f64"), ("f64", "i64")):
        kind = {"i64": int, "f64": float, "bool": bool}[dtype]
        return NumpyScalarValue(r.call(Known(kind), [number], {}), dtype)
    return NumpyScalarValue(item_of(r, filled(r, (), number, dtype)), dtype)


@serves("ndarray.item")
def item(r: Reader, self: AbstractValue, *index: AbstractValue) -> AbstractValue:
    if is_numpy_scalar(self):
        return self.number
    if index:
        if len(index) == 1 and not is_sequence(index[0]):
            return as_argument(r, r.subscript(r.call(r.attribute(self, "ravel"), [], {}), index[0]))
        return as_argument(r, r.subscript(self, index[0] if len(index) == 1 else TupleValue(list(index))))
    tensor = elements_of(r, self)
    count = r.call(r.attribute(tensor, "numel"), [], {})
    check_that(
        r, r.compare("Eq", count, Known(1)), "ValueError", "can only convert an array of size 1 to a Python scalar"
    )
    return item_of(r, tensor)


@serves("ndarray.squeeze", "numpy.squeeze")
def squeeze(r: Reader, a: AbstractValue, axis: AbstractValue = _NONE) -> AbstractValue:
    """Return a view without dims of size one, which must be known if no axis is given."""
    if is_numpy_scalar(a):
        return a
    tensor = memory_of_array(r, a)
    rank = tensor_type(tensor).rank
    sizes = [size_av(r, tensor, i) for i in range(rank)]
    if is_none(axis):
        dims = tuple(i for i, n in enumerate(sizes) if require_known(r, n, "a size of a NumPy array") == 1)
    else:
        dims = axes_of(r, axis, rank)
    for dim in dims:
        message = "cannot select an axis to squeeze out which has size not equal to one"
        check_that(r, r.compare("Eq", sizes[dim], Known(1)), "ValueError", message)
    for dim in sorted(dims, reverse=True):
        tensor = apply_op(r, "select", tensor, Known(0), dim=dim)
    return ArrayValue(tensor)


def _scalar_class(name: str) -> None:
    @serves(f"numpy.{name}")
    def handler(r: Reader, x: AbstractValue | None = None) -> AbstractValue:
        dtype = str(name_of_numpy_dtype(np.dtype(getattr(np, name))))
        if x is None:
            return converted_scalar(r, Known(0), dtype)
        if is_numpy_scalar(x):
            return converted_scalar(r, x.number, dtype)
        if is_number(x) or is_known(x) and isinstance(x.obj, str):
            return converted_scalar(r, x, dtype)
        return result_of(r, elements_of(r, x, dtype))


for _name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool_"):
    _scalar_class(_name)
