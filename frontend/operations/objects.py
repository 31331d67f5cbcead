"""Instances of users' classes that compiled code makes. Named tuples are tuples; the attributes of other objects are
separate values."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import type_name, uncompiled
from scriptc.frontend.environment.lookup import class_attribute, element
from scriptc.frontend.environment.state import MODULE_TABLES
from scriptc.frontend.environment.watching import call_in_python, watch_class_attribute
from scriptc.frontend.operations.containers import inherited_method
from scriptc.frontend.operations.logic import check_that
from scriptc.frontend.operations.materialize import make_tuple
from scriptc.frontend.operations.named_tuples import named_tuple
from scriptc.frontend.operations.records import held_field, set_field
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.contents import set_items
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import (
    AbstractValue,
    AttributeDictValue,
    Bound,
    Content,
    DictValue,
    Known,
    MaybeUnbound,
    Native,
    ObjectValue,
    RecordValue,
    SuperValue,
    TupleValue,
)
from scriptc.frontend.values.predicates import (
    defining_op,
    is_buffer,
    is_known,
    is_made_parameter,
    is_made_tuple,
    is_none,
    is_object,
    is_of_caller,
    is_record,
    is_tensor,
    is_unbound,
    may_be_unbound,
    ssa_value,
    tensor_type,
)
from scriptc.frontend.values.user_classes import class_of, container_base, defines, own_deleter, own_finder, own_setter
from scriptc.frontend.values.verbs import describe, python_class

_FROM_SOURCE = ("train", "eval", "children", "parameters")
_REGISTERS = ("register_buffer", "register_parameter", "add_module", "register_module")


def maker_after(reader: Reader, cls: type, place: int) -> AbstractValue:
    """Return the `__new__` that the bases of a named tuple's class define from a position in the MRO on."""
    home = next(b for b in cls.__mro__[place:] if "__new__" in b.__dict__)
    if "_fields" in home.__dict__:  # `namedtuple` made this `__new__`
        return Native(
            lambda made, *args, **kwargs: named_tuple(reader, require_known(reader, made, "the class"), args, kwargs)
        )
    found = home.__dict__["__new__"]
    return Known(found.__func__ if isinstance(found, staticmethod) else found)


def compared_fields(reader: Reader, av: AbstractValue) -> list[AbstractValue]:
    """Return the fields that the comparisons of a dataclass compare."""
    return [reader.attribute(av, f.name) for f in dataclasses.fields(class_of(av)) if f.compare]  # type: ignore[arg-type]


# ---- attributes ----


def class_value(reader: Reader, owner: AbstractValue, cls: type, name: str) -> AbstractValue | None:
    """Return the class's attribute of an object made here, bound to the object; None if there is none."""
    home = next((c for c in cls.__mro__ if name in c.__dict__), None)
    if home is None:
        return None
    if home is torch.nn.Module and is_object(owner):
        return of_module_class(reader, owner, name)
    if is_object(owner) and _is_of_container(cls, home):
        return inherited_method(reader, owner, name)
    raw = home.__dict__[name]
    watch_class_attribute(reader, cls, name)
    return bound_to(reader, owner, cls, name, raw)


def of_module_class(reader: Reader, made: ObjectValue, name: str) -> AbstractValue:
    """Return nn.Module's own attribute of a module made here. Such a module is an object with a `forward`."""
    if name == "__init__":
        return Native(lambda: begin_module(reader, made))
    if name == "__call__":
        return object_attribute(reader, made, "forward")
    if name in _REGISTERS or name in _FROM_SOURCE or name == "__setattr__":
        return Bound(made, name, getattr(torch.nn.Module, name))
    reader.reject("module_made_here", name=name, class_name=made.cls.__name__)


def _table_of(reader: Reader, made: ObjectValue, name: str, value: AbstractValue) -> str | None:
    """Return the table in which nn.Module keeps an attribute of a module made here; None for plain attributes."""
    if issubclass(class_of(value) or object, torch.nn.Module):
        return "_modules"
    return reader.heap.tables.get((made.ident, name))


