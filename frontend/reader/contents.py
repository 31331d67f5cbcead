"""The present content of objects, dicts and lists of known length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptc.frontend.environment.state import items_changed
from scriptc.frontend.operations.records import fields_of, set_fields
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    DictValue,
    HeapValue,
    Known,
    KnownLengthListValue,
    MaybeUnbound,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import has_alternatives, has_known_keys, is_record, may_be_unbound
from scriptc.frontend.values.verb import Verb
from scriptc.frontend.values.verbs import describe


def items_of(reader: Reader, av: HeapValue) -> dict[Any, AbstractValue]:
    """Return the present content of an object, dict or list of known length. Reject a dict with optional keys."""
    items = optional_items(reader, av)
    if has_known_keys(av) and any(map(may_be_unbound, items.values())):
        reader.speculation.promote(av)
        promote_objects(reader, [av])
        reader.reject("other_keys_on_a_path", what=describe(av))
    return items


def optional_items(reader: Reader, av: HeapValue) -> dict[Any, AbstractValue]:
    """Return the present content of an object, dict or list of known length, with keys that only some paths have."""
    if is_record(av):
        return fields_of(reader, av)
    content = reader.heap.contents.get(av.ident)
    return av.made_with if content is None else content_items(reader, content, av)


def may_have(reader: Reader, av: DictValue, key: Any) -> MaybeUnbound | None:
    """Return the item of a key that only some paths gave a dict; None for all other keys."""
    found = None if is_record(av) else optional_items(reader, av).get(key)
    return found if found is not None and may_be_unbound(found) else None


@Verb
def content_items(reader: Reader, content: AbstractValue, av: HeapValue) -> dict[Any, AbstractValue]:
    """Return the items of an object, dict or list from its content in the heap. Reject contents that differ among
    paths."""
    reader.speculation.promote(av)
    return av.made_with


def set_items(
    reader: Reader, av: HeapValue, items: dict[Any, AbstractValue]
) -> None:
    if is_record(av):
        set_fields(reader, av, items)
        return
    old = optional_items(reader, av)
    reader.heap.contents[av.ident] = Content(items, av.made_with, getattr(av, "cls", None))
    items_changed(reader, av, old, items)
    note_change(reader, av.ident)


def edit(reader: Reader, av: KnownLengthListValue, change: Callable[[list[AbstractValue]], Any]) -> Any:
    """Apply `change` to the items of a list of known length; return the result of `change`, or None."""

    def run() -> AbstractValue:
        items = av.items
        try:
            result = change(items)
        except (IndexError, ValueError) as e:
            reader.emit.raise_error(type(e).__name__, str(e))
        set_items(reader, av, dict(enumerate(items)))
        return Known(None) if result is None else result

    return in_each_content(reader, av, run)


def in_each_content(reader: Reader, av: KnownLengthListValue, run: Callable[[], AbstractValue]) -> AbstractValue:
    """Return `run()`, read once for each content that some paths gave a list that is kept item by item."""
    content = reader.heap.contents.get(av.ident)
    if content is None or not has_alternatives(content) or not reader.assumptions.keeps_items:
        return run()

    def run_with(held: AbstractValue) -> AbstractValue:
        reader.heap.contents[av.ident] = held
        return run()

    return split(reader, content, run_with)
