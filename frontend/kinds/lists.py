"""Lists, and tuples whose length is known only at run time.

A list made in compiled code is a run-time list. While nothing changes it, the front end also knows the items that it
was made with (`ListValue.items`). A list whose length is known throughout (`KnownLengthListValue`) exists in the
compiler alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.results import result_tree, spec_of_type
from scriptc.frontend.environment.specs import Spec, TupleSpec
from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.library.python import strings_decomposed as strings
from scriptc.frontend.operations.attributes import method_or_error
from scriptc.frontend.operations.comparison import contains, is_among
from scriptc.frontend.operations.formatting import listed_text
from scriptc.frontend.operations.indices import has_step, integer, is_slice, slice_bounds
from scriptc.frontend.operations.materialize import item_for, new_list, refuse_value, stored, wrap
from scriptc.frontend.operations.tuples import any_length_method
from scriptc.frontend.reader.constant_demand import demand_where_items_are_kept, require_known
from scriptc.frontend.reader.contents import edit, in_each_content
from scriptc.frontend.reader.errors import Conflict, NeedsKnown
from scriptc.frontend.reader.iterables import count_of_parts
from scriptc.frontend.reader.iteration import current_items, walk_list
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.recursion import kinds_of_leaves
from scriptc.frontend.reader.refinements import lasting_length, note_new_length
from scriptc.frontend.reader.statements import counted_items, unpacked_items
from scriptc.frontend.reader.subscripts import fetched, has_known_bounds, is_known_index, known_index, pick, splice_list
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Known,
    KnownLengthListValue,
    ListValue,
    RuntimeValue,
    Structure,
)
from scriptc.frontend.values.element_types import is_of_numbers
from scriptc.frontend.values.predicates import has_known_length, is_empty_list, is_none, is_of_caller, place_of_caller
from scriptc.frontend.values.structure import LONG, keyed_structure, location_key, slice_parts
from scriptc.frontend.values.union_kinds import kind_of_tuples
from scriptc.frontend.values.verbs import describe, frozen, kind_of, materialize, structure_of
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import ListType, Type


@verbs.describe.of(ListValue)
def list_description(owner: ListValue) -> str:
    return "a tuple" if owner.is_tuple else "a list"


@verbs.structure_of.of(ListValue)
def list_structure(owner: ListValue) -> Structure | None:
    if owner.value is not None or owner.items is None:
        return None
    return Structure(("items", len(owner.items)), owner.items, lambda parts: ListValue(None, parts, owner.site))


@verbs.structure_of.of(KnownLengthListValue)
def known_length_structure(owner: KnownLengthListValue) -> Structure:
    home, site, reader = owner.home, owner.site, owner.reader
    make = lambda held: KnownLengthListValue(held, reader, home=home, site=site)  # noqa: E731
    return keyed_structure(("list", location_key(home)), owner.first, make)


@verbs.kind_of.of(ListValue)
def list_kind(owner: ListValue) -> Hashable:
    structure = structure_of(owner)
    if structure is not None:
        return structure.key
    if owner.value is None:
        raise Conflict(describe(owner))
    return kind_of_tuples(owner.value.type) if owner.is_tuple else "list"


@verbs.joined_type.of(ListValue)
def type_of_joined_list(owner: ListValue) -> Type:
    if owner.value is None:
        raise Conflict(describe(owner))
    return owner.value.type


@verbs.held_values.of(ListValue)
def held_by_list(owner: ListValue) -> Sequence[AbstractValue]:
    return owner.items or ()


@verbs.held_values.of(KnownLengthListValue)
def held_by_known_length(owner: KnownLengthListValue) -> Sequence[AbstractValue]:
    return list(owner.first.values())


@verbs.frozen.of(KnownLengthListValue)
def frozen_list(owner: KnownLengthListValue) -> AbstractValue:
    if is_of_caller(owner):
        return owner
    return KnownLengthListValue({k: frozen(v) for k, v in owner.first.items()}, None, owner.ident, owner.home)


@verbs.with_content.of(KnownLengthListValue)
def list_with_content(owner: KnownLengthListValue, held: dict[Any, AbstractValue]) -> AbstractValue:
    return KnownLengthListValue(held, owner.reader, owner.ident, owner.home, owner.site)


@verbs.result_of.of(ListValue)
def list_result(owner: ListValue) -> tuple[Spec, list[AbstractValue]]:
    place = place_of_caller(owner)
    if place is not None:
        return place, []
    if owner.value is not None and isinstance(owner.value.type, ListType):
        return spec_of_type(owner.value.type), [owner]
    if owner.items is None:
        raise Conflict(f"{describe(owner)}, which cannot be returned from compiled code")
    return result_tree(owner.items, lambda specs: TupleSpec(specs, list))


@kept_kinds.of(KnownLengthListValue)
def kept_kinds_of_list(owner: KnownLengthListValue) -> list[Any]:
    raise Conflict(describe(owner))


@verbs.materialize.of(ListValue)
def materialize_list(reader: Reader, owner: ListValue) -> Value:
    if owner.value is None:
        refuse_value(reader, owner)
    return owner.value


@verbs.python_class.of(ListValue)
def class_of_list(reader: Reader, owner: ListValue) -> type:
    return tuple if owner.is_tuple else list


@verbs.class_name_of.of(ListValue)
def class_name_of_list(reader: Reader, owner: ListValue) -> str:
    return "tuple" if owner.is_tuple else "list"


@verbs.attribute.of(ListValue)
def read_list_attribute(reader: Reader, owner: ListValue, name: str) -> AbstractValue:
    if owner.is_tuple and name != "__class__":
        return any_length_method(reader, owner, name)
    return method_or_error(reader, owner, name)


@verbs.item.of(ListValue)
def list_item_at(reader: Reader, owner: ListValue, index: AbstractValue) -> AbstractValue:
    items = owner.items
    if items is not None and is_known_index(index):
        owner.observed = True
        return pick(reader, owner, list(items), require_known(reader, index, "an index"))
    if owner.value is None:
        if not has_known_bounds(index):
            demand_where_items_are_kept(reader, index, "it is the index into a list that is kept item by item")
            promote_objects(reader, owner.items or [])
        return pick(reader, owner, owner.items or [], known_index(reader, owner, index))
    if is_slice(index):
        if not all(map(is_none, slice_parts(index))):
            note_new_length(owner.value)
        return wrap(reader, reader.emit.build("list.slice", [owner.value, *slice_bounds(reader, index)]))
    if is_empty_list(owner):
        reader.emit.raise_error("IndexError", "list index out of range")
    return fetched(reader, materialize(reader, owner), integer(reader, index))


@verbs.store_item.of(ListValue)
def store_list_item(reader: Reader, owner: ListValue, index: AbstractValue, value: AbstractValue) -> None:
    if not is_slice(index):
        item = stored(reader, owner, value)
        target = reader.speculation.mutate(owner)
        reader.speculation.widen(target.type, 0, item.type)
        reader.emit.effect("list.set", [target, integer(reader, index), item_for(reader, target, item)])
    elif has_step(index):
        reader.call(Known(lists.set_slice), [owner, *slice_parts(index), value], {})
    else:
        start, stop, _ = slice_bounds(reader, index)
        splice_list(reader, owner, start, stop, value)


@verbs.store_item.of(KnownLengthListValue)
def store_known_length_item(
    reader: Reader, owner: KnownLengthListValue, index: AbstractValue, value: AbstractValue
) -> None:
    place = known_index(reader, owner, index)
    if isinstance(place, slice):
        edit(reader, owner, lambda items: items.__setitem__(place, reader.iterate(value)))
    else:
        edit(reader, owner, lambda items: items.__setitem__(place, value))


@verbs.delete_item.of(ListValue)
def delete_list_item(reader: Reader, owner: ListValue, index: AbstractValue) -> None:
    if not is_slice(index):
        target = reader.speculation.mutate(owner, resizes=True)
        reader.emit.effect("list.delete", [target, integer(reader, index)])
    elif has_step(index):
        reader.call(Known(lists.delete_slice), [owner, *slice_parts(index)], {})
    else:
        reader.store_item(owner, index, new_list(reader, [], (reader.position.loc, "del")))


@verbs.delete_item.of(KnownLengthListValue)
def delete_known_length_item(reader: Reader, owner: KnownLengthListValue, index: AbstractValue) -> None:
    place = known_index(reader, owner, index)
    edit(reader, owner, lambda items: items.__delitem__(place))


@verbs.truth.of(ListValue)
def list_truth(reader: Reader, owner: ListValue) -> AbstractValue:
    if owner.items is not None:
        owner.observed = True
        return Known(bool(owner.items))
    if owner.value is None:
        return Known(True)
    return RuntimeValue(reader.emit.build("int.to_bool", [reader.emit.build("list.len", [owner.value])]))


@verbs.length.of(ListValue)
def list_length(reader: Reader, owner: ListValue) -> AbstractValue:
    if has_known_length(owner):
        owner.observed = True
        return in_each_content(reader, owner, lambda: Known(len(owner.items)))
    if owner.items is not None:
        owner.observed = True
        return Known(len(owner.items))
    if (count := count_of_parts(owner.value)) is not None:
        return Known(count)
    return RuntimeValue(reader.emit.build("list.len", [materialize(reader, owner)]))


@contains.of(ListValue)
def list_contains(reader: Reader, owner: ListValue, item: AbstractValue) -> AbstractValue:
    if owner.items is None and not is_empty_list(owner):
        return reader.call(Known(lists.contains), [owner, item], {})
    return is_among(reader, item, reader.iterate(owner))


@verbs.is_run_time.of(ListValue)
def is_list_run_time(reader: Reader, owner: ListValue) -> bool:
    count = count_of_parts(owner.value)
    return owner.items is None and not is_empty_list(owner) and (count is None or count > LONG)


@verbs.walk.of(ListValue)
def walk_list_value(reader: Reader, owner: ListValue, site: Any) -> Walk:
    if owner.items is not None:
        owner.observed = True
        return Walk(items=list(owner.items))
    if is_empty_list(owner):
        return Walk()
    walk, count = walk_list(reader, owner), count_of_parts(owner.value)
    if site is None and count is None:
        count = lasting_length(owner)
    if site is None and count is not None and count <= LONG and walk.item is not None:
        return Walk(items=[walk.item(Known(i)) for i in range(count)])
    return walk


@verbs.walk.of(KnownLengthListValue)
def walk_known_length(reader: Reader, owner: KnownLengthListValue, site: Any) -> Walk:
    return Walk(items=current_items(owner))


@verbs.text_parts.of(ListValue)
def list_text(reader: Reader, owner: ListValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    if owner.items is not None:
        owner.observed = True
        yield from listed_text(reader, "[", owner.items, "]")
    elif owner.is_tuple:
        yield reader.call(Known(strings.tuple_text), [owner], {})
    else:
        yield Known("[]") if is_empty_list(owner) else reader.call(Known(strings.list_text), [owner], {})


@verbs.leaf_kinds.of(ListValue)
def kinds_of_list(owner: ListValue) -> Iterator[Hashable]:
    if owner.value is not None:
        yield kind_of(owner)
        return
    yield "list of kinds"
    for item in owner.items or ():
        yield from kinds_of_leaves(item)


@unpacked_items.of(ListValue)
def unpack_list(reader: Reader, owner: ListValue, count: int | None) -> list[AbstractValue]:
    if owner.items is not None:
        owner.observed = True
        return list(owner.items)
    if owner.value is None or count is None:
        return reader.iterate(owner)
    return counted_items(reader, owner, reader.emit.build("list.len", [owner.value]), count)


@require_known.of(ListValue)
def objects_of_list(reader: Reader, owner: ListValue, what: str) -> Any:
    if owner.items is not None:
        owner.observed = True
        return [require_known(reader, i, what) for i in owner.items]
    error = reader.diagnostics.error("not_known", what=what, found=describe(owner))
    if owner.value is not None and is_of_numbers(owner.value.type):
        raise NeedsKnown(owner.value, error)
    raise error
