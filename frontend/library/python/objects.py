"""Classes and attributes of objects."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import torch

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.host_objects import type_name
from scriptc.frontend.environment.state import attribute_slot, has_slot, is_new, stays_parameter, store_plain
from scriptc.frontend.environment.watching import (
    call_in_python,
    watch,
    watch_class_attribute,
    watch_names,
    watch_object,
)
from scriptc.frontend.library.python import objects_decomposed as objects
from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.attributes import found_attribute
from scriptc.frontend.operations.construction import construct_plainly, with_container
from scriptc.frontend.operations.logic import is_one_of
from scriptc.frontend.operations.materialize import list_item
from scriptc.frontend.operations.objects import delete_plainly, object_attribute, set_attribute, special
from scriptc.frontend.operations.runtime_dicts import refuse_unhashable, type_of_key
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.raised import is_exception
from scriptc.frontend.reader.statements import delete_attribute_of
from scriptc.frontend.values.abstract import (
    AbstractValue,
    ClassOf,
    DictValue,
    Known,
    ListValue,
    MaybeUnbound,
    RuntimeValue,
    TupleValue,
)
from scriptc.frontend.values.alternatives import split
from scriptc.frontend.values.element_types import is_hashable
from scriptc.frontend.values.predicates import (
    has_alternatives,
    is_known,
    is_numpy_scalar,
    is_object,
    is_tensor,
    tensor_type,
)
from scriptc.frontend.values.structure import sequence_items
from scriptc.frontend.values.union_kinds import NUMBERS
from scriptc.frontend.values.user_classes import can_be_called, can_be_made, class_of, is_generated, own_finder
from scriptc.frontend.values.verbs import as_argument, describe, python_class, type_of
from scriptc.ir.ops.dicts import has_hash
from scriptc.ir.types import EXC


@serves("builtins.isinstance")
def isinstance_(r: Reader, x: AbstractValue, classes: AbstractValue) -> AbstractValue:
    if has_alternatives(x):
        answers = {tag: isinstance_(r, a, classes) for tag, a in x.alternatives.items()}
        if all(is_known(a) for a in answers.values()):
            return is_one_of(r, x, [tag for tag, a in answers.items() if is_known(a) and a.obj])
        return split(r, x, lambda a: isinstance_(r, a, classes))
    cls = require_known(r, classes, "the class of isinstance()")
    if type_of(x) == EXC:
        return is_exception(
            r, x, [c for c in (cls if isinstance(cls, tuple) else (cls,)) if issubclass(c, BaseException)]
        )
    if is_tensor(x):
        if any(tensor_has_class(x, c) for c in flat(cls)):
            return Known(True)
        if torch.nn.Parameter in flat(cls):
            if stays_parameter(r, x):
                return Known(True)
            if not is_new(r, x):
                r.reject("is_parameter")
        return Known(False)
    return call_in_python(r, issubclass, python_class(r, x), cls)


def flat(classes: Any) -> Iterator[Any]:
    """Yield the classes of a nested tuple of classes."""
    for cls in classes if isinstance(classes, tuple) else (classes,):
        yield from flat(cls) if isinstance(cls, tuple) else (cls,)


def tensor_has_class(x: AbstractValue, cls: Any) -> bool:
    """Return whether a tensor is of a class or a legacy type, such as torch.LongTensor."""
    if isinstance(cls, type(torch.FloatTensor)):
        return f"{cls.__module__}.{cls.__name__}" == type_name(tensor_type(x).dtype)
    return issubclass(torch.Tensor, cls)


@serves("builtins.issubclass")
def issubclass_(r: Reader, cls: AbstractValue, classes: AbstractValue) -> AbstractValue:
    if isinstance(cls, ClassOf):
        return isinstance_(r, cls.exception, classes)
    return call_in_python(
        r,
        issubclass,
        require_known(r, cls, "the class of issubclass()"),
        require_known(r, classes, "the class of issubclass()"),
    )


@serves("builtins.type")
def type_(r: Reader, x: AbstractValue) -> AbstractValue:
    if type_of(x) == EXC:
        return ClassOf(x)
    return Known(python_class(r, x))


@serves("builtins.callable")
def callable_(r: Reader, x: AbstractValue) -> AbstractValue:
    return Known(
        callable(x.obj) if is_known(x) else not isinstance(x, (RuntimeValue, TupleValue, ListValue, DictValue))
    )


@serves("builtins.getattr")
def getattr_(r: Reader, owner: AbstractValue, name: AbstractValue, *default: AbstractValue) -> AbstractValue:
    attr = require_known(r, name, "the name of getattr()")
    if not default:
        return r.attribute(owner, attr)
    if asks_getattr(r, owner, attr):
        return r.call(Known(objects.attribute_or), [owner, name, *default], {})
    return r.choose(_has(r, owner, attr), lambda: r.attribute(owner, attr), lambda: default[0])


@serves("builtins.setattr")
def setattr_(r: Reader, owner: AbstractValue, name: AbstractValue, value: AbstractValue) -> AbstractValue:
    r.store_attribute(owner, require_known(r, name, "the name of setattr()"), value)
    return Known(None)


@serves("builtins.object.__setattr__", "torch.nn.Module.__setattr__")
def plain_setattr(r: Reader, owner: AbstractValue, name: AbstractValue, value: AbstractValue) -> AbstractValue:
    if is_known(owner):
        store_plain(r, owner.obj, require_known(r, name, "the name of an attribute"), value)
    elif is_object(owner):
        set_attribute(r, owner, require_known(r, name, "the name of an attribute"), value)
    else:
        r.store_attribute(owner, require_known(r, name, "the name of an attribute"), value)
    return Known(None)


@serves("builtins.object.__delattr__")
def plain_delattr(r: Reader, owner: AbstractValue, name: AbstractValue) -> AbstractValue:
    attr = require_known(r, name, "the name of an attribute")
    if is_object(owner):
        delete_plainly(r, owner, attr)
    else:
        delete_attribute_of(r, owner, attr)
    return Known(None)


@serves("builtins.object.__getattribute__")
def plain_getattribute(r: Reader, owner: AbstractValue, name: AbstractValue) -> AbstractValue:
    attr = require_known(r, name, "the name of an attribute")
    is_outside = is_known(owner) and not isinstance(owner.obj, (type, ModuleType, torch.nn.Module))
    if is_object(owner):
        return object_attribute(r, owner, attr)
    return found_attribute(r, owner.obj, attr) if is_outside else r.attribute(owner, attr)  # type: ignore[attr-defined]


@serves("builtins.type.__call__")
def call_class(r: Reader, cls: AbstractValue, /, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return construct_plainly(r, require_known(r, cls, "the class of an object"), args, kwargs)


@serves("builtins.object.__new__")
def plain_new(r: Reader, cls: AbstractValue, /, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    made = require_known(r, cls, "the class of an object")
    if not can_be_made(made):
        r.reject("object_of_other_class", name=made.__name__)
    return with_container(r, made)


@serves("builtins.delattr")
def delattr_(r: Reader, owner: AbstractValue, name: AbstractValue) -> AbstractValue:
    delete_attribute_of(r, owner, require_known(r, name, "the name of delattr()"))
    return Known(None)


@serves("builtins.hasattr")
def hasattr_(r: Reader, owner: AbstractValue, name: AbstractValue) -> AbstractValue:
    attr = require_known(r, name, "the name of hasattr()")
    if asks_getattr(r, owner, attr):
        return r.call(Known(objects.has_attribute), [owner, name], {})
    return _has(r, owner, attr)


def asks_getattr(r: Reader, owner: AbstractValue, name: str) -> bool:
    """Return whether Python code of an object's class decides whether the object has an attribute."""
    if not is_known(owner) and not is_object(owner):
        return False
    cls = class_of(owner)
    if isinstance(owner, Known) and isinstance(owner.obj, (type, ModuleType, torch.nn.Module)) or cls is None:
        return False
    if isinstance(cls.__getattribute__, FunctionType):
        return True
    return can_be_called(own_finder(cls)) and not _is_found(r, owner, name)


