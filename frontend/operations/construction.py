"""Calls of classes: named tuples, dataclasses, enums, modules and plain objects."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import is_library
from scriptc.frontend.environment.lookup import made_here
from scriptc.frontend.environment.pure import makes_constant
from scriptc.frontend.environment.watching import call_in_python, watch_class_attribute
from scriptc.frontend.operations.formatting import joined, raise_with
from scriptc.frontend.operations.materialize import new_list
from scriptc.frontend.operations.objects import maker_after, object_attribute, super_of
from scriptc.frontend.operations.records import as_record
from scriptc.frontend.operations.runtime_dicts import new_dict
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import exception_of
from scriptc.frontend.values.abstract import AbstractValue, Known, Made, ObjectValue, TupleValue
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.predicates import is_known, is_object
from scriptc.frontend.values.user_classes import CONTENT, can_be_made, container_base, is_plain_module


def construct(
    reader: Reader, cls: type, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a class, by the `__call__` of its metaclass if a user's metaclass defines one."""
    caller = type(cls).__call__
    if isinstance(caller, FunctionType) and not is_library(caller.__module__):
        watch_class_attribute(reader, type(cls), "__call__")
        return reader.call(Known(caller), [Known(cls), *args], kwargs)
    return construct_plainly(reader, cls, args, kwargs)


def construct_plainly(
    reader: Reader, cls: type, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    """Call a class as `type.__call__` does."""
    made = constructed(reader, cls, args, kwargs)
    return as_record(reader, made) if is_object(made) else made


def constructed(
    reader: Reader, cls: type, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> AbstractValue:
    if (cls.__module__ == "torch.return_types" or cls is torch.Size) and args and not is_known(args[0]):
        return split(reader, args[0], lambda a: TupleValue(reader.iterate(a), cls))
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return reader.call(maker_after(reader, cls, 0), [Known(cls), *args], kwargs)
    if issubclass(cls, BaseException):
        return exception_of(reader, cls, args, kwargs)
    known = [a.obj for a in args if is_known(a)]
    if len(known) == len(args) and all(is_known(v) for v in kwargs.values()):
        if makes_constant(cls):
            return call_in_python(reader, cls, *known, **{k: v.obj for k, v in kwargs.items() if is_known(v)})
        if (
            issubclass(cls, torch.nn.Module)
            and (made := module_without_tensors(reader, cls, known, kwargs)) is not None
        ):
            return made
    if issubclass(cls, enum.Enum) and len(args) == 1 and not kwargs:
        return member_of(reader, cls, args[0], list(cls))
    if cls is super and len(args) == 2 and is_known(args[0]) and isinstance(args[0].obj, type):
        return super_of(reader, args[0].obj, args[1])
    if cls is slice and 1 <= len(args) <= 3 and not kwargs:
        bounds = [Known(None), *args] if len(args) == 1 else list(args)
        return TupleValue([*bounds, Known(None)][:3], slice)
    new = cls.__new__
    if isinstance(new, FunctionType) and new.__qualname__.startswith("_dummy_type."):  # of a device that torch lacks
        return reader.call(Known(new), [Known(cls), *args], kwargs)
    if not can_be_made(cls) and not is_plain_module(cls):
        reader.reject("object_of_other_class", name=cls.__name__)
    if inspect.isabstract(cls):
        try:
            object.__new__(cls)
        except TypeError as e:
            reader.emit.raise_error("TypeError", str(e))
    if isinstance(new, FunctionType):
        watch_class_attribute(reader, cls, "__new__")
        made = reader.call(Known(new), [Known(cls), *args], kwargs)
        if not (is_object(made) and issubclass(made.cls, cls)):
            return made  # Python calls no `__init__` then
        cls = made.cls
    else:
        made = with_container(reader, cls)
    init = getattr(cls, "__init__", None)
    if isinstance(init, FunctionType) or container_base(cls) is not None:
        watch_class_attribute(reader, cls, "__init__")
        reader.call(object_attribute(reader, made, "__init__"), args, kwargs)
    elif (args or kwargs) and not isinstance(new, FunctionType):
        reader.emit.raise_error("TypeError", f"{cls.__name__}() takes no arguments")
    return made


def with_container(reader: Reader, cls: type) -> ObjectValue:
    """Make an object of a class, before its `__init__` runs."""
    base, site = container_base(cls), (reader.position.loc, cls)
    if base is None:
        return ObjectValue(cls)
    made = new_list(reader, [], site) if base is list else new_dict(reader, [], site, Made(base))
    return ObjectValue(cls, {CONTENT: made})


def module_without_tensors(
    reader: Reader, cls: type, args: list[Any], kwargs: dict[str, AbstractValue]
) -> AbstractValue | None:
    """Return a module without tensors of its own, which torch's own `__init__` makes equal in each call.

    Such modules are `nn.Softmax(dim=1)` and `nn.Sequential(a, b)` of modules outside.
    """
    init = inspect.getattr_static(cls, "__init__")
    if not is_library(cls.__module__) and init is not torch.nn.Module.__init__:
        return None
    with torch.random.fork_rng(devices=[]):
        made = call_in_python(
            reader, cls, *args, **{k: require_known(reader, v, "an argument") for k, v in kwargs.items()}
        )
    module = require_known(reader, made, "a module")
    given = {id(inner) for a in args if isinstance(a, torch.nn.Module) for inner in a.modules()}
    own = [inner for inner in module.modules() if id(inner) not in given]
    if any(True for m in own for _ in (*m.parameters(recurse=False), *m.buffers(recurse=False))):
        return None
    for inner in own:
        made_here(reader, inner)
    return made


def _missing_member(reader: Reader, cls: type, value: AbstractValue) -> AbstractValue:
    """Return the member that `_missing_` of an enum gives for a value, or raise ValueError."""

    def or_error(found: AbstractValue) -> AbstractValue:
        if is_known(found) and found.obj is None:
            shown = reader.call(Known(repr), [value], {})
            raise_with(reader, "ValueError", joined(reader, [shown, Known(f" is not a valid {cls.__qualname__}")]))
        return found

    if issubclass(cls, enum.Flag):
        reader.reject("flag_of_number", name=cls.__name__)
    missing = cls._missing_  # type: ignore[attr-defined]
    is_own = missing.__func__ is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]
    return split(reader, reader.call(Known(missing), [value], {}) if is_own else Known(None), or_error)


def member_of(reader: Reader, cls: type, value: AbstractValue, members: list[Any]) -> AbstractValue:
    """Return the first member of an enum whose value equals a run-time value."""
    if not members:
        return _missing_member(reader, cls, value)
    return reader.choose(
        reader.truth(reader.compare("Eq", Known(members[0].value), value)),
        lambda: Known(members[0]),
        lambda: member_of(reader, cls, value, members[1:]),
    )
