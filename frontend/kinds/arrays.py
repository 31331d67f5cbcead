"""NumPy arrays and scalars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scriptc.frontend.environment.host_objects import numpy_dtype
from scriptc.frontend.environment.results import array_maker, result_tree, scalar_maker
from scriptc.frontend.environment.specs import Spec, TupleSpec
from scriptc.frontend.library.numpy import arrays_decomposed as arrays
from scriptc.frontend.library.numpy.ufuncs import call_ufunc, inplace_ufunc, numpy_operator
from scriptc.frontend.operations.array_indexing import index_array, put_into_array
from scriptc.frontend.operations.arrays import elements_of, memory_of, read_array, result_of
from scriptc.frontend.operations.attributes import class_itself
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.sizes import shape_of_tensor, size_of
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import counted_items, unpacked_items
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ArrayValue,
    Bound,
    Known,
    NumpyScalarValue,
    Structure,
    TupleValue,
)
from scriptc.frontend.values.predicates import tensor_type
from scriptc.frontend.values.verbs import kind_of, materialize
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.dtypes import INEXACT, SIZES
from scriptc.ir.types import Type

_UNARY = {"USub": np.negative, "UAdd": np.positive, "Invert": np.invert}

# ---- arrays ----


@verbs.describe.of(ArrayValue)
def array_description(owner: ArrayValue) -> str:
    return "a NumPy array"


@verbs.structure_of.of(ArrayValue)
def structure_of_array(owner: ArrayValue) -> Structure:
    key = ("array", kind_of(owner.tensor), owner.flips, owner.read_only)
    return Structure(key, [owner.tensor], lambda parts: ArrayValue(parts[0], owner.flips, owner.read_only))


@verbs.held_values.of(ArrayValue)
def held_by_array(owner: ArrayValue) -> Sequence[AbstractValue]:
    return [owner.tensor]


@verbs.boxed.of(ArrayValue)
def boxed_array(owner: ArrayValue) -> tuple[Any, AbstractValue]:
    return array_maker(owner.flips, owner.read_only), owner.tensor


@verbs.result_of.of(ArrayValue)
def array_result(owner: ArrayValue) -> tuple[Spec, list[AbstractValue]]:
    return result_tree([owner.tensor], lambda specs: TupleSpec(specs, array_maker(owner.flips, owner.read_only)))


@verbs.python_class.of(ArrayValue)
def class_of_array(reader: Reader, owner: ArrayValue) -> type:
    return np.ndarray


@verbs.class_name_of.of(ArrayValue)
def class_name_of_array(reader: Reader, owner: ArrayValue) -> str:
    return "numpy.ndarray"


@verbs.attribute.of(ArrayValue)
def read_array_attribute(reader: Reader, owner: ArrayValue, name: str) -> AbstractValue:
    t = tensor_type(owner.tensor)
    match name:
        case "__class__":
            return class_itself(reader, owner)
        case "shape":
            return TupleValue(reader.iterate(shape_of_tensor(reader, owner.tensor)))
        case "ndim":
            return Known(t.rank)
        case "dtype":
            return Known(numpy_dtype(t.dtype))
        case "itemsize":
            return Known(SIZES[t.dtype])
        case "size":
            return reader.call(Bound(owner.tensor, "numel"), [], {})
        case "nbytes":
            return reader.binary("Mult", read_array_attribute(reader, owner, "size"), Known(SIZES[t.dtype]))
        case "T":
            dims = tuple(reversed(range(t.rank)))
            return ArrayValue(apply_op(reader, "permute", memory_of(reader, owner), dims=dims))
        case "real" if t.dtype not in ("c64", "c128"):
            return owner
    if not hasattr(np.ndarray, name):
        reader.emit.raise_error("AttributeError", f"'numpy.ndarray' object has no attribute '{name}'")
    if not callable(getattr(np.ndarray, name)):
        reader.reject("attribute_of_array", name=name, what=array_description(owner))
    return Bound(owner, name)


@verbs.item.of(ArrayValue)
def array_item(reader: Reader, owner: ArrayValue, index: AbstractValue) -> AbstractValue:
    return index_array(reader, owner, index)


@verbs.store_item.of(ArrayValue)
def store_array_item(reader: Reader, owner: ArrayValue, index: AbstractValue, value: AbstractValue) -> None:
    put_into_array(reader, owner, index, value)


@verbs.truth.of(ArrayValue)
def array_truth(reader: Reader, owner: ArrayValue) -> AbstractValue:
    tensor = read_array(reader, owner)
    reader.call(Known(arrays.check_one_truth), [tensor], {})
    return reader.truth(tensor)


@verbs.length.of(ArrayValue)
def array_length(reader: Reader, owner: ArrayValue) -> AbstractValue:
    if not tensor_type(owner.tensor).rank:
        reader.emit.raise_error("TypeError", "len() of unsized object")
    return verbs.length(reader, owner.tensor)


@verbs.unary.of(ArrayValue, NumpyScalarValue)
def numpy_unary(reader: Reader, owner: AbstractValue, name: str) -> AbstractValue:
    return call_ufunc(reader, _UNARY[name], [owner])


@verbs.operator_of.of(ArrayValue, NumpyScalarValue)
def operator_of_numpy(
    reader: Reader, owner: AbstractValue, op: str, a: AbstractValue, b: AbstractValue
) -> AbstractValue | None:
    return numpy_operator(reader, op, a, b)


@verbs.inplace_of.of(ArrayValue)
def inplace_of_array(reader: Reader, owner: ArrayValue, op: str, value: AbstractValue) -> AbstractValue:
    return inplace_ufunc(reader, op, owner, value)


@contains.of(ArrayValue)
def array_contains(reader: Reader, owner: ArrayValue, item: AbstractValue) -> AbstractValue:
    return reader.truth(reader.call(Known(arrays.is_in), [owner, item], {}))


@verbs.is_walked.of(NumpyScalarValue)
def is_scalar_walked(owner: NumpyScalarValue) -> bool:
    return False


@verbs.is_run_time.of(ArrayValue)
def is_array_run_time(reader: Reader, owner: ArrayValue) -> bool:
    return verbs.is_run_time(reader, owner.tensor)


@verbs.walk.of(ArrayValue)
def walk_array(reader: Reader, owner: ArrayValue, site: Any) -> Walk:
    if not tensor_type(owner.tensor).rank:
        reader.emit.raise_error("TypeError", "iteration over a 0-d array")
    walked = verbs.walk(reader, memory_of(reader, owner), site)
    if walked.items is not None:
        return Walk(items=[result_of(reader, row) for row in walked.items])
    row_at = walked.item
    assert row_at is not None
    return Walk(count=walked.count, item=lambda i: result_of(reader, row_at(i)))


@unpacked_items.of(ArrayValue)
def unpack_array(reader: Reader, owner: ArrayValue, count: int | None) -> list[AbstractValue]:
    if count is None:
        return reader.iterate(owner)
    return counted_items(reader, owner, size_of(reader, owner.tensor, 0), count)


# ---- scalars ----


@verbs.describe.of(NumpyScalarValue)
def scalar_description(owner: NumpyScalarValue) -> str:
    return f"a NumPy {numpy_dtype(owner.dtype).type.__name__}"


@verbs.structure_of.of(NumpyScalarValue)
def structure_of_scalar(owner: NumpyScalarValue) -> Structure:
    key = ("NumPy scalar", owner.dtype)
    return Structure(key, [owner.number], lambda parts: NumpyScalarValue(parts[0], owner.dtype))


@verbs.held_values.of(NumpyScalarValue)
def held_by_scalar(owner: NumpyScalarValue) -> Sequence[AbstractValue]:
    return ()


@verbs.boxed.of(NumpyScalarValue)
def boxed_scalar(owner: NumpyScalarValue) -> tuple[Any, AbstractValue]:
    return scalar_maker(owner.dtype), owner.number


@verbs.result_of.of(NumpyScalarValue)
def scalar_result(owner: NumpyScalarValue) -> tuple[Spec, list[AbstractValue]]:
    return result_tree([owner.number], lambda specs: TupleSpec(specs, scalar_maker(owner.dtype)))


@verbs.python_class.of(NumpyScalarValue)
def class_of_scalar(reader: Reader, owner: NumpyScalarValue) -> type:
    return numpy_dtype(owner.dtype).type


@verbs.class_name_of.of(NumpyScalarValue)
def class_name_of_scalar(reader: Reader, owner: NumpyScalarValue) -> str:
    return f"numpy.{numpy_dtype(owner.dtype).type.__name__}"


@verbs.type_of.of(NumpyScalarValue)
def type_of_scalar(owner: NumpyScalarValue) -> Type | None:
    return verbs.type_of(owner.number)


@verbs.materialize.of(NumpyScalarValue)
def materialize_scalar(reader: Reader, owner: NumpyScalarValue) -> Value:
    return materialize(reader, owner.number)


@verbs.as_argument.of(NumpyScalarValue)
def number_of_scalar(reader: Reader, owner: NumpyScalarValue) -> AbstractValue:
    return owner.number


@require_known.of(NumpyScalarValue)
def object_of_scalar(reader: Reader, owner: NumpyScalarValue, what: str) -> Any:
    return require_known(reader, owner.number, what)


@verbs.truth.of(NumpyScalarValue)
def scalar_truth(reader: Reader, owner: NumpyScalarValue) -> AbstractValue:
    return reader.truth(owner.number)


@verbs.attribute.of(NumpyScalarValue)
def read_scalar_attribute(reader: Reader, owner: NumpyScalarValue, name: str) -> AbstractValue:
    match name:
        case "__class__":
            return class_itself(reader, owner)
        case "shape":
            return Known(())
        case "ndim":
            return Known(0)
        case "size":
            return Known(1)
        case "dtype":
            return Known(numpy_dtype(owner.dtype))
        case "T" | "real":
            return owner
        case "item" | "tolist" | "astype" | "copy" | "squeeze":
            return Bound(owner, name)
    if not hasattr(numpy_dtype(owner.dtype).type, name):
        own = class_name_of_scalar(reader, owner)
        reader.emit.raise_error("AttributeError", f"'{own}' object has no attribute '{name}'")
    if not callable(getattr(numpy_dtype(owner.dtype).type, name)):
        reader.reject("attribute_of_array", name=name, what=scalar_description(owner))
    return Bound(ArrayValue(elements_of(reader, owner)), name)


@verbs.text_parts.of(NumpyScalarValue)
def scalar_text(reader: Reader, owner: NumpyScalarValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    if owner.dtype in INEXACT and owner.dtype != "f64":
        reader.reject("text_of_other", what=scalar_description(owner))
    if not quoted:
        yield from verbs.text_parts(reader, owner.number)
    elif owner.dtype == "bool":
        yield reader.choose(reader.truth(owner), lambda: Known("np.True_"), lambda: Known("np.False_"))
    else:
        yield Known(f"np.{numpy_dtype(owner.dtype).type.__name__}(")
        yield from verbs.text_parts(reader, owner.number)
        yield Known(")")
