"""The kinds that `OneOf` tells apart: values of one kind join to one value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeGuard

from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    Known,
    ListValue,
    RecordDictValue,
    RecordValue,
    RuntimeValue,
    describe,
    made_of,
)
from scriptc.frontend.values.element_types import type_kind
from scriptc.frontend.values.structure import shape_of
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, STR, DictType, ListType, SetType, TensorType, Type

NUMBERS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT}


TEXT_KIND = str(STR)  # the kind of strings made at run time


TUPLE_KIND = "tuple"  # the kind of tuples of any length


def kind_of_tuples(t: Type) -> Hashable:
    """Tuples of any length are of one kind, but for those of tensors: of one for each dtype and rank."""
    elem = t.elem if isinstance(t, ListType) else NEVER
    return (TUPLE_KIND, type_kind(elem)) if isinstance(elem, TensorType) else TUPLE_KIND


def kind_of(av: AbstractValue) -> Hashable:
    """Equal for values that one plan other than `OneOfPlan` can stand for; Conflict for those that no plan can."""
    shape = shape_of(av)
    if shape is not None:
        return shape.key
    match av:
        case Known(obj) if type(obj) in NUMBERS:
            return str(NUMBERS[type(obj)])
        case Known(obj):
            return ("known", type(obj), obj if isinstance(obj, str) or obj is None else id(obj))
        case RuntimeValue(value) if isinstance(value.type, TensorType):
            return ("tensor", value.type.dtype, value.type.rank)
        case RuntimeValue(value) if isinstance(value.type, (DictType, SetType)):
            return (type(value.type), made_of(value.type))
        case RuntimeValue(value):
            return str(value.type)
        case RecordValue() | RecordDictValue():
            return "object", av.record.name
        case ListValue(value) if value is not None:
            return kind_of_tuples(value.type) if av.is_tuple else "list"
    raise Conflict(describe(av))


def is_run_time_value(av: AbstractValue) -> TypeGuard[RuntimeValue | RecordValue | RecordDictValue]:
    return isinstance(av, (RuntimeValue, *RECORDS))
