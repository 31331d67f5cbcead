"""Objects, and dicts with known keys, that exist at run time, so that a value may be any one of several."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from scriptc.frontend.environment.results import spec_of_type
from scriptc.frontend.environment.specs import Spec
from scriptc.frontend.operations.objects import record_attribute
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, RecordDictValue, RecordValue, Structure
from scriptc.frontend.values.verbs import kind_of
from scriptc.ir.core import Value
from scriptc.ir.types import Type


@verbs.structure_of.of(RecordValue, RecordDictValue)
def record_structure(owner: RecordValue | RecordDictValue) -> Structure | None:
    return None


@verbs.kind_of.of(RecordValue, RecordDictValue)
def record_kind(owner: RecordValue | RecordDictValue) -> Hashable:
    return "object", owner.record.name


@verbs.joined_type.of(RecordValue, RecordDictValue)
def record_type(owner: RecordValue | RecordDictValue) -> Type:
    return owner.value.type


@verbs.frozen.of(RecordValue, RecordDictValue)
def frozen_record(owner: RecordValue | RecordDictValue) -> AbstractValue:
    return owner


@verbs.result_of.of(RecordValue, RecordDictValue)
def record_result(owner: RecordValue | RecordDictValue) -> tuple[Spec, list[AbstractValue]]:
    return spec_of_type(owner.value.type), [owner]


@verbs.materialize.of(RecordValue, RecordDictValue)
def materialize_record(reader: Reader, owner: RecordValue | RecordDictValue) -> Value:
    return owner.value


@verbs.attribute.of(RecordValue)
def read_record_attribute(reader: Reader, owner: RecordValue, name: str) -> AbstractValue:
    return record_attribute(reader, owner, name)


@verbs.leaf_kinds.of(RecordValue, RecordDictValue)
def kind_of_record(owner: RecordValue | RecordDictValue) -> Iterator[Hashable]:
    yield kind_of(owner)
