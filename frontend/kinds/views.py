"""Views of dicts: what keys(), values() and items() return, and what iterators over dicts walk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Set
from typing import Any

from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.operations.attributes import method_or_error
from scriptc.frontend.operations.comparison import contains
from scriptc.frontend.operations.dict_views import check_size, present_items, walk_view_of_known
from scriptc.frontend.operations.runtime_dicts import has_key, walk_table
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values import verbs
from scriptc.frontend.values.abstract import AbstractValue, Known, Structure, ViewValue
from scriptc.frontend.values.predicates import has_known_keys, is_dict
from scriptc.frontend.values.verbs import class_name_of, python_class, text_parts
from scriptc.frontend.values.walk import Walk

_VIEWS = {
    cls: {part: type(getattr(cls(), part)()) for part in ("keys", "values", "items")} for cls in (dict, OrderedDict)
}
_SET_OPERATORS = ("BitAnd", "BitOr", "BitXor", "Sub")
_SET_COMPARISONS = ("Lt", "LtE", "Gt", "GtE")


@verbs.describe.of(ViewValue)
def view_description(owner: ViewValue) -> str:
    return f"the {owner.part} of a dict"


@verbs.structure_of.of(ViewValue)
def view_structure(owner: ViewValue) -> Structure:
    part, walked, kind = owner.part, owner.walked, verbs.kind_of(owner.table)
    return Structure(("view", part, walked, kind), [owner.table], lambda parts: ViewValue(parts[0], part, walked))


@verbs.python_class.of(ViewValue)
def class_of_view(reader: Reader, owner: ViewValue) -> type:
    return _VIEWS[OrderedDict if issubclass(python_class(reader, owner.table), OrderedDict) else dict][owner.part]


@verbs.class_name_of.of(ViewValue)
def class_name_of_view(reader: Reader, owner: ViewValue) -> str:
    return class_of_view(reader, owner).__name__


@verbs.attribute.of(ViewValue)
def read_view_attribute(reader: Reader, owner: ViewValue, name: str) -> AbstractValue:
    if name == "isdisjoint" and owner.part != "values":
        return reader.attribute(reader.call(Known(set), [owner], {}), name)
    return method_or_error(reader, owner, name)


@verbs.item.of(ViewValue)
def view_item(reader: Reader, owner: ViewValue, index: AbstractValue) -> AbstractValue:
    if owner.walked is None:
        reader.emit.raise_error("TypeError", f"'{class_name_of(reader, owner)}' object is not subscriptable")
    return reader.subscript(present_items(reader, owner.table, owner.part), index)


@verbs.truth.of(ViewValue)
def view_truth(reader: Reader, owner: ViewValue) -> AbstractValue:
    return reader.truth(owner.table)


@verbs.length.of(ViewValue)
def view_length(reader: Reader, owner: ViewValue) -> AbstractValue:
    if owner.walked is not None and has_known_keys(owner.table):
        check_size(reader, owner.table, owner.walked)
    return verbs.length(reader, owner.table)


@contains.of(ViewValue)
def view_contains(reader: Reader, owner: ViewValue, item: AbstractValue) -> AbstractValue:
    if owner.part == "keys":
        return has_key(reader, owner.table, item) if is_dict(owner.table) else reader.compare("In", item, owner.table)
    if not is_dict(owner.table):
        return reader.compare("In", item, present_items(reader, owner.table, owner.part))
    return reader.call(Known(lists.contains), [owner, item], {})


@verbs.is_run_time.of(ViewValue)
def is_view_run_time(reader: Reader, owner: ViewValue) -> bool:
    return is_dict(owner.table)


@verbs.walked_sequence.of(ViewValue)
def table_of_view(owner: ViewValue) -> AbstractValue:
    return owner.table


@verbs.walk.of(ViewValue)
def walk_view(reader: Reader, owner: ViewValue, site: Any) -> Walk:
    return walk_table(reader, owner) if is_dict(owner.table) else walk_view_of_known(reader, owner.table, owner.part)


@verbs.text_parts.of(ViewValue)
def view_text(reader: Reader, owner: ViewValue, *, quoted: bool = False) -> Iterator[AbstractValue]:
    yield Known(f"{class_name_of(reader, owner)}(")
    yield from text_parts(reader, reader.call(Known(list), [owner], {}), quoted=True)
    yield Known(")")


@verbs.operator_of.of(ViewValue)
def view_operator(reader: Reader, owner: ViewValue, op: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """Return what sets of the items give. A view of values is equal to no other object."""
    is_equality = op in ("Eq", "NotEq")
    if owner.part == "values":
        return Known((a is b) == (op == "Eq")) if is_equality else None
    as_set = lambda av: reader.call(Known(set), [av], {})  # noqa: E731
    if op in _SET_OPERATORS:
        return reader.binary(op, as_set(a), as_set(b))
    if not is_equality and op not in _SET_COMPARISONS:
        return None
    if all(_is_set(reader, v) for v in (a, b)):
        return reader.compare(op, as_set(a), as_set(b))
    return Known(op == "NotEq") if is_equality else None


def _is_set(reader: Reader, av: AbstractValue) -> bool:
    """Return whether a value compares as a set."""
    return issubclass(python_class(reader, av), Set)
