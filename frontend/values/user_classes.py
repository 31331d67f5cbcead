"""Users' classes: the methods that they define, and whether compiled code can make instances."""

from __future__ import annotations

import enum
import inspect
import sys
from collections import OrderedDict
from dataclasses import is_dataclass
from types import FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import is_library
from scriptc.frontend.library.torch.futures_decomposed import Future
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue, TupleValue
from scriptc.frontend.values.predicates import is_known

CONTENT = "<content>"  # the attribute that holds the dict or list of an object whose class inherits from one
_CONTAINERS = (OrderedDict, dict, list)


def container_base(cls: type) -> type | None:
    """Return the class among dict, OrderedDict and list that a user's class inherits from."""
    return next((base for base in _CONTAINERS if issubclass(cls, base)), None)


def class_of(av: AbstractValue) -> type | None:
    """Return the class of an object that is made here or known, or of a named tuple."""
    if isinstance(av, ObjectValue) or isinstance(av, TupleValue) and hasattr(av.cls, "_fields"):
        return av.cls
    return type(av.obj) if is_known(av) else None


def defines(av: AbstractValue, name: str) -> bool:
    """Return whether an object's class is a user's and defines a method, so that the result may change between
    calls."""
    method = getattr(class_of(av), name, None)
    if not isinstance(method, FunctionType) or isinstance(av, ObjectValue):
        return isinstance(method, FunctionType)
    if isinstance(av, TupleValue):  # the functions of a named tuple belong to the module collections
        return not is_library(method.__module__)
    return not isinstance(av.obj, type) and _is_of_users(method.__module__)  # type: ignore[attr-defined]


def _is_of_users(module: str) -> bool:
    """Return whether the classes of a module are a user's, or are like them: those of torch.distributions hold tensors."""
    is_python = module.partition(".")[0] in sys.stdlib_module_names
    return module.startswith(("torch.distributions.", "torch.nn.attention.")) or not is_library(module) and not is_python


def defines_outside(av: AbstractValue, name: str) -> bool:
    """Return whether the class of an object outside, or of a named tuple, is a user's and defines a method."""
    return isinstance(av, (Known, TupleValue)) and defines(av, name)


def is_generated(av: AbstractValue, name: str) -> bool:
    """Return whether `dataclass` generated a method, which then has no source."""
    return defines(av, name) and inspect.unwrap(getattr(class_of(av), name)).__code__.co_filename == "<string>"


def is_plain_module(cls: type) -> bool:
    """Return whether a class adds only attributes and Python methods to nn.Module, such as an `__init__`."""
    own = cls.__mro__[: cls.__mro__.index(torch.nn.Module)] if issubclass(cls, torch.nn.Module) else ()
    special = ("__new__", "__call__", "__getattr__", "__getattribute__", "__delattr__")
    return any("__init__" in c.__dict__ for c in own) and not any(
        is_library(c.__module__) and not _is_of_layers(c.__module__) or any(name in c.__dict__ for name in special)
        for c in own
    )


def _is_of_layers(module: str) -> bool:
    """Return whether the classes of a module of torch are layers in Python, whose `__init__` can be read."""
    return module.startswith("torch.nn.modules.")


def own_setter(cls: type) -> Any:
    """Return what a user's class does where an attribute is set, None for what `object` does."""
    return _own(cls, "__setattr__")


def own_deleter(cls: type) -> Any:
    """Return what a user's class does where an attribute is deleted, None for what `object` does."""
    return _own(cls, "__delattr__")


def own_finder(cls: type) -> Any:
    """Return the `__getattr__` of a user's class, which finds the attributes that an object lacks."""
    return getattr(cls, "__getattr__", None)


def _own(cls: type, name: str) -> Any:
    """Return a method that a user's class defines. One that `dataclass` generated for a frozen class is no user's."""
    home, found = next(c for c in cls.__mro__ if name in c.__dict__), getattr(cls, name)
    is_generated = isinstance(found, FunctionType) and found.__code__.co_filename == "<string>"
    return None if is_generated or home.__module__ == "builtins" else found


def can_be_called(method: Any) -> bool:
    """Return whether compiled code can call what a class defines as a method: Python code, or a method of dict or
    list."""
    of_builtin = isinstance(method, MethodDescriptorType | WrapperDescriptorType) and method.__objclass__ in _CONTAINERS
    return isinstance(method, FunctionType) or of_builtin


def is_plain(cls: type) -> bool:
    """Return whether instances of a class have only attributes and Python methods, and no code of the class makes the
    instances or reads or sets their attributes."""
    own: Any = cls  # mypy takes the methods of object for those of each class
    set_plainly = own.__setattr__ is object.__setattr__ or own_setter(cls) is None
    set_plainly &= own_deleter(cls) is None
    read_plainly = own.__getattribute__ is object.__getattribute__ and own_finder(cls) is None
    made_plainly = own.__new__ is object.__new__ and container_base(cls) is None
    return can_be_made(cls) and set_plainly and read_plainly and made_plainly


def can_be_made(cls: type) -> bool:
    """Return whether compiled code can make instances of a class: they have attributes, and perhaps a dict or list."""
    base = container_base(cls)
    if issubclass(cls, (BaseException, enum.Enum)):
        return False
    if cls.__new__ is not (base or object).__new__ and not isinstance(cls.__new__, FunctionType):
        return False
    inherited = (object,) if base is None else base.__mro__
    if any(b.__module__ == "builtins" and b not in inherited for b in cls.__mro__):
        return False
    of_attributes = (own_setter(cls), own_deleter(cls), own_finder(cls))
    if any(method is not None and not can_be_called(method) for method in of_attributes):
        return False
    own = not is_library(cls.__module__) or _is_of_users(cls.__module__) or is_dataclass(cls) or cls is Future
    caller = type(cls).__call__
    called_plainly = caller is type.__call__ or isinstance(caller, FunctionType) and not is_library(caller.__module__)
    return own and called_plainly
