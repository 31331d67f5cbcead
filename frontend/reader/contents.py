"""What an object, dict or list of known length holds now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptc.frontend.environment.state import items_changed
from scriptc.frontend.operations.records import fields_of, set_fields
from scriptc.frontend.reader.errors import Poisoned
from scriptc.frontend.reader.paths import note_change
from scriptc.frontend.reader.promotion import promote_objects
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    Content,
    DictValue,
    KnownLengthListValue,
    MaybeUnbound,
    Moved,
    ObjectValue,
    OneOf,
    Poison,
)
from scriptc.frontend.values.structure import holds_function
from scriptc.frontend.values.verbs import describe


def items_of(reader: Reader, av: DictValue | ObjectValue | KnownLengthListValue) -> dict[Any, AbstractValue]:
    """What an object, dict or list of known length holds now."""
    if isinstance(av, RECORDS):
        return fields_of(reader, av)
    content = reader.heap.contents.get(av.ident)
    if content is not None and not isinstance(content, Content):
        reader.speculation.promote(av)
    if isinstance(content, Poison):
        raise Poisoned
    if isinstance(content, (OneOf, MaybeUnbound, Moved)):
        promote_objects(reader, [content, av])
    if isinstance(content, (OneOf, MaybeUnbound)) and isinstance(av, KnownLengthListValue):
        reader.speculation.settle_lengths(av, content)
        reader.speculation.allow_unions()
        if holds_function(content):
            reader.reject("functions_in_list")
        reader.reject(
            "list_of_other_length", why=reader.assumptions.why_known_length.get(av.site, "its items differ in kind")
        )
    if isinstance(content, (OneOf, MaybeUnbound)):
        reader.reject("other_keys_on_a_path", what=describe(av))
    if isinstance(content, Moved):
        reader.reject("same_object_on_a_path", what=describe(av))
    made = av.first if isinstance(av, KnownLengthListValue) else av.items
    return content.items if isinstance(content, Content) else made


def set_items(
    reader: Reader, av: DictValue | ObjectValue | KnownLengthListValue, items: dict[Any, AbstractValue]
) -> None:
    if isinstance(av, RECORDS):
        set_fields(reader, av, items)
        return
    old = reader.items_of(av)
    first, cls = av.first if isinstance(av, KnownLengthListValue) else av.items, getattr(av, "cls", None)
    reader.heap.contents[av.ident] = Content(items, first, cls)
    items_changed(reader, av, old, items)
    note_change(reader, av.ident)


def edit(reader: Reader, av: KnownLengthListValue, change: Callable[[list[AbstractValue]], Any]) -> Any:
    """Changes a list of known length as `change` changes its items; the value is what that returns."""
    items = av.items
    try:
        result = change(items)
    except (IndexError, ValueError) as e:
        reader.emit.raise_error(type(e).__name__, str(e))
    set_items(reader, av, dict(enumerate(items)))
    return result
