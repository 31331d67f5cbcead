"""Writes through tensors, as in-place operators and copies make them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NoReturn

import torch

from scriptc.frontend.library.torch.shapes_decomposed import refuse_rank
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.scalars import FILLING, converted, item_of, new_filled
from scriptc.frontend.operations.sizes import shape_tuple, size_av
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, RuntimeValue
from scriptc.frontend.values.predicates import (
    is_complex_number,
    is_known,
    is_made_list,
    is_made_tuple,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.verbs import class_name_of, materialize, python_class, type_of
from scriptc.ir.analysis import only_raises
from scriptc.ir.core import Op, Value
from scriptc.ir.dtypes import COMPLEX, INTEGRAL, SCALAR_TYPES, TORCH_NAMES, category
from scriptc.ir.ops import OPS
from scriptc.ir.types import FLOAT, INT, ScalarType, TensorType

# These write at positions that indices give, and reject a source that shares memory with the destination.
_PLACING = frozenset(
    (
        "cat",
        "gather",
        "index_add",
        "index_copy",
        "index_fill",
        "index_put",
        "index_reduce",
        "index_select",
        "put",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "stack",
    )
)
# Pointwise ops without ATen's tag `pointwise`. Most of them are aliases of other ops.
_UNTAGGED = frozenset(
    (
        "addr",
        "divide",
        "floor_divide",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "multiply",
        "not_equal",
        "subtract",
    )
)


def write(reader: Reader, dst: AbstractValue, src: AbstractValue) -> AbstractValue:
    """Write the result of an in-place op to `dst`, with eager's checks of shapes and dtypes; return `dst`."""
    if is_tensor(src):
        check_category(reader, dst, tensor_type(src).dtype)
        if tensor_type(dst).dims != tensor_type(src).dims or None in (tensor_type(dst).dims or (None,)):
            reader.emit.effect("check.store", [materialize(reader, dst), materialize(reader, src)])
    copy_into(reader, dst, src)
    return dst


def check_category(reader: Reader, dst: AbstractValue, found: str) -> None:
    """Raise if the elements of an in-place op's result have a category that the dtype of `dst` cannot hold."""
    to = tensor_type(dst).dtype
    if category(found) > category(to):
        message = f"result type {SCALAR_TYPES[found]} can't be cast to the desired output type {SCALAR_TYPES[to]}"
        reader.emit.raise_error("RuntimeError", message)


def spread_into(reader: Reader, view: AbstractValue, value: AbstractValue) -> None:
    """Execute `view[...] = value`.

    Unlike copy_, leading dims of size one do not count. An expanded value may overlap the view, since eager expands
    before it tests for overlaps.
    """
    source = cast_to(reader, value, tensor_type(view).dtype) if is_tensor(value) else value
    if not is_tensor(source):
        copy_into(reader, view, source)
        return
    for _ in range(tensor_type(source).rank - tensor_type(view).rank):
        one = reader.compare("Eq", size_av(reader, source, 0), Known(1))
        refuse = partial(reader.call, Known(refuse_rank), [source, reader.attribute(view, "shape")], {})
        reader.choose(one, lambda: Known(None), refuse)
        source = apply_op(reader, "select", source, Known(0), dim=0)
    if not tensor_type(source).rank and not is_untouched(reader, materialize(reader, source)):
        source = apply_op(reader, "clone", source)
    if is_untouched(reader, materialize(reader, source)):
        reader.emit.effect("check.store", [materialize(reader, view), materialize(reader, source)])
    elif tensor_type(source).dims != tensor_type(view).dims or None in (tensor_type(view).dims or ()):
        sizes = tuple(size_av(reader, view, d) for d in range(tensor_type(view).rank))
        source = apply_op(reader, "expand", source, shape_tuple(reader, sizes))
    copy_into(reader, view, source)


_NO_NUMBERS = (list, tuple, dict, set, str, type(None))


def check_number(reader: Reader, value: AbstractValue, dtype: str) -> None:
    """Raise if a number that is assigned to a subscript does not fit, before the index is checked, as in eager."""
    if not is_tensor(value) and python_class(reader, value) in _NO_NUMBERS:
        kind_of_tensor = torch.empty(0, dtype=getattr(torch, TORCH_NAMES[dtype])).type()
        reader.emit.raise_error("TypeError", f"can't assign a {class_name_of(reader, value)} to a {kind_of_tensor}")
    if is_tensor(value) or is_complex_number(value) or dtype in ("bool", "f16", "bf16") or dtype in COMPLEX:
        return
    kind = type_of(value)
    known = is_known(value) and kind in (INT, FLOAT)
    if known or kind == FLOAT and dtype in INTEGRAL or kind == INT and dtype in INTEGRAL and dtype != "i64":
        converted(reader, value, dtype)


