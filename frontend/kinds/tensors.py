"""Tensors that compiled code computes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import torch

from scriptc.frontend.environment.gradient_slots import set_gradient
from scriptc.frontend.environment.results import leaf_maker
from scriptc.frontend.environment.specs import Spec, TensorSpec, TupleSpec
from scriptc.frontend.environment.state import stays_parameter
from scriptc.frontend.environment.tensor_data import assign_data
from scriptc.frontend.operations.attributes import class_itself, patched_method, replaced_operator, tensor_attribute
from scriptc.frontend.operations.autograd_flags import assign_requires_grad, known_flag
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.elementwise import elementwise
from scriptc.frontend.operations.formatting import tensor_text
from scriptc.frontend.operations.indexing import index_tensor, indexed, put_by_index
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.sizes import size_av, size_of
from scriptc.frontend.operations.special_methods import METHODS
from scriptc.frontend.operations.writes import check_number, check_placed, copy_into, spread_into
from scriptc.frontend.reader.iterables import checked_iterable, is_short
from scriptc.frontend.reader.iteration import row_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import counted_items, unpacked_items
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, is_array, is_known, tensor_type
from scriptc.frontend.values.verbs import as_argument, describe
from scriptc.frontend.values.walk import Walk
from scriptc.ir.dtypes import INEXACT, SCALAR_TYPES
from scriptc.ir.types import TensorType


@verbs.kind_of.of(TensorType)
def tensor_kind(owner: RuntimeValue) -> Hashable:
    t = tensor_type(owner)
    return "tensor", t.dtype, t.rank


@verbs.describe.of(TensorType)
def tensor_description(owner: RuntimeValue) -> str:
    return "a tensor"


@verbs.result_of.of(TensorType)
def tensor_result(owner: RuntimeValue) -> tuple[Spec, list[AbstractValue]]:
    t, op = tensor_type(owner), owner.value.op
    assert t.dims is not None
    spec = TensorSpec(t.dtype, (None,) * len(t.dims))
    if op is not None and op.name == "leaf":
        return TupleSpec((spec,), leaf_maker(op.attrs["parameter"], op.attrs["requires_grad"])), [owner]
    return spec, [owner]


@verbs.python_class.of(TensorType)
def class_of_tensor(reader: Reader, owner: RuntimeValue) -> type:
    return torch.nn.Parameter if stays_parameter(reader, owner) else torch.Tensor


@verbs.class_name_of.of(TensorType)
def class_name_of_tensor(reader: Reader, owner: RuntimeValue) -> str:
    return "Tensor"


@verbs.attribute.of(TensorType)
def read_tensor_attribute(reader: Reader, owner: RuntimeValue, name: str) -> AbstractValue:
    if name == "__class__":
        return class_itself(reader, owner)
    replaced = patched_method(reader, owner, name)
    return tensor_attribute(reader, owner, name) if replaced is None else replaced


@verbs.store_attribute.of(TensorType)
def store_tensor_attribute(reader: Reader, owner: RuntimeValue, name: str, value: AbstractValue) -> None:
    if name == "requires_grad":
        flag = known_flag(reader, value, "requires_grad must be a bool", "RuntimeError")
        assign_requires_grad(reader, owner, flag)
        return
    if name == "data":
        assign_data(reader, owner, value)
        return
    if name == "grad":
        set_gradient(reader, owner, value)
        return
    reader.reject("attribute_assigned", name=name, what=describe(owner))


@verbs.item.of(TensorType)
def tensor_item(reader: Reader, owner: RuntimeValue, index: AbstractValue) -> AbstractValue:
    return index_tensor(reader, owner, index)


@verbs.store_item.of(TensorType)
def store_tensor_item(reader: Reader, owner: RuntimeValue, index: AbstractValue, value: AbstractValue) -> None:
    if is_known(value) and value.obj is None:
        reader.emit.raise_error("TypeError", "can't assign a NoneType to a tensor")
    if is_array(value):
        own = SCALAR_TYPES[tensor_type(owner).dtype]
        reader.emit.raise_error("TypeError", f"can't assign a numpy.ndarray to a torch.{own}Tensor")
    value = as_argument(reader, value)
    if has_alternatives(value):

        def store(alternative: AbstractValue) -> AbstractValue:
            reader.store_item(owner, index, alternative)
            return Known(None)

        split(reader, value, store)
        return
    check_number(reader, value, tensor_type(owner).dtype)
    if is_known(index) and isinstance(index.obj, bool):
        if index.obj:  # with False, eager does not look at the value
            spread_into(reader, apply_op(reader, "unsqueeze", owner, dim=0), value)
        return
    view, picked = indexed(reader, owner, index)
    if not picked:
        spread_into(reader, view, value)
        return
    check_placed(reader, view, index, value)
    copy_into(reader, view, put_by_index(reader, view, picked, value, accumulate=False))


@verbs.truth.of(TensorType)
def tensor_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("item.bool", [owner.value]))


@verbs.length.of(TensorType)
def tensor_length(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    if not tensor_type(owner).dims:
        reader.emit.raise_error("TypeError", "len() of a 0-d tensor")
    return size_av(reader, owner, 0)


@verbs.unary.of(TensorType)
def tensor_unary(reader: Reader, owner: RuntimeValue, name: str) -> AbstractValue:
    if (found := replaced_operator(reader, f"__{METHODS[name]}__", owner)) is not None:
        return found
    if name == "UAdd":
        return reader.call(Known(torch.positive), [owner], {})
    if name == "Invert" and tensor_type(owner).dtype in INEXACT:
        message = "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        reader.emit.raise_error("TypeError", message)
    return elementwise(reader, "neg" if name == "USub" else "bitwise_not", owner)


@contains.of(TensorType)
def tensor_contains(reader: Reader, owner: RuntimeValue, item: AbstractValue) -> AbstractValue:
    return reader.call(Known(torch.Tensor.__contains__), [owner, item], {})


@verbs.is_walked.of(TensorType)
def is_tensor_walked(owner: RuntimeValue) -> bool:
    return tensor_type(owner).rank > 0


@verbs.is_run_time.of(TensorType)
def is_tensor_run_time(reader: Reader, owner: RuntimeValue) -> bool:
    return tensor_type(owner).rank > 0 and not is_short(size_av(reader, owner, 0))


@verbs.walk.of(TensorType)
def walk_tensor(reader: Reader, owner: RuntimeValue, site: Any) -> Walk:
    checked_iterable(reader, owner)
    count = size_av(reader, owner, 0)
    if site is None and is_known(count) and is_short(count):
        rows = [reader.emit.build("select", [owner.value, reader.emit.const(i)], dim=0) for i in range(count.obj)]
        return Walk(items=[RuntimeValue(row) for row in rows])
    return Walk(count=(Known(0), count, Known(1)), item=lambda i: row_of(reader, owner, i))


@verbs.text_parts.of(TensorType)
def tensor_text_parts(reader: Reader, owner: RuntimeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield tensor_text(reader, owner)


@unpacked_items.of(TensorType)
def unpack_tensor(reader: Reader, owner: RuntimeValue, count: int | None) -> list[AbstractValue]:
    if count is None:
        return reader.iterate(owner)
    return counted_items(reader, owner, size_of(reader, owner, 0), count)
