"""Named tuples: tuples of a class, with a name for each item."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from scriptc.frontend.environment.watching import call_in_python
from scriptc.frontend.library.python import lists_decomposed as lists
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, DictValue, Known, Native, TupleValue
from scriptc.frontend.values.predicates import is_known
from scriptc.frontend.values.user_classes import defines


def named_tuple(
    reader: Reader, cls: type, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if any(defines(TupleValue([], cls), name) for name in ("__len__", "__iter__", "__getitem__")):
        reader.reject("object_of_other_class", name=cls.__name__)
    fields = list(cls._fields)  # type: ignore[attr-defined]
    defaults = getattr(cls, "_field_defaults", {})
    items = bind_by_name(reader, f"{cls.__name__}.__new__", fields, args, kwargs)
    for name in fields:
        if name not in items:
            if name not in defaults:
                reader.emit.raise_error("TypeError", f"{cls.__name__}.__new__() missing a required argument: '{name}'")
            items[name] = Known(defaults[name])
    return TupleValue([items[n] for n in fields], cls)


def tuple_method(reader: Reader, owner: TupleValue, name: str) -> AbstractValue | None:
    """Return a method that `namedtuple` or `tuple` defines; None for other names."""
    fields = list(getattr(owner.cls, "_fields", ()))
    match name:
        case "_replace" if fields:
            return Native(lambda **new: replace_fields(reader, owner, fields, new))
        case "_asdict" if fields:
            return Native(lambda: DictValue(dict(zip(fields, owner.items, strict=True))))
        case "index" | "count":
            return Native(lambda *args: found_in_tuple(reader, owner, name, args))
    return None


def is_tuple_method(obj: Any, name: str) -> bool:
    """Return whether a name is that of a method of `tuple_method` for a tuple outside."""
    is_named = isinstance(obj, tuple) and hasattr(obj, "_fields")
    return is_named and name in ("_replace", "_asdict") or (is_named or type(obj) is tuple) and name in ("index", "count")


def replace_fields(
    reader: Reader, owner: TupleValue, fields: list[str], new: dict[str, AbstractValue]
) -> AbstractValue:
    if odd := [name for name in new if name not in fields]:
        kind = "ValueError" if sys.version_info < (3, 13) else "TypeError"
        reader.emit.raise_error(kind, f"Got unexpected field names: {odd}")
    return TupleValue([new.get(name, item) for name, item in zip(fields, owner.items, strict=True)], owner.cls)


def named_tuple_of(reader: Reader, cls: Any, items: Sequence[AbstractValue]) -> AbstractValue:
    """Return `cls._make(items)` of a named tuple's class."""
    if len(items) != len(cls._fields):
        reader.emit.raise_error("TypeError", f"Expected {len(cls._fields)} arguments, got {len(items)}")
    return TupleValue(items, cls)


def found_in_tuple(reader: Reader, owner: TupleValue, name: str, args: Sequence[AbstractValue]) -> AbstractValue:
    """Return the result of `index` or `count`, which is known if all items are known."""
    known = [av.obj for av in (*owner.items, *args) if is_known(av) and isinstance(av.obj, (int, str))]
    if len(known) == len(owner.items) + len(args):
        items = tuple(known[: len(owner.items)])
        return call_in_python(reader, getattr(items, name), *known[len(items) :])
    return reader.call(Known(getattr(lists, name)), [TupleValue(owner.items), *args], {})


def bind_by_name(
    reader: Reader, what: str, names: list[str], args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> dict[str, AbstractValue]:
    items = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        reader.emit.raise_error("TypeError", f"{what}() takes {len(names)} arguments but {len(args)} were given")
    for name, value in kwargs.items():
        if name in items or name not in names:
            said = "multiple values for" if name in items else "an unexpected keyword"
            reader.emit.raise_error("TypeError", f"{what}() got {said} argument '{name}'")
        items[name] = value
    return items
