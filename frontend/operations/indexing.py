"""Indexing of tensors, and of sequences by tensors.

Ints, slices, None and `...` make views. Tensors, lists and masks pick elements.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import torch

from scriptc.frontend.operations.arrays import data_of
from scriptc.frontend.operations.casts import cast_to
from scriptc.frontend.operations.indices import integer, is_slice
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import apply_op
from scriptc.frontend.operations.scalars import new_filled
from scriptc.frontend.operations.sizes import size_av
from scriptc.frontend.operations.writes import view_of
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, ListValue, RangeValue, RuntimeValue, TupleValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import (
    is_any_length_tuple,
    is_array,
    is_complex_number,
    is_known,
    is_list,
    is_made_list,
    is_made_sequence,
    is_made_tuple,
    is_none,
    is_of_numpy,
    is_plain_tuple,
    is_tensor,
    is_text,
    run_time_type,
    tensor_type,
)
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verbs import as_argument, class_name_of, describe, materialize, type_of
from scriptc.ir.dtypes import FLOATING, INTEGRAL
from scriptc.ir.types import BOOL, FLOAT, INT, STR, ListType


def put_by_index(
    reader: Reader, view: AbstractValue, picked: dict[int, AbstractValue], value: AbstractValue, *, accumulate: bool
) -> AbstractValue:
    """Return a copy of a tensor with a value at the positions that tensors index."""
    from scriptc.frontend.library.torch.indexing_decomposed import put_mask, put_tensors

    if not is_tensor(value):
        value = new_filled(reader, (), value, tensor_type(view).dtype)
    if (only := _mask_in(picked)) is not None:
        return reader.call(Known(put_mask), [view, *only, value, Known(accumulate)], {})
    indices = TupleValue(list(picked.values()))
    return reader.call(Known(put_tensors), [view, Known(tuple(picked)), indices, value, Known(accumulate)], {})


def is_indexed_by_ints(owner: AbstractValue) -> bool:
    """Return whether a sequence calls `__index__` of its index."""
    if is_known(owner):
        kinds = (list, tuple, str, range, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)
        return isinstance(owner.obj, kinds) and not defines(owner, "__getitem__")
    return isinstance(owner, (TupleValue, ListValue, RangeValue)) or is_text(owner)


def index_tensor(reader: Reader, tensor: AbstractValue, index: AbstractValue) -> AbstractValue:
    """Return `tensor[index]`. Ints, slices, None and `...` make views; tensors, lists and masks pick elements."""
    view, picked = indexed(reader, tensor, index)
    if not picked:
        return view
    from scriptc.frontend.library.torch.indexing_decomposed import index_mask, index_tensors

    if (only := _mask_in(picked)) is not None:
        return reader.call(Known(index_mask), [view, *only], {})
    return reader.call(Known(index_tensors), [view, Known(tuple(picked)), TupleValue(list(picked.values()))], {})


def indexed(
    reader: Reader, tensor: AbstractValue, index: AbstractValue
) -> tuple[AbstractValue, dict[int, AbstractValue]]:
    """Return the view that the basic parts of an index make, and the tensors of the index by dim.

    The tensors are one mask, by its first dim, or tensors of indices.
    """
    if is_any_length_tuple(index):
        reader.reject("index_of_unknown_length")
    items = sequence_items(index) if is_plain_tuple(index) or is_known(index) else None
    parts = [index] if items is None else items
    rank = tensor_type(tensor).rank
    consumed = sum(indexed_dims(p) for p in parts)
    if consumed > rank:
        reader.emit.raise_error("IndexError", f"too many indices for tensor of dimension {rank}")
    return basic_index(reader, tensor, parts, rank - consumed)


def indexed_dims(part: AbstractValue) -> int:
    """Return the number of dims that a part of an index consumes."""
    if is_known(part) and (part.obj is None or part.obj is Ellipsis) or is_bool_index(part):
        return 0
    is_mask = is_tensor(part) and tensor_type(part).dtype in ("bool", "u8")
    return tensor_type(part).rank if is_mask else 1


def basic_index(
    reader: Reader, tensor: AbstractValue, parts: list[AbstractValue], skipped: int
) -> tuple[AbstractValue, dict[int, AbstractValue]]:
    """Return the view that ints, slices, None and `...` make, and the tensors that index the view, by dim."""
    dim, result = 0, tensor
    picked: dict[int, AbstractValue] = {}
    alone = sum(map(picks, parts)) == 1
    for part in parts:
        obj = part.obj if is_known(part) else ...
        if is_known(part) and obj is None:
            result, dim = apply_op(reader, "unsqueeze", result, dim=dim), dim + 1
        elif is_known(part) and obj is Ellipsis:
            dim += skipped
        elif is_bool_index(part) or is_tensor(part) and tensor_type(part).dtype == "u8" and not tensor_type(part).rank:
            picked[dim] = mask_of_one(reader, part)
            result, dim = apply_op(reader, "unsqueeze", result, dim=dim), dim + 1
        elif is_tensor(part) and tensor_type(part).dtype in INTEGRAL and not tensor_type(part).rank:
            at = reader.emit.build("item.int", [materialize(reader, part)])
            result = RuntimeValue(reader.emit.build("select", [materialize(reader, result), at], dim=dim))
        elif is_slice(part):
            result, dim = slice_dim(reader, result, dim, part), dim + 1
        elif is_integer(part):
            result = RuntimeValue(
                reader.emit.build("select", [materialize(reader, result), integer(reader, part)], dim=dim)
            )
        elif alone and is_mask(part):
            check_mask(reader, part, result, dim)
            picked[dim] = cast_to(reader, part, "bool")
            dim += tensor_type(part).rank
        else:
            for index in index_tensors_of(reader, part, result, dim):
                picked[dim] = index
                dim += 1
    return (result if result is not tensor or picked else view_of(reader, tensor)), picked


def picks(part: AbstractValue) -> bool:
    """Return whether a part of an index picks elements instead of making a view."""
    basic = is_known(part) and (part.obj is None or part.obj is Ellipsis)
    return not (basic or is_slice(part) or is_integer(part))


def is_mask(part: AbstractValue) -> bool:
    return is_tensor(part) and tensor_type(part).dtype in ("bool", "u8") and tensor_type(part).rank > 0


def check_mask(reader: Reader, mask: AbstractValue, tensor: AbstractValue, dim: int) -> None:
    """Check that the sizes of a mask are those of the tensor's dims from `dim` on."""
    for i in range(tensor_type(mask).rank):
        same = reader.compare("Eq", size_av(reader, mask, i), size_av(reader, tensor, dim + i))
        check_that(reader, same, "IndexError", "The shape of the mask does not match the shape of the indexed tensor")


