"""`__dict__` of objects that compiled code makes: a dict whose changes are changes of the object's attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.reader.contents import set_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, AttributeDictValue, DictValue, Native, Structure
from scriptc.frontend.values.user_classes import CONTENT
from scriptc.frontend.values.walk import Walk


def copy_of(reader: Reader, value: AttributeDictValue) -> DictValue:
    """Return a dict with the present attributes."""
    return DictValue({name: av for name, av in reader.items_of(value.owner).items() if name != CONTENT})


def changing(reader: Reader, value: AttributeDictValue, run: Callable[[DictValue], Any]) -> Any:
    """Run what may change the dict, and make the same changes of the object."""
    held = copy_of(reader, value)
    result = run(held)
    now, before = reader.items_of(held), reader.items_of(value.owner)
    if now is not held.items:
        set_items(reader, value.owner, {name: av for name, av in before.items() if name == CONTENT} | now)
    return result


@verbs.structure_of.of(AttributeDictValue)
def attribute_dict_structure(owner: AttributeDictValue) -> Structure:
    return Structure("attribute dict", [owner.owner], lambda parts: AttributeDictValue(*parts))  # type: ignore[arg-type]


@verbs.describe.of(AttributeDictValue)
def attribute_dict_description(owner: AttributeDictValue) -> str:
    return f"the __dict__ of {verbs.describe(owner.owner)}"


@verbs.held_values.of(AttributeDictValue)
def held_by_attribute_dict(owner: AttributeDictValue) -> Sequence[AbstractValue]:
    return [owner.owner]


@verbs.dict_behind.of(AttributeDictValue)
def dict_behind_attribute_dict(reader: Reader, owner: AttributeDictValue) -> AbstractValue:
    return copy_of(reader, owner)


@verbs.python_class.of(AttributeDictValue)
def class_of_attribute_dict(reader: Reader, owner: AttributeDictValue) -> type:
    return dict


@verbs.class_name_of.of(AttributeDictValue)
def class_name_of_attribute_dict(reader: Reader, owner: AttributeDictValue) -> str:
    return "dict"


@verbs.attribute.of(AttributeDictValue)
def attribute_dict_method(reader: Reader, owner: AttributeDictValue, name: str) -> AbstractValue:
    return Native(
        lambda *args, **kwargs: changing(
            reader, owner, lambda held: reader.call(reader.attribute(held, name), args, kwargs)
        )
    )


@verbs.item.of(AttributeDictValue)
def attribute_dict_item(reader: Reader, owner: AttributeDictValue, index: AbstractValue) -> AbstractValue:
    return reader.subscript(copy_of(reader, owner), index)


@verbs.store_item.of(AttributeDictValue)
def store_attribute_dict_item(
    reader: Reader, owner: AttributeDictValue, index: AbstractValue, value: AbstractValue
) -> None:
    changing(reader, owner, lambda held: reader.store_item(held, index, value))


@verbs.delete_item.of(AttributeDictValue)
def delete_attribute_dict_item(reader: Reader, owner: AttributeDictValue, index: AbstractValue) -> None:
    changing(reader, owner, lambda held: reader.delete_item(held, index))


@verbs.truth.of(AttributeDictValue)
def attribute_dict_truth(reader: Reader, owner: AttributeDictValue) -> AbstractValue:
    return reader.truth(copy_of(reader, owner))


@verbs.length.of(AttributeDictValue)
def attribute_dict_length(reader: Reader, owner: AttributeDictValue) -> AbstractValue:
    return verbs.length(reader, copy_of(reader, owner))


@contains.of(AttributeDictValue)
def attribute_dict_contains(reader: Reader, owner: AttributeDictValue, item: AbstractValue) -> AbstractValue:
    return contains(reader, copy_of(reader, owner), item)


@verbs.walk.of(AttributeDictValue)
def walk_attribute_dict(reader: Reader, owner: AttributeDictValue, site: Any) -> Walk:
    return reader.iteration(copy_of(reader, owner), site)


@verbs.text_parts.of(AttributeDictValue)
def attribute_dict_text(
    reader: Reader, owner: AttributeDictValue, *, quoted: bool = False
) -> Iterator[AbstractValue]:
    yield from verbs.text_parts(reader, copy_of(reader, owner), quoted=quoted)