def _is_found(r: Reader, owner: AbstractValue, name: str) -> bool:
    """Return whether an object or its class has an attribute on all paths without a call of `__getattr__`."""
    own = r.items_of(owner) if is_object(owner) else getattr(require_known(r, owner, "an object"), "__dict__", {})
    return name in own and not isinstance(own[name], MaybeUnbound) or any(name in c.__dict__ for c in class_of(owner).__mro__)  # type: ignore[union-attr]


def _has(r: Reader, owner: AbstractValue, name: str) -> AbstractValue:
    if is_known(owner) and (slot := attribute_slot(r, owner.obj, name)) is not None:
        return has_slot(r, slot)
    held = r.items_of(owner).get(name) if is_object(owner) else None
    if isinstance(held, MaybeUnbound) and not hasattr(python_class(r, owner), name):
        return held.flag
    return Known(_has_always(r, owner, name))


def _has_always(r: Reader, owner: AbstractValue, name: str) -> bool:
    if is_known(owner):
        return _has_now(r, owner.obj, name)
    if is_object(owner) and name in r.items_of(owner):
        return True
    cls = python_class(r, owner)
    watch_class_attribute(r, cls, name)
    return hasattr(cls, name)


def _has_now(r: Reader, obj: Any, name: str) -> bool:
    """Return hasattr(obj, name) of an object outside, and guard all that may hold the attribute."""
    if isinstance(obj, threading.local):  # each thread sees other attributes
        asked = partial(hasattr, obj, name)
        r.environment.guard("CALL_GIVES", asked, None, asked())
        record_this_process()
        return asked()
    watch_object(r, obj)
    own = getattr(obj, "__dict__", None)
    tables = [own] if type(own) is dict else []
    if isinstance(obj, torch.nn.Module):
        tables += [vars(obj)[table] for table in ("_parameters", "_buffers", "_modules")]
    for table in tables:
        r.environment.guard("DICT_HAS" if name in table else "DICT_MISSING", table, name, None)
        if name in table:
            return True
    for cls in (obj, type(obj)) if isinstance(obj, type) else (type(obj),):
        watch_class_attribute(r, cls, name)
    return hasattr(obj, name)