def is_bool_index(part: AbstractValue) -> bool:
    """Return whether an index is a bool, or a bool tensor without dims."""
    if is_tensor(part):
        return tensor_type(part).dtype == "bool" and not tensor_type(part).rank
    return type_of(part) == BOOL


def mask_of_one(reader: Reader, part: AbstractValue) -> AbstractValue:
    """Return the index tensor for a mask without dims: [0] for True, [] for False."""
    count = reader.call(Known(int), [reader.truth(part)], {})
    return new_filled(reader, [count], Known(0), "i64")


def tensor_of_indices(reader: Reader, part: AbstractValue) -> AbstractValue:
    """Return a list in an index as a tensor. It may be a tensor of one of several ranks; an empty list gives floats."""
    held = materialize(reader, part).type if is_made_list(part) and part.items is None else None
    if isinstance(held, ListType) and held.elem == STR:
        reader.emit.raise_error("TypeError", "new(): invalid data type 'str'")
    made = reader.call(Known(torch.tensor), [part], {})
    return split(reader, made, lambda t: cast_to(reader, t, "i64") if tensor_type(t).dtype in FLOATING else t)


def with_index_tensors(reader: Reader, index: AbstractValue) -> AbstractValue:
    """Return an index of a tensor with its arrays and lists of run-time length as tensors.

    A list that torch takes for a tuple is one.
    """
    if is_list(index) or is_known(index) and isinstance(index.obj, list):
        items = _items_of_tuple(reader, index)
        index = index if items is None else TupleValue(items)
    return _parts_as_tensors(reader, index)


