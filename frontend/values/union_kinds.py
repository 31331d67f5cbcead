"""The kinds that `OneOf` tells apart. A join makes one value of all values of one kind."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeGuard

from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    RecordDictValue,
    RecordValue,
    RuntimeValue,
)
from scriptc.frontend.values.element_types import type_kind
from scriptc.ir.types import BOOL, FLOAT, INT, NEVER, STR, ListType, TensorType, Type

NUMBERS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT}


TEXT_KIND = str(STR)  # the kind of run-time strings


TUPLE_KIND = "tuple"  # the kind of tuples of unknown length


def kind_of_tuples(t: Type) -> Hashable:
    """Return the kind of tuples of any length: one kind for all, except that tensors have one for each dtype and
    rank."""
    elem = t.elem if isinstance(t, ListType) else NEVER
    return (TUPLE_KIND, type_kind(elem)) if isinstance(elem, TensorType) else TUPLE_KIND


def is_run_time_value(av: AbstractValue) -> TypeGuard[RuntimeValue | RecordValue | RecordDictValue]:
    return isinstance(av, (RuntimeValue, *RECORDS))
