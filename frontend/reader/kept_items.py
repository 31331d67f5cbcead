"""Lists that are kept item by item because of their items: names, dicts and objects.

The first readings take the strings, dicts and objects in a list as data, of any number. If the function cannot be
compiled so, it is read anew with `Assumptions.keeps_items`: then such items are configuration, as strings that choose
functions, or layers with a state, and their lists are taken apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.speculation import sites_of
from scriptc.frontend.values.abstract import AbstractValue, ListValue
from scriptc.frontend.values.predicates import is_known, is_on_heap
from scriptc.ir.types import ListType

_WHY = "it holds names, dicts or objects"


def keep_list_of(reader: Reader, owner: ListValue, item: AbstractValue) -> None:
    """Keep a list that gets an item one by one, if the item is configuration; return otherwise."""
    if not is_configuration(item):
        return
    sites = sites_to_keep(reader, owner)
    reader.speculation.found_items |= bool(sites)
    if sites and reader.assumptions.keeps_items:
        reader.speculation.keep_items(sites, _WHY)


def keeps_new_list(reader: Reader, site: Any, items: Sequence[AbstractValue]) -> bool:
    """Return whether a list that is made now is kept item by item, because of its items."""
    if not any(map(is_on_heap, items)):
        return False
    reader.speculation.found_items = True
    return reader.assumptions.keeps_items and reader.speculation.keep_new_list(site, _WHY)


def sites_to_keep(reader: Reader, owner: ListValue) -> set[Any]:
    """Return the sites of a list whose length is not known yet and may become known."""
    assumed = reader.assumptions
    variable = owner.value.type.variable.find() if owner.value is not None and isinstance(owner.value.type, ListType) else None
    fixed = variable is not None and variable.fixed
    return set() if fixed else sites_of(reader.speculation, owner) - {None, *assumed.known_length, *assumed.run_time_lists}


def is_configuration(av: AbstractValue) -> bool:
    """Return whether a value is a known string, a dict with known keys, or an object that is no record."""
    return is_known(av) and isinstance(av.obj, str) or is_on_heap(av)