def check_operands(reader: Reader, name: str, dst: AbstractValue, operands: Sequence[AbstractValue]) -> None:
    """Check the operands of an in-place op as eager does.

    A pointwise op may read `dst` only at the position that it writes. An op that places elements by indices may not
    read `dst` at all.
    """
    known = [is_made_tuple(av) or (is_made_list(av) and av.items is not None) for av in operands]
    items = [reader.iterate(av) if k else [av] for av, k in zip(operands, known, strict=True)]
    tensors = [t for ts in items for t in ts if is_tensor(t)]
    if name in FILLING:
        tensors = [t for t in tensors if tensor_type(t).rank]
    if name in _PLACING or _is_pointwise(name):
        check_overlap(reader, dst, *tensors, apart=name in _PLACING)


def check_placed(reader: Reader, view: AbstractValue, index: AbstractValue, value: AbstractValue) -> None:
    """Check `view[index] = value` with tensors in the index likewise. A number under a single mask may overlap the
    view."""
    parts = [p for p in (index.items if is_made_tuple(index) else (index,)) if is_tensor(p)]
    masked = len(parts) == 1 and tensor_type(parts[0]).dtype in ("bool", "u8") and tensor_type(parts[0]).rank > 0
    to = tensor_type(view).dtype
    found = tensor_type(value).dtype if is_tensor(value) else to

    def raise_dtypes() -> NoReturn:
        reader.emit.raise_error(
            "RuntimeError",
            "Index put requires the source and destination dtypes match, got "
            f"{SCALAR_TYPES[to]} for the destination and {SCALAR_TYPES[found]} for the source.",
        )

    def check_item() -> bool:
        if found != to:
            converted(reader, item_of(reader, value), to)
        return True

    def check() -> bool:
        if found != to and (parts or tensor_type(value).rank):  # a list may be a mask
            raise_dtypes()
        check_overlap(reader, view, value, *parts, apart=True)
        return True

    if not masked:
        check()
    elif is_tensor(value) and not tensor_type(value).rank:
        check_item()
    elif is_tensor(value) and tensor_type(value).rank:
        reader.branch(reader.compare("Eq", apply_op(reader, "numel", value), Known(1)), check_item, check, frozenset())


def check_overlap(reader: Reader, dst: AbstractValue, *operands: AbstractValue, apart: bool = False) -> None:
    for value in (materialize(reader, av) for av in operands if is_tensor(av)):
        if apart if value is materialize(reader, dst) else not is_untouched(reader, value):
            reader.emit.effect("check.overlap", [materialize(reader, dst), value], apart=apart)


def is_untouched(reader: Reader, value: Value) -> bool:
    """Return whether a tensor is new and has only been computed with, so that no value aliases it."""
    fresh = value.op is not None and _makes_new(value.op) and all(_makes_new(op) or only_raises(op) for op in value.users())
    return fresh and value.block is reader.emit.builder.block


def copy_into(reader: Reader, dst: AbstractValue, src: AbstractValue) -> None:
    if not is_tensor(src):
        src = new_filled(reader, (), src, tensor_type(dst).dtype)
    reader.emit.effect("copy_", [materialize(reader, dst), materialize(reader, src)])


def view_of(reader: Reader, tensor: AbstractValue) -> RuntimeValue:
    """Return a new tensor object over the whole tensor, which lets gradients flow (`alias` detaches)."""
    return apply_op(reader, "permute", tensor, dims=tuple(range(tensor_type(tensor).rank)))


def _makes_new(op: Op) -> bool:
    plain = all(isinstance(r.type, (TensorType, ScalarType)) for r in op.results)
    return plain and op.has("PURE") and not op.has("VIEW") and not op.has("FETCHES")


@cache
def _is_pointwise(name: str) -> bool:
    if name in _UNTAGGED:
        return True
    if name in OPS:
        return "ELEMENTWISE" in OPS[name].traits
    packet = getattr(torch.ops.aten, name, None)
    return packet is not None and any(torch.Tag.pointwise in getattr(packet, o).tags for o in packet.overloads())
