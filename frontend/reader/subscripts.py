"""Items of values: `owner[index]`, `owner[index] = value` and `del owner[index]`."""

from __future__ import annotations

import operator
from typing import Any

from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.operations.batches import batched_item
from scriptc.frontend.operations.indexing import is_indexed_by_ints, with_index_tensors
from scriptc.frontend.operations.indices import check_slice, is_slice, single_index, slice_bounds
from scriptc.frontend.operations.materialize import new_list, wrap
from scriptc.frontend.operations.objects import special
from scriptc.frontend.operations.runtime_dicts import is_dict_like
from scriptc.frontend.reader.constant_demand import is_known_throughout, knowable, require_known
from scriptc.frontend.reader.contents import edit
from scriptc.frontend.reader.errors import Terminated
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Known,
    ListValue,
    RangeValue,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import present, split_all, split_index
from scriptc.frontend.values.element_types import is_laid_out_anew
from scriptc.frontend.values.predicates import (
    has_alternatives,
    has_kinds,
    has_known_length,
    is_array,
    is_known,
    is_made_list,
    is_made_sequence,
    is_sequence,
    is_tensor,
    is_text,
    ssa_value,
)
from scriptc.frontend.values.structure import slice_parts
from scriptc.frontend.values.verbs import as_argument, class_name_of, demand, describe, materialize, type_of
from scriptc.ir.core import Value
from scriptc.ir.types import BOOL, INT, NEVER, ListType, is_counted, layout