def members_of_module(reader: Reader, made: ObjectValue, table: str) -> dict[str, AbstractValue]:
    """Return the attributes that nn.Module keeps in a table, for a module made here."""
    return {name: av for name, av in reader.items_of(made).items() if _table_of(reader, made, name, av) == table}


def register(reader: Reader, made: ObjectValue, name: str, value: AbstractValue, table: str) -> None:
    """Set an attribute of a module made here as a parameter or buffer, past the `__setattr__` of its class."""
    reader.heap.tables.pop((made.ident, name), None)
    set_attribute(reader, made, name, value)
    reader.heap.tables[made.ident, name] = table


def begin_module(reader: Reader, made: ObjectValue) -> AbstractValue:
    set_attribute(reader, made, "training", Known(True))  # nn.Module too passes the class's own `__setattr__` by
    return Known(None)


def check_module_attribute(reader: Reader, made: ObjectValue, name: str, value: AbstractValue) -> None:
    """Reject modules and parameters as attributes of a module made here, since nn.Module keeps them in tables."""
    items = reader.items_of(made)
    placed = [*([items[name]] if name in items else []), *([] if "training" in items else [value])]
    if any(_is_kept_aside(av) for av in placed):
        reader.reject("module_made_here", name=name, class_name=made.cls.__name__)
    table = reader.heap.tables.get((made.ident, name))
    if is_made_parameter(value):
        reader.heap.tables[made.ident, name] = "_parameters"
    elif table == "_parameters" and is_tensor(value):
        found = type_name(tensor_type(value).dtype)
        what = f"cannot assign '{found}' as parameter '{name}' (torch.nn.Parameter or None expected)"
        reader.emit.raise_error("TypeError", what)
    elif table is not None and not is_tensor(value) and not is_none(value):
        reader.reject("module_made_here", name=name, class_name=made.cls.__name__)


def bound_to(reader: Reader, owner: AbstractValue, cls: type, name: str, raw: Any) -> AbstractValue:
    raw = uncompiled(raw)
    if isinstance(raw, property):
        return reader.call(Known(raw.fget), [owner], {})
    if isinstance(raw, staticmethod):
        return Known(raw.__func__)
    if isinstance(raw, classmethod):
        return Bound(Known(cls), name, uncompiled(raw.__func__))
    if isinstance(raw, functools.cached_property):
        value = reader.call(Known(raw.func), [owner], {})
        reader.store_attribute(owner, name, value)
        return value
    if isinstance(getattr(type(raw), "__get__", None), FunctionType):  # a descriptor written in Python
        return reader.call(Known(type(raw).__get__), [Known(raw), owner, Known(cls)], {})
    if callable(raw) and hasattr(type(raw), "__get__"):
        return Bound(owner, name, raw)
    return element(reader, Known(raw), name)


def object_attribute(reader: Reader, owner: ObjectValue, name: str) -> AbstractValue:
    if isinstance(owner, RecordValue):
        return record_attribute(reader, owner, name)
    items = reader.items_of(owner)
    if name in items and not _is_data_descriptor(inspect.getattr_static(owner.cls, name, None)):
        return attribute_of_some(reader, owner, name, held) if may_be_unbound(held := items[name]) else held
    if name == "__class__":
        return Known(owner.cls)
    if name == "__dict__":
        return AttributeDictValue(owner)
    return found_in_class(reader, owner, name)


def _is_of_container(cls: type, home: type) -> bool:
    """Return whether a class inherits what `home` defines from dict or list."""
    base = container_base(cls)
    return base is not None and home is not object and issubclass(base, home)


