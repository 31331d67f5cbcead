"""Run-time lists that keep the length with which they are made. Their items change, or come from a list of lists.

The type variable of a list has the length of all lists that it stands for. Code that needs the items one by one, such as
the sizes of a new tensor, takes the length from there.
"""

from __future__ import annotations

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ListValue
from scriptc.frontend.values.structure import LONG
from scriptc.ir.core import Value
from scriptc.ir.types import UNSEEN, ListType, TypeVariable


def lasting_length(av: ListValue) -> int | None:
    """Return the length that a run-time list keeps; None if the length may change, or depends on run-time values.

    `Speculation.settle_element_types` says what becomes of this reading if the list then gets another length.
    """
    variable = _variable_of(av.value)
    if variable is None or variable.length in (None, UNSEEN) or variable.length > LONG:
        return None
    variable.counted = True
    return variable.length


def note_new_length(value: Value) -> None:
    """Note that a run-time list grows or shrinks, or that a list of another length shares its type variable."""
    variable = _variable_of(value)
    if variable is not None:
        variable.miscounted |= variable.counted
        variable.length = None


def all_items(reader: Reader, av: AbstractValue) -> list[AbstractValue] | None:
    """Return the items of a list made in compiled code; None if its length is not known."""
    if not isinstance(av, ListValue):
        return None
    if av.items is None and lasting_length(av) is None:
        return None
    return reader.iterate(av)


def _variable_of(value: Value | None) -> TypeVariable | None:
    if value is None or not isinstance(value.type, ListType) or value.type.is_tuple:
        return None
    return value.type.variable.find()