@functools.cache
def takes_lists_for_tuples() -> bool:
    """Return whether `x[[[0], [1]]]` is `x[[0], [1]]` in this version of torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.zeros(1, 1, device="cpu")[[[0], [0]]].dim() == 1


def _items_of_tuple(reader: Reader, index: AbstractValue) -> list[AbstractValue] | None:
    """Return the items of a list that torch takes for a tuple, as an index; None for other lists.

    Torch takes a list for a tuple if it has fewer than 32 items, and one is a sequence, a tensor, a slice, None or `...`.
    """
    if not takes_lists_for_tuples():
        return None
    if is_list(index) and index.items is None:
        held = index.value.type if index.value is not None else None
        if isinstance(held, ListType) and held.elem not in (INT, FLOAT, BOOL, STR):
            reader.reject("index_of_lists")
        return None
    items = reader.iterate(index)
    return items if len(items) < 32 and any(map(_makes_tuple, items)) else None


def _makes_tuple(item: AbstractValue) -> bool:
    """Return whether torch takes a list for a tuple, as an index, because of an item."""
    if is_known(item):
        kinds = (list, tuple, range, str, slice, torch.Tensor, np.ndarray)
        return item.obj is None or item.obj is Ellipsis or isinstance(item.obj, kinds)
    return is_made_sequence(item) or isinstance(item, RangeValue) or is_tensor(item) or is_array(item) or is_text(item)


def _parts_as_tensors(reader: Reader, index: AbstractValue) -> AbstractValue:
    if is_of_numpy(index):
        return data_of(reader, index) if is_array(index) else as_argument(reader, index)  # type: ignore[return-value]
    if is_made_tuple(index) and index.cls is tuple:
        return TupleValue([_parts_as_tensors(reader, i) for i in index.items])
    return tensor_of_indices(reader, index) if is_list(index) and index.items is None else index


def index_tensors_of(reader: Reader, part: AbstractValue, tensor: AbstractValue, dim: int) -> list[AbstractValue]:
    """Return the index tensors for one part of an index, which indexes dims from `dim` on; a mask gives one per dim."""
    if isinstance(part, RangeValue):
        steps = reader.call(Known(torch.arange), [reader.call(Known(len), [part], {})], {})
        part = reader.binary("Add", reader.binary("Mult", steps, part.step), part.start)
    if is_known(part) and isinstance(part.obj, range):
        part = Known([*part.obj])
    if is_made_sequence(part) or (is_known(part) and isinstance(part.obj, (list, tuple))):
        part = tensor_of_indices(reader, part)
    if is_text(part):
        reader.emit.raise_error("TypeError", "new(): invalid data type 'str'")
    if is_complex_number(part) or type_of(part) == FLOAT:
        taken = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
        reader.emit.raise_error("IndexError", f"{taken} (got {class_name_of(reader, part)})")
    if not is_tensor(part):
        reader.reject("index_of_other", what=describe(part))
    t = tensor_type(part)
    if t.dtype in ("i64", "i32"):
        return [part]
    if t.dtype not in ("bool", "u8"):
        reader.emit.raise_error("IndexError", "tensors used as indices must be long, int, byte or bool tensors")
    check_mask(reader, part, tensor, dim)
    indices = apply_op(reader, "nonzero", part)
    return [
        RuntimeValue(reader.emit.build("select", [materialize(reader, indices), reader.emit.const(i)], dim=1))
        for i in range(t.rank)
    ]


def is_integer(av: AbstractValue) -> bool:
    if is_known(av):
        return isinstance(av.obj, int) and not isinstance(av.obj, bool)
    return run_time_type(av) == INT


def slice_dim(reader: Reader, tensor: AbstractValue, dim: int, part: AbstractValue) -> AbstractValue:
    bounds: list[AbstractValue]
    if is_known(part):
        bounds = [Known(getattr(part.obj, n)) for n in ("start", "stop", "step")]
    else:
        assert isinstance(part, TupleValue)
        bounds = list(part.items)
    start, stop, step = (None if is_none(b) else b for b in bounds)
    if is_known(step) and isinstance(step.obj, int) and step.obj <= 0:
        reader.emit.raise_error("ValueError", "step must be greater than zero")
    operands = [
        materialize(reader, tensor),
        integer(reader, start) if start is not None else reader.emit.const(0),
        integer(reader, stop) if stop is not None else reader.emit.const(2**63 - 1),
        integer(reader, step) if step is not None else reader.emit.const(1),
    ]
    return RuntimeValue(reader.emit.build("slice", operands, dim=dim))


def _mask_in(picked: dict[int, AbstractValue]) -> list[AbstractValue] | None:
    """Return the dim and the mask if an index is a single mask; else None."""
    return next(([Known(dim), index] for dim, index in picked.items() if tensor_type(index).dtype == "bool"), None)