def found_in_class(reader: Reader, owner: ObjectValue, name: str) -> AbstractValue:
    if issubclass(owner.cls, torch.nn.Module) and name in MODULE_TABLES:
        return DictValue(members_of_module(reader, owner, name))
    found = class_value(reader, owner, owner.cls, name)
    if found is None and own_finder(owner.cls) is not None and not issubclass(owner.cls, torch.nn.Module):
        watch_class_attribute(reader, owner.cls, name)
        return reader.call(class_value(reader, owner, owner.cls, "__getattr__") or Known(None), [Known(name)], {})
    if found is None:
        reader.emit.raise_error("AttributeError", f"'{owner.cls.__name__}' object has no attribute '{name}'")
    return found


def attribute_of_some(reader: Reader, owner: ObjectValue, name: str, held: MaybeUnbound) -> AbstractValue:
    """Return an attribute that only some paths have set. The other paths give the class's attribute, or
    AttributeError."""
    if hasattr(owner.cls, name) or own_finder(owner.cls) is not None:
        return reader.choose(held.flag, lambda: held.av, lambda: found_in_class(reader, owner, name))
    check_that(reader, held.flag, "AttributeError", f"'{owner.cls.__name__}' object has no attribute '{name}'")
    if not isinstance(owner, RecordValue):
        reader.heap.contents[owner.ident] = Content({**reader.items_of(owner), name: held.av}, owner.items, owner.cls)
    return held.av


def refuse_attributes_of_some(reader: Reader, owner: ObjectValue) -> None:
    """Reject a request for all attributes of an object if some paths have not set one."""
    if any(may_be_unbound(av) for av in reader.items_of(owner).values()):
        reader.reject("other_keys_on_a_path", what=describe(owner))