def subscript(reader: Reader, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    if reader.position.has_batches and (found := batched_item(reader, owner, index)) is not None:
        return found
    if has_alternatives(owner) or has_alternatives(index):
        owner = present(reader, owner, "TypeError", "'NoneType' object is not subscriptable")
        return split_all(reader, [owner, index], lambda avs: reader.subscript(*avs))
    demand(reader, owner, "__getitem__", "is not subscriptable")
    index = plain_index(reader, owner, index)
    if has_kinds(index) and (is_tensor(owner) or is_slice(index)):
        return split_index(reader, index, lambda i: reader.subscript(owner, i))
    if is_tensor(index) and is_indexed_by_ints(owner):
        index = single_index(reader, index)
    check_bounds(reader, owner, index)
    return verbs.item(reader, owner, index)


def plain_index(reader: Reader, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    """Return an index with NumPy scalars as numbers, and in an index of a tensor arrays and lists as tensors.

    A dict keeps a NumPy scalar as the key.
    """
    if is_tensor(owner):
        return with_index_tensors(reader, index)
    return index if is_array(owner) or is_dict_like(owner) else as_argument(reader, index)


def check_bounds(reader: Reader, owner: AbstractValue, index: AbstractValue) -> None:
    """Check the bounds of a slice of a sequence, a range, a string or a tensor."""
    if is_slice(index) and (is_tensor(owner) or is_sequence(owner) or is_text(owner) or isinstance(owner, RangeValue)):
        check_slice(reader, index)


def store_item(reader: Reader, owner: AbstractValue, index: AbstractValue, value: AbstractValue) -> None:
    def store(avs: list[AbstractValue]) -> AbstractValue:
        reader.store_item(avs[0], avs[1], value)
        return Known(None)

    if has_alternatives(owner) or has_alternatives(index):
        owner = present(reader, owner, "TypeError", "'NoneType' object does not support item assignment")
        split_all(reader, [owner, index], store)
        return
    demand(reader, owner, "__setitem__", "does not support item assignment")
    index = plain_index(reader, owner, index)
    if is_tensor(index) and is_indexed_by_ints(owner):
        index = single_index(reader, index)
    if has_kinds(index) and (is_tensor(owner) or is_slice(index)):
        split_index(reader, index, lambda i: store([owner, i]))
        return
    check_bounds(reader, owner, index)
    verbs.store_item(reader, owner, index, value)


def delete_item(reader: Reader, owner: AbstractValue, index: AbstractValue) -> None:
    does_not = "doesn't" if is_made_sequence(owner) else "does not"
    demand(reader, owner, "__delitem__", f"{does_not} support item deletion")
    check_bounds(reader, owner, index)
    verbs.delete_item(reader, owner, index)


def delete_by_method(reader: Reader, owner: AbstractValue, index: AbstractValue) -> None:
    """Execute `del owner[index]` of an object whose class defines `__delitem__`."""
    if special(reader, owner, "__delitem__", [index]) is None:
        reader.reject("item_deleted", what=describe(owner))


# ---- indices ----


def is_known_index(index: AbstractValue) -> bool:
    return is_known(index) and isinstance(index.obj, (int, slice))


def has_known_bounds(index: AbstractValue) -> bool:
    return is_known_index(index) or is_slice(index) and is_known_throughout(index)


def is_never_known(reader: Reader, index: AbstractValue) -> bool:
    """Return whether an index, or a bound of a slice, depends on a value that no reading can know."""
    parts = slice_parts(index) if is_slice(index) else [index]
    values = [v for v in map(ssa_value, parts) if v is not None and v.type == INT]
    return any(knowable(reader, v) is None for v in values)


def known_index(reader: Reader, owner: AbstractValue, index: AbstractValue) -> int | slice:
    what = "an index into values of different types"
    if not is_slice(index):
        place = require_known(reader, index, what)
        if not hasattr(place, "__index__"):
            kind = f"{class_name_of(reader, owner)} indices must be integers or slices"
            reader.emit.raise_error("TypeError", f"{kind}, not {type(place).__name__}")
        return operator.index(place)
    return slice(*(require_known(reader, part, what) for part in slice_parts(index)))


# ---- sequences ----


def pick(reader: Reader, owner: AbstractValue, items: list[AbstractValue], index: int | slice) -> AbstractValue:
    if isinstance(index, slice):
        chosen = items[index]
        return new_list(reader, chosen, (reader.position.loc, "slice")) if is_made_list(owner) else TupleValue(chosen)
    try:
        return items[index]
    except IndexError:
        name = "list" if is_made_list(owner) else "tuple"
        reader.emit.raise_error("IndexError", f"{name} index out of range")


def fetched(reader: Reader, list_value: Value, index: Value) -> AbstractValue:
    """Return an item of a run-time list."""
    found = reader.emit.build("list.get", [list_value, index])
    if found.type == NEVER:  # no item was ever put into the list
        reader.emit.effect("unreachable", ())
        raise Terminated
    return wrap(reader, found)


def range_item(reader: Reader, numbers: RangeValue, index: AbstractValue) -> AbstractValue:
    if is_slice(index):
        length = reader.call(Known(len), [numbers], {})
        bounds = [RuntimeValue(b) for b in slice_bounds(reader, index)]
        picked = reader.call(Known(lists.range_slice), [numbers.start, numbers.step, length, *bounds], {})
        return RangeValue(*reader.iterate(picked))
    if type_of(index) not in (INT, BOOL):
        message = f"range indices must be integers or slices, not {class_name_of(reader, index)}"
        reader.emit.raise_error("TypeError", message)
    length = reader.call(Known(len), [numbers], {})
    return reader.call(Known(lists.range_item), [numbers.start, numbers.step, length, index], {})


def splice_list(reader: Reader, owner: ListValue, start: Any, stop: Any, value: AbstractValue) -> None:
    """Execute `owner[start:stop] = value`."""
    if has_known_length(owner):
        first, last = (
            require_known(reader, RuntimeValue(bound), "a bound of a list of different types")
            for bound in (start, stop)
        )
        new = reader.iterate(value)
        edit(reader, owner, lambda items: items.__setitem__(slice(first, last), new))
        return
    other = value if is_made_list(value) else reader.call(Known(list), [value], {})
    added = materialize(reader, other)
    assert isinstance(added.type, ListType)
    target = reader.speculation.mutate(owner, resizes=True)
    reader.speculation.widen(target.type, 0, added.type.elem)
    assert isinstance(target.type, ListType)
    held, wanted = added.type.elem, target.type.elem
    if held != NEVER and not is_counted(held):
        target.type.variable.find().observed = True  # a wider type may lay the items out anew
    if is_laid_out_anew(held, wanted):  # the op copies items as they are
        reader.speculation.widen(added.type, 0, wanted)
    elif held != NEVER and layout(held) != layout(wanted):
        added = materialize(reader, reader.call(Known(lists.items_of), [other], {}))
        reader.speculation.widen(added.type, 0, wanted)
    reader.emit.effect("list.splice", [target, start, stop, added])
