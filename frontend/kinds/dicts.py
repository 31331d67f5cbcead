"""Dicts and sets: with known keys, which exist in the compiler, and with run-time keys."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from scriptc.frontend.environment.aot_kinds import kept_kinds
from scriptc.frontend.environment.results import DictMaker, factory_of, result_tree
from scriptc.frontend.environment.slots import is_default_of_slot
from scriptc.frontend.environment.specs import DictSpec, Spec, TupleSpec
from scriptc.frontend.library.python import strings_decomposed as strings
from scriptc.frontend.operations.attributes import method_or_error
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.dict_views import walk_known_dict
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.runtime_dicts import (
    choose_by_key,
    has_key,
    is_function_table,
    key_of,
    known_get,
    refuse_numpy_key,
    table_delete,
    table_get,
    table_set,
    walk_table,
)
from scriptc.frontend.reader.contents import may_have, optional_items, set_items
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import (
    AbstractValue,
    DictValue,
    Known,
    MaybeUnbound,
    RuntimeValue,
    Structure,
)
from scriptc.frontend.values.predicates import is_of_caller, made_of, may_be_unbound, place_of_caller, python_of
from scriptc.frontend.values.structure import keyed_structure, location_key
from scriptc.frontend.values.verbs import describe, frozen, text_parts
from scriptc.frontend.values.walk import Walk
from scriptc.ir.core import Value
from scriptc.ir.types import DictType, SetType

# ---- dicts with known keys ----


@verbs.describe.of(DictValue)
def dict_description(owner: DictValue) -> str:
    return f"a {owner.made.cls.__name__}"


@verbs.structure_of.of(DictValue)
def dict_structure(owner: DictValue) -> Structure:
    home, sites, made = owner.home, owner.sites, owner.made
    make = lambda held: DictValue(held, home=home, sites=sites, made=made)  # noqa: E731
    return keyed_structure(("dict", location_key(home), made), owner.items, make)


@verbs.held_values.of(DictValue)
def held_by_dict(owner: DictValue) -> Sequence[AbstractValue]:
    return list(owner.items.values())


@verbs.frozen.of(DictValue)
def frozen_dict(owner: DictValue) -> AbstractValue:
    if is_of_caller(owner):
        return owner
    return dict_with_content(owner, {k: frozen(v) for k, v in owner.items.items()})


@verbs.with_content.of(DictValue)
def dict_with_content(owner: DictValue, held: dict[Any, AbstractValue]) -> AbstractValue:
    return DictValue(held, owner.ident, owner.home, owner.sites, owner.made)


@verbs.result_of.of(DictValue)
def dict_result(owner: DictValue) -> tuple[Spec, list[AbstractValue]]:
    place, keys, made = place_of_caller(owner), tuple(owner.items), owner.made
    if place is not None:
        return place, []
    if owner.home is not None and owner.home.owner is not None:
        raise Conflict(f"{describe(owner)}, which cannot be returned from compiled code")
    if made.cls is dict:
        return result_tree([*owner.items.values()], lambda specs: DictSpec(keys, specs))
    make = DictMaker(made.cls, factory_of(made), keys)
    return result_tree([*owner.items.values()], lambda specs: TupleSpec(specs, make))


@kept_kinds.of(DictValue)
def kept_kinds_of_dict(owner: DictValue) -> list[Any]:
    rows = itertools.product(*map(kept_kinds, owner.items.values()))
    return [DictSpec(tuple(owner.items), tuple(parts)) for parts in rows]


@verbs.materialize.of(DictValue)
def materialize_dict(reader: Reader, owner: DictValue) -> Value:
    reader.speculation.promote(owner)
    reader.reject("no_run_time_value", who="this", what=describe(owner))


@verbs.python_class.of(DictValue)
def class_of_dict(reader: Reader, owner: DictValue) -> type:
    return owner.made.cls


@verbs.class_name_of.of(DictValue)
def class_name_of_dict(reader: Reader, owner: DictValue) -> str:
    return owner.made.cls.__name__


@verbs.attribute.of(DictValue)
def read_dict_attribute(reader: Reader, owner: DictValue, name: str) -> AbstractValue:
    return method_or_error(reader, owner, name)


@verbs.item.of(DictValue)
def dict_item(reader: Reader, owner: DictValue, index: AbstractValue) -> AbstractValue:
    return known_get(reader, owner, index)


@verbs.store_item.of(DictValue)
def store_dict_item(reader: Reader, owner: DictValue, index: AbstractValue, value: AbstractValue) -> None:
    refuse_numpy_key(reader, owner, index)
    key = key_of(reader, owner, index)
    items = optional_items(reader, owner) if owner.home is None else reader.items_of(owner)
    some = may_have(reader, owner, key)
    if some is not None and is_default_of_slot(reader, owner):
        behind = [*items][[*items].index(key) + 1 :]
        is_alone = reader.choose(some.flag, lambda: Known(True), lambda: _has_none(reader, [items[k] for k in behind]))
        check_that(reader, is_alone, "NotImplementedError", f"key {key!r} of a dict outside comes behind keys of other paths")
    elif some is not None and [*items][-1] != key:
        value = MaybeUnbound(Known(True), value, placed=False)  # the key is where it was on some paths, and last on others
    set_items(reader, owner, {**items, key: value})


def _has_none(reader: Reader, items: Sequence[AbstractValue]) -> AbstractValue:
    """Return whether a dict has none of some items, which it may have."""
    if not items:
        return Known(True)
    flag = items[0].flag if may_be_unbound(items[0]) else Known(True)
    return reader.choose(flag, lambda: Known(False), lambda: _has_none(reader, items[1:]))


@verbs.delete_item.of(DictValue)
def delete_dict_item(reader: Reader, owner: DictValue, index: AbstractValue) -> None:
    key, items = key_of(reader, owner, index), dict(reader.items_of(owner))
    if key not in items:
        reader.emit.raise_error("KeyError", repr(key))
    del items[key]
    set_items(reader, owner, items)


@verbs.truth.of(DictValue)
def dict_truth(reader: Reader, owner: DictValue) -> AbstractValue:
    return reader.compare("Gt", verbs.length(reader, owner), Known(0))


@verbs.length.of(DictValue)
def dict_length(reader: Reader, owner: DictValue) -> AbstractValue:
    items = optional_items(reader, owner).values() if reader.assumptions.keeps_items else reader.items_of(owner).values()
    length: AbstractValue = Known(sum(not may_be_unbound(item) for item in items))
    for item in items:
        if may_be_unbound(item):
            one = reader.choose(item.flag, lambda: Known(1), lambda: Known(0))
            length = reader.binary("Add", length, one)
    return length


@contains.of(DictValue)
def dict_contains(reader: Reader, owner: DictValue, item: AbstractValue) -> AbstractValue:
    if not is_function_table(reader, owner, item):
        key = key_of(reader, owner, item)
        some = may_have(reader, owner, key)
        return Known(key in optional_items(reader, owner)) if some is None else some.flag
    keys = [*reader.items_of(owner)]
    return choose_by_key(reader, item, keys, lambda key: Known(True), lambda: Known(False))


@verbs.walk.of(DictValue)
def walk_dict(reader: Reader, owner: DictValue, site: Any) -> Walk:
    return walk_known_dict(reader, owner, "keys")


@verbs.text_parts.of(DictValue)
def dict_text(reader: Reader, owner: DictValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield Known("{")
    for i, (key, item) in enumerate(reader.items_of(owner).items()):
        yield Known(f"{', ' if i else ''}{key!r}: ")
        yield from text_parts(reader, item, quoted=True)
    yield Known("}")


# ---- dicts and sets with run-time keys ----


@verbs.kind_of.of(DictType, SetType)
def table_kind(owner: RuntimeValue) -> Hashable:
    return type(owner.type), made_of(owner.type)


@verbs.python_class.of(DictType, SetType)
def class_of_table(reader: Reader, owner: RuntimeValue) -> type:
    return python_of(owner.type)


@verbs.class_name_of.of(DictType, SetType)
def class_name_of_table(reader: Reader, owner: RuntimeValue) -> str:
    return python_of(owner.type).__name__


@verbs.item.of(DictType)
def table_item(reader: Reader, owner: RuntimeValue, index: AbstractValue) -> AbstractValue:
    return table_get(reader, owner, index)


@verbs.store_item.of(DictType)
def store_table_item(reader: Reader, owner: RuntimeValue, index: AbstractValue, value: AbstractValue) -> None:
    table_set(reader, owner, index, value)


@verbs.delete_item.of(DictType)
def delete_table_item(reader: Reader, owner: RuntimeValue, index: AbstractValue) -> None:
    table_delete(reader, owner, index)


@verbs.truth.of(DictType, SetType)
def table_truth(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("int.to_bool", [reader.emit.build("dict.len", [owner.value])]))


@verbs.length.of(DictType, SetType)
def table_length(reader: Reader, owner: RuntimeValue) -> AbstractValue:
    return RuntimeValue(reader.emit.build("dict.len", [owner.value]))


@contains.of(DictType, SetType)
def table_contains(reader: Reader, owner: RuntimeValue, item: AbstractValue) -> AbstractValue:
    return has_key(reader, owner, item)


@verbs.is_run_time.of(DictType, SetType)
def is_table_run_time(reader: Reader, owner: RuntimeValue) -> bool:
    return True


@verbs.walk.of(DictType, SetType)
def walk_run_time_table(reader: Reader, owner: RuntimeValue, site: Any) -> Walk:
    return walk_table(reader, owner)


@verbs.text_parts.of(DictType)
def table_text(reader: Reader, owner: RuntimeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield reader.call(Known(strings.dict_text), [owner], {})


@verbs.text_parts.of(SetType)
def set_text(reader: Reader, owner: RuntimeValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield reader.call(Known(strings.set_text), [owner], {})
