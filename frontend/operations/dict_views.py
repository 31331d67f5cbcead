"""The items of dicts whose keys are known, as views and iterators see them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from scriptc.frontend.environment.host_items import known_item
from scriptc.frontend.environment.watching import refuse_added_items
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.reader.contents import optional_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, DictValue, Known, TupleValue
from scriptc.frontend.values.predicates import has_known_keys, is_known, is_record, may_be_unbound
from scriptc.frontend.values.verbs import length
from scriptc.frontend.values.walk import Walk

_MOST_OPTIONAL = 3  # keys that only some paths gave a dict, where its items are walked: there is code for each subset


def pairs_of(reader: Reader, d: AbstractValue) -> list[tuple[Any, AbstractValue]]:
    """Return the keys and items of a dict whose keys are known."""
    if has_known_keys(d):
        return list(reader.items_of(d).items())
    assert is_known(d)
    refuse_added_items(reader, d.obj)
    reader.environment.guard("DICT_KEYS_ARE", d.obj, None, tuple(d.obj))
    return [(k, known_item(reader, d, k)) for k in d.obj]


def items_now(reader: Reader, d: DictValue) -> dict[Any, AbstractValue]:
    """Return the items of a dict, some of which only some paths may have given it."""
    return optional_items(reader, d) if reader.assumptions.keeps_items else reader.items_of(d)


def item_of_view(part: str, key: Any, item: AbstractValue) -> AbstractValue:
    """Return what a view has for an item: part is "keys", "values" or "items"."""
    if part == "items":
        return TupleValue([Known(key), item])
    return Known(key) if part == "keys" else item


def present_items(reader: Reader, d: AbstractValue, part: str) -> AbstractValue:
    """Return the tuple of what a view of a dict has now, whose keys are known.

    If only some paths gave the dict some of the keys, it is one of several tuples.
    """
    if not has_known_keys(d) or is_record(d):
        return TupleValue([item_of_view(part, k, v) for k, v in pairs_of(reader, d)])
    items = optional_items(reader, d)
    some = [v for v in items.values() if may_be_unbound(v)]
    if len(some) > _MOST_OPTIONAL or not all(v.placed for v in some):
        items = reader.items_of(d)
    return _of_present([*items.items()], reader, part, [])


def _of_present(
    pairs: Sequence[tuple[Any, AbstractValue]], reader: Reader, part: str, made: list[AbstractValue]
) -> AbstractValue:
    """Return the tuple of `made` and of what a view has for those pairs that are present."""
    for i, (key, item) in enumerate(pairs):
        if may_be_unbound(item):
            with_item, rest = [*made, item_of_view(part, key, item.av)], pairs[i + 1 :]
            there, absent = (partial(_of_present, rest, reader, part, found) for found in (with_item, made))
            return reader.choose(item.flag, there, absent)
        made = [*made, item_of_view(part, key, item)]
    return TupleValue(made)


def walk_view_of_known(reader: Reader, d: AbstractValue, part: str) -> Walk:
    """Return the walk over a view of a dict with known keys."""
    if not has_known_keys(d) or is_record(d):
        return Walk(items=[item_of_view(part, k, v) for k, v in pairs_of(reader, d)])
    if any(map(may_be_unbound, items_now(reader, d).values())):
        return reader.iteration(present_items(reader, d, part), None)
    return walk_known_dict(reader, d, part)


def walk_known_dict(reader: Reader, d: DictValue, part: str) -> Walk:
    """Return the walk over a dict with known keys, which all paths gave it.

    As in Python, the walk sees new values of the keys, and no key may come or go.
    """
    keys = [*reader.items_of(d)]
    return Walk(items=_walked(reader, d, part, keys), backward=lambda: _walked(reader, d, part, keys[::-1]))


def _walked(reader: Reader, d: DictValue, part: str, keys: list[Any]) -> Iterator[AbstractValue]:
    for key in keys:
        check_size(reader, d, len(keys))
        yield walked_item(reader, d, part, key)
    if d.made.cls is not OrderedDict:  # whose iterator knows its end beforehand
        check_size(reader, d, len(keys))


def walked_item(reader: Reader, d: DictValue, part: str, key: Any) -> AbstractValue:
    """Return what a walk over a dict has for a key, which must still be there."""
    item = items_now(reader, d).get(key)
    if item is None:
        reader.emit.raise_error("RuntimeError", "dictionary keys changed during iteration")
    return item_of_view(part, key, item.av if may_be_unbound(item) else item)


def check_size(reader: Reader, d: DictValue, size: int) -> None:
    """Raise at run time if a dict has not as many items as it had where a walk over it began."""
    same = reader.compare("Eq", length(reader, d), Known(size))
    ordered = d.made.cls is OrderedDict
    message = "OrderedDict mutated during iteration" if ordered else "dictionary changed size during iteration"
    check_that(reader, same, "RuntimeError", message)
