"""Tensors of uint64, which `torch.hash_tensor` makes. They are compared, converted, indexed, reshaped and returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from scriptc.frontend.environment.results import UnsignedMaker, result_tree
from scriptc.frontend.environment.specs import Spec, TupleSpec
from scriptc.frontend.library.registry import serves
from scriptc.frontend.library.torch import hashes_decomposed as hashes
from scriptc.frontend.operations.attributes import class_itself
from scriptc.frontend.operations.unsigned import reject_unsigned
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, Native, Structure, UnsignedValue
from scriptc.frontend.values.predicates import is_known, is_unsigned
from scriptc.frontend.values.walk import Walk

_MAKER = UnsignedMaker()
_SAME = ("reshape", "flatten", "squeeze", "unsqueeze", "clone", "contiguous", "t", "transpose", "permute", "detach")
_CONVERTED = {
    "long": torch.int64, "int": torch.int32, "short": torch.int16, "char": torch.int8, "byte": torch.uint8, "bool": torch.bool,
    "half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32, "double": torch.float64,
}  # fmt: skip


@serves("torch.hash_tensor")
def hash_tensor(r: Reader, input: AbstractValue, *dims: AbstractValue, **options: AbstractValue) -> AbstractValue:
    r.position.has_unsigned = True
    return UnsignedValue(r.call(Known(hashes.hash_bits), [input, *dims], options))


@verbs.describe.of(UnsignedValue)
def unsigned_description(owner: UnsignedValue) -> str:
    return "a tensor of uint64"


@verbs.structure_of.of(UnsignedValue)
def structure_of_unsigned(owner: UnsignedValue) -> Structure:
    return Structure(("uint64",), [owner.tensor], lambda parts: UnsignedValue(parts[0]))


@verbs.held_values.of(UnsignedValue)
def held_by_unsigned(owner: UnsignedValue) -> Sequence[AbstractValue]:
    return [owner.tensor]


@verbs.boxed.of(UnsignedValue)
def boxed_unsigned(owner: UnsignedValue) -> tuple[Any, AbstractValue]:
    return _MAKER, owner.tensor


@verbs.result_of.of(UnsignedValue)
def unsigned_result(owner: UnsignedValue) -> tuple[Spec, list[AbstractValue]]:
    return result_tree([owner.tensor], lambda specs: TupleSpec(specs, _MAKER))


@verbs.python_class.of(UnsignedValue)
def class_of_unsigned(reader: Reader, owner: UnsignedValue) -> type:
    return torch.Tensor


@verbs.class_name_of.of(UnsignedValue)
def class_name_of_unsigned(reader: Reader, owner: UnsignedValue) -> str:
    return "Tensor"


@verbs.is_run_time.of(UnsignedValue)
def is_unsigned_run_time(reader: Reader, owner: UnsignedValue) -> bool:
    return verbs.is_run_time(reader, owner.tensor)


@verbs.attribute.of(UnsignedValue)
def read_unsigned_attribute(reader: Reader, owner: UnsignedValue, name: str) -> AbstractValue:
    if name == "__class__":
        return class_itself(reader, owner)
    if name == "dtype":
        return Known(torch.uint64)
    if name in ("shape", "ndim", "device", "layout", "is_cuda", "requires_grad"):
        return reader.attribute(owner.tensor, name)
    if name in ("T", "mT"):
        return UnsignedValue(reader.attribute(owner.tensor, name))
    if name in _SAME:
        return Native(lambda *args, **kwargs: UnsignedValue(reader.call(reader.attribute(owner.tensor, name), args, kwargs)))
    if name in _CONVERTED or name in ("to", "view"):
        return Native(lambda *args, **kwargs: _method(reader, owner, name, args, kwargs))
    if name in ("size", "dim", "numel", "element_size", "is_contiguous"):
        return reader.attribute(owner.tensor, name)
    reject_unsigned(reader, f"Tensor.{name}")


def _method(
    reader: Reader, owner: UnsignedValue, name: str, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Return the result of a conversion or of `view`, in the forms that take positional arguments."""
    if kwargs or len(args) != (1 if name == "to" else 0) and name != "view":
        reject_unsigned(reader, f"this form of Tensor.{name}")
    if name == "view":
        return _view(reader, owner, args)
    return _converted(reader, owner, args[0] if name == "to" else Known(_CONVERTED[name]))


def _converted(reader: Reader, owner: UnsignedValue, dtype: AbstractValue) -> AbstractValue:
    wanted = require_known(reader, dtype, "the dtype")
    if not isinstance(wanted, torch.dtype):
        reject_unsigned(reader, "this form of Tensor.to")
    if wanted == torch.uint64:
        return owner
    return reader.call(Known(hashes.converted), [owner.tensor, dtype], {})


def _view(reader: Reader, owner: UnsignedValue, sizes: Sequence[AbstractValue]) -> AbstractValue:
    dtype = sizes[0].obj if len(sizes) == 1 and is_known(sizes[0]) else None
    made = reader.call(reader.attribute(owner.tensor, "view"), sizes, {})
    return made if isinstance(dtype, torch.dtype) and dtype != torch.uint64 else UnsignedValue(made)


@verbs.operator_of.of(UnsignedValue)
def operator_of_unsigned(
    reader: Reader, owner: UnsignedValue, op: str, a: AbstractValue, b: AbstractValue
) -> AbstractValue | None:
    if op in ("Eq", "NotEq") and is_unsigned(a) and is_unsigned(b):
        return reader.compare(op, a.tensor, b.tensor)
    reject_unsigned(reader, "this operator")


@verbs.truth.of(UnsignedValue)
def unsigned_truth(reader: Reader, owner: UnsignedValue) -> AbstractValue:
    return reader.truth(owner.tensor)


@verbs.item.of(UnsignedValue)
def unsigned_item(reader: Reader, owner: UnsignedValue, index: AbstractValue) -> AbstractValue:
    return UnsignedValue(verbs.item(reader, owner.tensor, index))


@verbs.length.of(UnsignedValue)
def unsigned_length(reader: Reader, owner: UnsignedValue) -> AbstractValue:
    return verbs.length(reader, owner.tensor)


@verbs.walk.of(UnsignedValue)
def walk_unsigned(reader: Reader, owner: UnsignedValue, site: Any) -> Walk:
    walked = verbs.walk(reader, owner.tensor, site)
    if walked.items is not None:
        return Walk(items=[UnsignedValue(row) for row in walked.items])
    row_at = walked.item
    assert row_at is not None
    return Walk(count=walked.count, item=lambda i: UnsignedValue(row_at(i)))