def store_attribute(reader: Reader, owner: ObjectValue, name: str, value: AbstractValue) -> None:
    """Execute `owner.name = value`, by the `__setattr__` of the class if it defines one."""
    if (setter := own_setter(owner.cls)) is not None:
        watch_class_attribute(reader, owner.cls, "__setattr__")
        reader.call(Known(setter), [owner, Known(name), value], {})
        return
    parameters = getattr(owner.cls, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        reader.reject("frozen", name=owner.cls.__name__)
    set_attribute(reader, owner, name, value)


def set_attribute(reader: Reader, owner: ObjectValue, name: str, value: AbstractValue) -> None:
    """Set an attribute as `object.__setattr__` does."""
    if name in ("__dict__", "__class__"):
        reader.reject("object_replaced", name=name)
    found = inspect.getattr_static(owner.cls, name, None)
    if isinstance(found, property):
        if found.fset is None:
            reader.emit.raise_error(
                "AttributeError", f"property '{name}' of '{owner.cls.__name__}' object has no setter"
            )
        reader.call(Known(found.fset), [owner, value], {})
        return
    if _is_data_descriptor(found):
        reader.environment.guard("TYPE_ATTR_IS", owner.cls, name, found)
        reader.call(Known(type(found).__set__), [Known(found), owner, value], {})
        return
    if not owner.cls.__dictoffset__ and not hasattr(type(found), "__set__"):
        how = "is read-only" if found is not None else None
        reader.emit.raise_error(
            "AttributeError",
            f"'{owner.cls.__name__}' object " + (f"attribute '{name}' {how}" if how else f"has no attribute '{name}'"),
        )
    if issubclass(owner.cls, torch.nn.Module):
        value = value.tensor if is_buffer(value) else value
        check_module_attribute(reader, owner, name, value)
    if isinstance(owner, RecordValue):
        set_field(reader, owner, name, value)
    else:
        set_items(reader, owner, {**reader.items_of(owner), name: value})


def delete_attribute_of_object(reader: Reader, owner: ObjectValue, name: str) -> None:
    """Execute `del owner.name`, by the `__delattr__` of the class if it defines one."""
    if (deleter := own_deleter(owner.cls)) is not None:
        watch_class_attribute(reader, owner.cls, "__delattr__")
        reader.call(Known(deleter), [owner, Known(name)], {})
    else:
        delete_plainly(reader, owner, name)


def delete_plainly(reader: Reader, owner: ObjectValue, name: str) -> None:
    """Delete an attribute as `object.__delattr__` does."""
    if is_record(owner) or is_of_caller(owner):
        reader.reject("attribute_deleted", what=describe(owner))
    items = dict(reader.items_of(owner))
    if name not in items:
        reader.emit.raise_error("AttributeError", f"'{owner.cls.__name__}' object has no attribute '{name}'")
    if may_be_unbound(some := items.pop(name)):
        check_that(reader, some.flag, "AttributeError", f"'{owner.cls.__name__}' object has no attribute '{name}'")
    set_items(reader, owner, items)


def super_value(reader: Reader, owner: SuperValue, name: str) -> AbstractValue:
    if name == "__new__" and is_known(owner.obj) and hasattr(owner.obj.obj, "_fields"):
        made = owner.obj.obj
        return maker_after(reader, made, made.__mro__.index(owner.after) + 1)
    cls = python_class(reader, owner.obj)
    mro = cls.__mro__
    for home in mro[mro.index(owner.after) + 1 :]:
        if is_object(owner.obj) and name in home.__dict__ and _is_of_container(cls, home):
            return inherited_method(reader, owner.obj, name)
        if name == "__init__" and home.__module__ == "builtins":
            return base_init(reader, owner.obj)
        if home is torch.nn.Module and is_object(owner.obj):
            return of_module_class(reader, owner.obj, name)
        if name in home.__dict__:
            watch_class_attribute(reader, home, name)
            return bound_to(reader, owner.obj, cls, name, home.__dict__[name])
    reader.emit.raise_error("AttributeError", f"'super' object has no attribute '{name}'")


def special(reader: Reader, owner: AbstractValue, name: str, args: Sequence[AbstractValue]) -> AbstractValue | None:
    """Return `owner.__name__(*args)` of an object of a user's class; None if the class lacks the method."""
    if not defines(owner, name):
        return None
    if is_object(owner):
        return reader.call(object_attribute(reader, owner, name), args, {})
    if is_made_tuple(owner):
        method = class_value(reader, owner, owner.cls, name)
        return None if method is None else reader.call(method, args, {})
    assert is_known(owner)
    cls = type(owner.obj)
    return reader.call(class_attribute(reader, owner.obj, cls, getattr(cls, name), name), args, {})


def _is_data_descriptor(found: Any) -> bool:
    """Return whether a class attribute is a data descriptor in Python, which precedes the object's attribute."""
    return isinstance(found, property) or isinstance(getattr(type(found), "__set__", None), FunctionType)


def _is_kept_aside(av: AbstractValue) -> bool:
    """Return whether nn.Module keeps a value in its tables, as a module or perhaps as a parameter."""
    made = defining_op(av)
    return made is not None and made.name == "param" or issubclass(class_of(av) or object, torch.nn.Module)


def record_attribute(reader: Reader, owner: RecordValue, name: str) -> AbstractValue:
    if name in owner.record.names and not isinstance(getattr(owner.cls, name, None), property):
        held = held_field(reader, owner, name)
        if not is_unbound(held):
            return attribute_of_some(reader, owner, name, held) if may_be_unbound(held) else held
    if name == "__class__":
        return Known(owner.cls)
    return found_in_class(reader, owner, name)


def super_of(reader: Reader, cls: type, first: AbstractValue) -> AbstractValue:
    if is_known(first) and not hasattr(first.obj, "_fields"):
        return call_in_python(reader, super, cls, first.obj)
    if ssa_value(first) is not None or isinstance(first, (ObjectValue, TupleValue)) and not issubclass(first.cls, cls):
        reader.emit.raise_error("TypeError", "super(type, obj): obj must be an instance or subtype of type")
    return SuperValue(cls, first)


def base_init(reader: Reader, made: AbstractValue) -> AbstractValue:
    """Return the `__init__` of a class of Python's own, for a call from a subclass of the user's."""

    def init(*args: AbstractValue) -> AbstractValue:
        if is_object(made) and issubclass(made.cls, BaseException):
            set_items(reader, made, {**reader.items_of(made), "args": make_tuple(list(args))})
        return Known(None)

    return Native(init)
