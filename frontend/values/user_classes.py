"""Users' classes: the methods that they define, and whether compiled code can make instances."""

from __future__ import annotations

import enum
import inspect
import sys
from types import FunctionType

import torch

from scriptc.frontend.environment.host_objects import is_library
from scriptc.frontend.library.torch.futures_decomposed import Future
from scriptc.frontend.values.abstract import AbstractValue, Known, ObjectValue, TupleValue
from scriptc.frontend.values.predicates import is_known


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
    root = method.__module__.partition(".")[0]
    if isinstance(av, TupleValue):  # the functions of a named tuple belong to the module collections
        return not is_library(root)
    return not isinstance(av.obj, type) and not is_library(root) and root not in sys.stdlib_module_names  # type: ignore[attr-defined]


def defines_outside(av: AbstractValue, name: str) -> bool:
    """Return whether the class of an object outside, or of a named tuple, is a user's and defines a method."""
    return isinstance(av, (Known, TupleValue)) and defines(av, name)


def is_generated(av: AbstractValue, name: str) -> bool:
    """Return whether `dataclass` generated a method, which then has no source."""
    return defines(av, name) and inspect.unwrap(getattr(class_of(av), name)).__code__.co_filename == "<string>"


def is_plain_module(cls: type) -> bool:
    """Return whether a class adds only attributes and Python methods to nn.Module, such as an `__init__`."""
    own = cls.__mro__[: cls.__mro__.index(torch.nn.Module)] if issubclass(cls, torch.nn.Module) else ()
    special = ("__new__", "__call__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__")
    return any("__init__" in c.__dict__ for c in own) and not any(
        is_library(c.__module__) or any(name in c.__dict__ for name in special) for c in own
    )


def _is_set_plainly(cls: type) -> bool:
    """Return whether an assignment or deletion of an attribute runs no code of the user."""
    own = [m for m in (cls.__setattr__, cls.__delattr__) if m not in (object.__setattr__, object.__delattr__)]
    codes = [getattr(m, "__code__", None) for m in own]
    return all(code is not None and code.co_filename == "<string>" for code in codes)  # a frozen dataclass


def is_plain(cls: type) -> bool:
    """Return whether instances of a class have only attributes and Python methods."""
    if issubclass(cls, (BaseException, enum.Enum)) or cls.__new__ is not object.__new__:
        return False
    if any(b.__module__ == "builtins" and b is not object for b in cls.__mro__):
        return False
    own = not is_library(cls.__module__) or cls.__module__.startswith("torch.distributions.") or cls is Future
    if not own or type(cls).__call__ is not type.__call__ or not _is_set_plainly(cls):
        return False
    return cls.__getattribute__ is object.__getattribute__ and not hasattr(cls, "__getattr__")
