"""Read-only views of dicts: `types.MappingProxyType`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NoReturn

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.attributes import class_itself
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.runtime_dicts import is_dict_like
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, Structure
from scriptc.frontend.values.verbs import class_name_of, python_class, text_parts
from scriptc.frontend.values.walk import Walk

_NAME = MappingProxyType.__name__


@dataclass(eq=False, slots=True)
class MappingProxyValue(AbstractValue):
    """`MappingProxyType(table)`, which reads what the dict holds at the time."""

    table: AbstractValue


@serves("types.MappingProxyType")
def make_mapping_proxy(reader: Reader, mapping: AbstractValue) -> AbstractValue:
    if is_dict_like(mapping):
        return MappingProxyValue(mapping)
    if issubclass(python_class(reader, mapping), Mapping):
        reader.reject("object_of_other_class", name=_NAME)
    reader.emit.raise_error("TypeError", f"mappingproxy() argument must be a mapping, not {class_name_of(reader, mapping)}")


@verbs.structure_of.of(MappingProxyValue)
def mapping_proxy_structure(owner: MappingProxyValue) -> Structure:
    return Structure("mapping proxy", [owner.table], lambda parts: MappingProxyValue(*parts))


@verbs.describe.of(MappingProxyValue)
def mapping_proxy_description(owner: MappingProxyValue) -> str:
    return f"a {_NAME}"


@verbs.held_values.of(MappingProxyValue)
def held_by_mapping_proxy(owner: MappingProxyValue) -> Sequence[AbstractValue]:
    return [owner.table]


@verbs.dict_behind.of(MappingProxyValue)
def dict_behind_mapping_proxy(reader: Reader, owner: MappingProxyValue) -> AbstractValue:
    return owner.table


@verbs.python_class.of(MappingProxyValue)
def class_of_mapping_proxy(reader: Reader, owner: MappingProxyValue) -> type:
    return MappingProxyType


@verbs.class_name_of.of(MappingProxyValue)
def class_name_of_mapping_proxy(reader: Reader, owner: MappingProxyValue) -> str:
    return _NAME


@verbs.attribute.of(MappingProxyValue)
def read_mapping_proxy_attribute(reader: Reader, owner: MappingProxyValue, name: str) -> AbstractValue:
    if name == "__class__":
        return class_itself(reader, owner)
    if not hasattr(MappingProxyType, name):
        reader.emit.raise_error("AttributeError", f"'{_NAME}' object has no attribute '{name}'")
    return reader.attribute(owner.table, name)


@verbs.item.of(MappingProxyValue)
def mapping_proxy_item(reader: Reader, owner: MappingProxyValue, index: AbstractValue) -> AbstractValue:
    return reader.subscript(owner.table, index)


@verbs.store_item.of(MappingProxyValue)
def store_mapping_proxy_item(
    reader: Reader, owner: MappingProxyValue, index: AbstractValue, value: AbstractValue
) -> NoReturn:
    reader.emit.raise_error("TypeError", f"'{_NAME}' object does not support item assignment")


@verbs.delete_item.of(MappingProxyValue)
def delete_mapping_proxy_item(reader: Reader, owner: MappingProxyValue, index: AbstractValue) -> NoReturn:
    reader.emit.raise_error("TypeError", f"'{_NAME}' object does not support item deletion")


@verbs.truth.of(MappingProxyValue)
def mapping_proxy_truth(reader: Reader, owner: MappingProxyValue) -> AbstractValue:
    return reader.truth(owner.table)


@verbs.length.of(MappingProxyValue)
def mapping_proxy_length(reader: Reader, owner: MappingProxyValue) -> AbstractValue:
    return reader.call(Known(len), [owner.table], {})


@contains.of(MappingProxyValue)
def mapping_proxy_contains(reader: Reader, owner: MappingProxyValue, item: AbstractValue) -> AbstractValue:
    return contains(reader, owner.table, item)


@verbs.is_run_time.of(MappingProxyValue)
def is_mapping_proxy_run_time(reader: Reader, owner: MappingProxyValue) -> bool:
    return verbs.is_run_time(reader, owner.table)


@verbs.walk.of(MappingProxyValue)
def walk_mapping_proxy(reader: Reader, owner: MappingProxyValue, site: Any) -> Walk:
    return verbs.walk(reader, owner.table, site)


@verbs.text_parts.of(MappingProxyValue)
def mapping_proxy_text(reader: Reader, owner: MappingProxyValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    if quoted:
        yield Known(f"{_NAME}(")
    yield from text_parts(reader, owner.table, quoted=True)
    if quoted:
        yield Known(")")
