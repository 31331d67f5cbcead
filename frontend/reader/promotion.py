"""Objects and dicts that must exist at run time: they do from the next reading on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    RECORDS,
    AbstractValue,
    DictValue,
    ObjectValue,
)
from scriptc.frontend.values.structure import parts_of
from scriptc.frontend.values.user_classes import is_plain
from scriptc.ir.types import Names, Record


def may_be_record(av: ObjectValue | DictValue) -> bool:
    """Whether an object that compiled code makes may exist at run time."""
    if isinstance(av, RECORDS) or av.home is not None:
        return False
    if isinstance(av, DictValue):
        return av.made.cls is dict and all(isinstance(key, (str, int)) for key in av.items)
    return is_plain(av.cls) and bool(av.cls.__dictoffset__)


def record_key(av: ObjectValue | DictValue) -> Any:
    """What is one for objects that are instances of one record."""
    return av.cls if isinstance(av, ObjectValue) else ("dict", *av.items)


def promote_objects(reader: Reader, avs: Iterable[AbstractValue]) -> None:
    """From the next reading on, the objects that values are or hold exist at run time; returns where there are none."""
    found = [o for av in avs for o in objects_made(av, 0) if may_be_record(o)]
    for made in found:
        if isinstance(made, DictValue) and (not made.items or record_key(made) in reader.assumptions.records):
            free_sites(reader, made.sites)  # it got its keys, or gets them, behind the place where it is made
            reader.speculation.promote(made)
    classes = {record_key(o): o.cls if isinstance(o, ObjectValue) else dict for o in found}
    if not classes.keys() <= reader.assumptions.records.keys():
        names = Names({r.name: 1 for r in reader.assumptions.records.values()})
        for key, cls in classes.items():
            if key not in reader.assumptions.records:
                reader.assumptions.records[key] = Record(names.fresh(cls.__name__), cls=cls)
        reader.assumptions.known_length.clear()  # lists of such objects have one type of items
        names_of = ", ".join(sorted(cls.__name__ for cls in classes.values()))
        reader.speculation.read_again(f"instances of {names_of} are needed as values of run time")


def promote_nested(reader: Reader, avs: Iterable[AbstractValue]) -> None:
    """The same of objects that hold others of their class, where each turn of a recursion would make one more."""
    for av in avs:
        for made in objects_made(av, 0):
            inner = (o for part in made.items.values() for o in objects_made(part, 1))
            if isinstance(made, ObjectValue) and any(isinstance(o, ObjectValue) and o.cls is made.cls for o in inner):
                promote_objects(reader, [made])


def objects_made(av: AbstractValue, depth: int) -> Iterator[ObjectValue | DictValue]:
    if depth > 8:
        return
    if isinstance(av, (ObjectValue, DictValue)):
        yield av
        return
    for part in parts_of(av):
        yield from objects_made(part, depth + 1)


def free_sites(reader: Reader, sites: Iterable[Any]) -> None:
    for site in sites:
        if site not in reader.assumptions.free_keys:
            reader.assumptions.free_keys.add(site)
            reader.assumptions.untabled.pop(site, None)  # by items of several kinds, which are allowed from here on
            reader.assumptions.known_length.clear()  # lists of such dicts have one type of items