def _names_in(function: Callable[[Any], Any]) -> Callable[..., AbstractValue]:
    def handler(r: Reader, *obj: AbstractValue) -> AbstractValue:
        if not obj:
            r.reject("builtin_function")  # without an argument, they list the names of the frame
        if function is vars and is_object(obj[0]):
            return r.attribute(obj[0], "__dict__")
        owner = require_known(r, obj[0], "the object")
        watch_object(r, owner)
        if function is vars:
            return r.attribute(obj[0], "__dict__")
        for cls in type(owner).__mro__:
            watch_names(r, cls)
        own = getattr(owner, "__dict__", None)
        if type(own) is dict:
            watch(r, own, deep=False)
        return call_in_python(r, function, owner)

    return handler


serves("builtins.vars")(_names_in(vars))


serves("builtins.dir")(_names_in(dir))


@serves("builtins.hash")
def hash_(r: Reader, value: AbstractValue) -> AbstractValue:
    if is_object(value) and is_generated(value, "__hash__"):
        hashed = [f.name for f in dataclasses.fields(value.cls) if (f.compare if f.hash is None else f.hash)]
        return hash_(r, TupleValue([r.attribute(value, name) for name in hashed]))
    if (own := special(r, value, "__hash__", [])) is not None:
        return own
    refuse_unhashable(r, value)
    value = as_argument(r, value)  # a NumPy scalar has the hash of its number
    if is_known(value) and not r.state.ahead and _has_hash_of_process(value.obj):
        record_this_process()
        return call_in_python(r, hash, value.obj)
    if not _is_of_numbers(r, value):
        r.reject("hash_of_other", what=describe(value))
    return RuntimeValue(r.emit.build("hash", [list_item(r, value)]))


def _has_hash_of_process(obj: Any) -> bool:
    """Return whether an object has one hash in this process, and perhaps another one in others."""
    if isinstance(obj, (tuple, frozenset)):
        return type(obj) in (tuple, frozenset) and all(_has_hash_of_process(o) for o in obj)
    return obj is None or type(obj) in (str, bytes, int, float, bool, complex)


def _is_of_numbers(r: Reader, value: AbstractValue) -> bool:
    items = sequence_items(value)
    if items is not None:
        return all(_is_of_numbers(r, item) for item in items)
    if is_known(value):  # a member of an enum hashes by its name
        return type(value.obj) in NUMBERS
    t = None if is_numpy_scalar(value) else type_of_key(r, value)  # a tuple holds the scalar in a box
    return t is not None and is_hashable(t) and has_hash(t)
