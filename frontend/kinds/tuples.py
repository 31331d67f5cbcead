"""Tuples of known length: plain and named tuples, sizes, and slices with computed bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import torch

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.results import result_tree
from scriptc.frontend.environment.specs import Spec, TupleSpec
from scriptc.frontend.operations.attributes import class_itself, method_or_error
from scriptc.frontend.operations.comparison import contains, is_among
from scriptc.frontend.operations.formatting import listed_text, named_tuple_text
from scriptc.frontend.operations.materialize import any_length, wrap
from scriptc.frontend.operations.named_tuples import tuple_method
from scriptc.frontend.operations.objects import class_value
from scriptc.frontend.operations.operators import truth_of_object
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.errors import Conflict, UserError
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.statements import unpacked_items
from scriptc.frontend.reader.subscripts import delete_by_method, is_known_index, is_never_known, known_index, pick
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, ListValue, Structure, TupleValue
from scriptc.frontend.values.predicates import is_plain_tuple
from scriptc.frontend.values.structure import tuple_structure
from scriptc.frontend.values.user_classes import defines
from scriptc.frontend.values.verbs import describe, frozen, joined_type, materialize
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import NEVER, TupleType, Type, tuple_of


@verbs.describe.of(TupleValue)
def tuple_description(owner: TupleValue) -> str:
    return f"a {owner.cls.__name__} of {len(owner.items)}"


@verbs.structure_of.of(TupleValue)
def structure_of_tuple(owner: TupleValue) -> Structure:
    return tuple_structure(owner.cls, owner.items)


@verbs.joined_type.of(TupleValue)
def type_of_joined_tuple(owner: TupleValue) -> Type:
    if owner.cls is not tuple:
        raise Conflict(describe(owner))
    return TupleType(tuple(map(joined_type, owner.items))) if owner.items else tuple_of(NEVER)


@verbs.held_values.of(TupleValue)
def held_by_tuple(owner: TupleValue) -> Sequence[AbstractValue]:
    return owner.items


@verbs.frozen.of(TupleValue)
def frozen_tuple(owner: TupleValue) -> AbstractValue:
    return TupleValue([frozen(i) for i in owner.items], owner.cls)


@verbs.result_of.of(TupleValue)
def tuple_result(owner: TupleValue) -> tuple[Spec, list[AbstractValue]]:
    return result_tree(owner.items, lambda specs: TupleSpec(specs, owner.cls))


@kept_kinds.of(TupleValue)
def kept_kinds_of_tuple(owner: TupleValue) -> list[Any]:
    return [TupleSpec(tuple(parts), owner.cls) for parts in itertools.product(*map(kept_kinds, owner.items))]


@verbs.materialize.of(TupleValue)
def materialize_tuple(reader: Reader, owner: TupleValue) -> Value:
    items = [materialize(reader, i) for i in owner.items]
    return reader.emit.builder.build("tuple", items, reader.position.loc)


@verbs.python_class.of(TupleValue)
def class_of_tuple(reader: Reader, owner: TupleValue) -> type:
    return owner.cls


@verbs.class_name_of.of(TupleValue)
def class_name_of_tuple(reader: Reader, owner: TupleValue) -> str:
    return owner.cls.__name__


@verbs.attribute.of(TupleValue)
def read_tuple_attribute(reader: Reader, owner: TupleValue, name: str) -> AbstractValue:
    cls: Any = owner.cls
    if name == "__class__":
        return class_itself(reader, owner)
    if name in getattr(cls, "__match_args__", ()):  # a named tuple or a class of torch.return_types
        return owner.items[cls.__match_args__.index(name)]
    if cls is not slice and (found := tuple_method(reader, owner, name)) is not None:
        return found
    if cls not in (tuple, slice, set, torch.Size) and not hasattr(tuple, name):
        found = class_value(reader, owner, cls, name)
        if found is None:
            reader.emit.raise_error("AttributeError", f"'{cls.__name__}' object has no attribute '{name}'")
        return found
    return method_or_error(reader, owner, name)


@verbs.item.of(TupleValue)
def tuple_item(reader: Reader, owner: TupleValue, index: AbstractValue) -> AbstractValue:
    if is_known_index(index):
        return pick(reader, owner, list(owner.items), require_known(reader, index, "an index"))
    if is_plain_tuple(owner) and is_never_known(reader, index):
        found: AbstractValue = owner
        with suppress(UserError):  # fails where the items have several types
            found = wrap(reader, any_length(reader, owner))
        if isinstance(found, ListValue):
            return reader.subscript(found, index)
    return pick(reader, owner, list(owner.items), known_index(reader, owner, index))


@verbs.delete_item.of(TupleValue)
def delete_tuple_item(reader: Reader, owner: TupleValue, index: AbstractValue) -> None:
    delete_by_method(reader, owner, index)


@verbs.truth.of(TupleValue)
def tuple_truth(reader: Reader, owner: TupleValue) -> AbstractValue:
    return truth_of_object(reader, owner) if defines(owner, "__bool__") else Known(bool(owner.items))


@verbs.length.of(TupleValue)
def tuple_length(reader: Reader, owner: TupleValue) -> AbstractValue:
    return Known(len(owner.items))


@contains.of(TupleValue)
def tuple_contains(reader: Reader, owner: TupleValue, item: AbstractValue) -> AbstractValue:
    return is_among(reader, item, owner.items)


@verbs.walk.of(TupleValue)
def walk_tuple(reader: Reader, owner: TupleValue, site: Any) -> Walk:
    return Walk(items=list(owner.items))


@verbs.text_parts.of(TupleValue)
def tuple_text(reader: Reader, owner: TupleValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    cls, items = owner.cls, list(owner.items)
    if cls is torch.Size:
        yield from listed_text(reader, "torch.Size([", items, "])")
    elif hasattr(cls, "_fields"):
        yield named_tuple_text(reader, owner, cls, quoted)
    elif cls is tuple:
        yield from listed_text(reader, "(", items, ",)" if len(items) == 1 else ")")
    else:
        reader.reject("text_of_other", what=describe(owner))


@unpacked_items.of(TupleValue)
def unpack_tuple(reader: Reader, owner: TupleValue, count: int | None) -> list[AbstractValue]:
    return list(owner.items)


@require_known.of(TupleValue)
def objects_of_tuple(reader: Reader, owner: TupleValue, what: str) -> Any:
    return tuple(require_known(reader, i, what) for i in owner.items)
