"""Note what is known of all run-time containers that a type variable stands for, beside the type of their items.

Lists may keep the length with which they are made, though their items change, or come from a list of lists. Code that needs
the items one by one, such as the sizes of a new tensor, takes the length from the type variable. Dicts with items of several
kinds may have one kind under each known key. `Speculation.settle_element_types` says what becomes of a reading if a
container then gets another length or another kind of items.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scriptc.frontend.reader.assumptions import TableSite
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, ListValue
from scriptc.frontend.values.element_types import kinds_of
from scriptc.frontend.values.predicates import is_known
from scriptc.frontend.values.structure import LONG
from scriptc.ir.core import Value
from scriptc.ir.types import UNSEEN, DictType, ListType, Type, TypeVariable


def lasting_length(av: ListValue) -> int | None:
    """Return the length that a run-time list keeps; None if the length may change, or depends on run-time values."""
    variable = _variable_of(av.value)
    if variable is None or variable.length in (None, UNSEEN) or variable.length > LONG:
        return None
    variable.counted = True
    return variable.length


def note_new_length(value: Value) -> None:
    """Note that a run-time list grows or shrinks, or that a list of another length shares its type variable."""
    variable = _variable_of(value)
    if variable is not None:
        variable.outgrown |= variable.counted
        variable.length = None


def sites_of_new_lengths(made: Iterable[tuple[Any, TypeVariable]]) -> set[Any]:
    """Return the sites whose lists no longer have the length that they were made with. made: pairs of a site and its lists."""
    return {site for site, variable in made if not isinstance(site, TableSite) and variable.find().length is None}


def all_items(reader: Reader, av: AbstractValue) -> list[AbstractValue] | None:
    """Return the items of a list made in compiled code; None if its length is not known."""
    if not isinstance(av, ListValue):
        return None
    if av.items is None and lasting_length(av) is None:
        return None
    return reader.iterate(av)


def kinds_under(t: DictType, key: AbstractValue) -> frozenset[str] | None:
    """Return the kinds of items that dicts have under a key; None if they may have any."""
    variable = t.variable.find()
    if variable.key_kinds is None or not is_known(key) or key.obj not in variable.key_kinds:
        return None
    variable.narrowed |= {key.obj}
    return variable.key_kinds[key.obj]


def note_stored(t: DictType, key: AbstractValue, item: Type) -> None:
    """Note that an item of a type is put under a key of a dict."""
    variable = t.variable.find()
    if variable.key_kinds is None:
        return
    if not is_known(key):
        variable.outgrown |= bool(variable.narrowed)
        variable.key_kinds = None
        return
    held = variable.key_kinds.get(key.obj, frozenset())
    kinds = held | kinds_of(item)
    variable.outgrown |= key.obj in variable.narrowed and kinds != held
    variable.key_kinds = {**variable.key_kinds, key.obj: kinds}


def _variable_of(value: Value | None) -> TypeVariable | None:
    if value is None or not isinstance(value.type, ListType) or value.type.is_tuple:
        return None
    return value.type.variable.find()
