"""The `__init__` that `dataclass` generates, which has no source."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from types import FunctionType

from scriptc.frontend.operations.named_tuples import bind_by_name
from scriptc.frontend.operations.objects import object_attribute
from scriptc.frontend.reader.contents import set_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue
from scriptc.frontend.values.predicates import is_object
from scriptc.frontend.values.user_classes import own_setter


def dataclass_of_init(func: FunctionType, args: Sequence[AbstractValue]) -> type | None:
    """Return the dataclass whose generated `__init__` a function is; None for other functions."""
    if func.__name__ != "__init__" or func.__code__.co_filename != "<string>" or not args or not is_object(args[0]):
        return None
    own = (c for c in args[0].cls.__mro__ if "__dataclass_fields__" in c.__dict__)
    return next((c for c in own if (c.__module__, f"{c.__qualname__}.__init__") == (func.__module__, func.__qualname__)), None)


def run_dataclass_init(
    reader: Reader, cls: type, func: FunctionType, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Set the attributes of an object as the `__init__` of a dataclass does."""
    made = args[0]
    assert isinstance(made, ObjectValue)
    parameters = list(inspect.signature(func).parameters.values())[1:]
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(args) - 1 > len(positional):
        reader.emit.raise_error(
            "TypeError",
            f"{cls.__name__}.__init__() takes {len(positional) + 1} positional arguments but {len(args)} were given",
        )
    given = bind_by_name(reader, f"{cls.__name__}.__init__", [p.name for p in parameters], args[1:], kwargs)
    missing = f"{cls.__name__}.__init__() missing 1 required positional argument"
    items: dict[str, AbstractValue] = {}
    for f in dataclasses.fields(cls):
        if f.name in given:
            items[f.name] = given[f.name]
        elif f.default is not dataclasses.MISSING and not f.init and "__slots__" not in cls.__dict__:
            continue  # the class attribute holds the default
        elif f.default is not dataclasses.MISSING:
            items[f.name] = Known(f.default)
        elif f.default_factory is not dataclasses.MISSING:
            items[f.name] = reader.call(Known(f.default_factory), [], {})
        elif f.init:
            reader.emit.raise_error("TypeError", f"{missing}: '{f.name}'")
    passed_on = []  # fields that are annotated as InitVar, for `__post_init__`
    for p in parameters:
        if all(f.name != p.name for f in dataclasses.fields(cls)):
            if p.name not in given and p.default is p.empty:
                reader.emit.raise_error("TypeError", f"{missing}: '{p.name}'")
            passed_on.append(given.get(p.name, Known(p.default)))
    if own_setter(made.cls) is not None:
        for name, value in items.items():
            reader.store_attribute(made, name, value)
    else:
        set_items(reader, made, {**reader.items_of(made), **items})
    if hasattr(cls, "__post_init__"):
        reader.call(object_attribute(reader, made, "__post_init__"), passed_on, {})
    return Known(None)
