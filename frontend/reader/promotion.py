"""Find the objects and dicts that must exist at run time, and make them so in the next reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    DictValue,
    ObjectValue,
)
from scriptc.frontend.values.predicates import has_known_keys, is_object, is_record
from scriptc.frontend.values.structure import parts_of
from scriptc.frontend.values.user_classes import can_be_made

_DEEPEST = 8  # the deepest nesting that is searched


def may_be_record(av: ObjectValue | DictValue) -> bool:
    """Return whether an object that compiled code makes may exist at run time."""
    if is_record(av) or av.home is not None:
        return False
    if has_known_keys(av):
        return av.made.cls is dict and all(isinstance(key, (str, int)) for key in av.items)
    return can_be_made(av.cls) and bool(av.cls.__dictoffset__)


def record_key(av: ObjectValue | DictValue) -> Any:
    """Return a key that is equal for objects of one record."""
    return av.cls if is_object(av) else ("dict", *av.items)


def promote_objects(reader: Reader, avs: Iterable[AbstractValue]) -> None:
    """Make the objects in some values exist at run time. Return if there are none, or if all do already."""
    found = [o for av in avs for o in objects_made(av, 0) if may_be_record(o)]
    for made in found:
        if has_known_keys(made) and (not made.items or record_key(made) in reader.assumptions.records):
            reader.speculation.free_keys(made.sites)  # the dict gains keys after it was made
            reader.speculation.promote(made)
    reader.speculation.make_runtime({record_key(o): o.cls if is_object(o) else dict for o in found})


def promote_nested(reader: Reader, avs: Iterable[AbstractValue]) -> None:
    """Promote objects that hold others of their class, since each level of a recursion would nest one more of them."""
    for av in avs:
        for made in objects_made(av, 0):
            inner = (o for part in made.items.values() for o in objects_made(part, 1))
            if is_object(made) and any(is_object(o) and o.cls is made.cls for o in inner):
                promote_objects(reader, [made])


def objects_made(av: AbstractValue, depth: int) -> Iterator[ObjectValue | DictValue]:
    """Yield the objects and dicts in a value. depth: the nesting of the value in others."""
    if depth > _DEEPEST:
        return
    if isinstance(av, (ObjectValue, DictValue)):
        yield av
        return
    for part in parts_of(av):
        yield from objects_made(part, depth + 1)
