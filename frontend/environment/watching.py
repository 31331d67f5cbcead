"""Guards over the objects outside that Python's own code reads at compile time.

`len(xs)`, `xs == ys` or `table["a"]` of known objects are computed by Python and baked in. A result is valid while the
objects that the function read have the same content. Each object is guarded before the function reads it. An object
that cannot be guarded is rejected.
"""

from __future__ import annotations

import datetime
import enum
import functools
import gc
import inspect
import operator
import pathlib
import re
import sys
import types
import typing
import uuid
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any
from weakref import ReferenceType

import torch

from scriptc.frontend.environment.dependencies import record_this_process
from scriptc.frontend.environment.host_objects import ABSENT, is_instance, is_library, is_own
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.source.caller_signature import signed_function
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.predicates import is_unbound
from scriptc.ir.extern import ExternFunction

MOST_BYTES = 4096  # larger arrays outside are refused, since each call compares the bytes

# Objects of these types never change.
_CONSTANTS = frozenset({
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice,
    torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format, torch.qscheme, torch.finfo, torch.iinfo,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone,
    uuid.UUID, re.Pattern, types.GenericAlias, types.UnionType,
})  # fmt: skip
_MAYBE_NOT_LOADED = (("numpy", "generic"), ("numpy", "dtype"), ("decimal", "Decimal"), ("fractions", "Fraction"))
# Reads from these objects have guards of their own, so their content needs none.
_WATCHED_OTHERWISE = (
    ModuleType, FunctionType, BuiltinFunctionType, MethodType, enum.Enum, ReferenceType, pathlib.PurePath, super,
    ExternFunction, typing.TypeVar, inspect.Signature, inspect.Parameter, property, staticmethod, classmethod,
    torch.Generator, torch.nn.Module, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
)  # fmt: skip
_BUFFERS = (bytearray, array, memoryview)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()), MappingProxyType)
_OF_STRUCTURE: frozenset[Any] = frozenset(
    {len, bool, operator.getitem, list.__getitem__, tuple.__getitem__}
)  # no items
_BY_KEY = (dict, set, frozenset)
_BY_VALUE_OF_KEY = (dict, MappingProxyType)
_TEXTS = frozenset({str, repr, format, ascii})
_VALUES = (bool, int, float, str, type(None), torch.dtype, torch.device, torch.Size)
_LOOKING = tuple(f"__{name}__" for name in (
    "eq", "ne", "lt", "le", "gt", "ge", "hash", "repr", "str", "format", "len", "bool", "getitem", "contains", "iter",
    "next", "add", "sub", "mul", "or", "and", "radd", "rmul", "int", "float", "index",
))  # fmt: skip


# ---- values in containers ----


def guard_item(reader: Reader, container: Any, key: Any, obj: Any) -> None:
    """Guard `container[key]` of a dict, constants by value and other objects by identity."""
    by_value = isinstance(obj, _VALUES) or (isinstance(obj, tuple) and all(isinstance(o, _VALUES) for o in obj))
    reader.environment.guard("DICT_EQ" if by_value else "DICT_IS", container, key, obj)


# ---- objects, classes, functions ----


def watch_object(reader: Reader, obj: Any) -> None:
    """Guard that an object keeps its class and its __dict__."""
    cls = type(obj)
    if cls.__flags__ & _HEAP_TYPE and not isinstance(obj, (type, enum.Enum, torch.Tensor)):
        own = getattr(obj, "__dict__", None)
        reader.environment.guard("OBJECT_IS", obj, None, (cls, own if type(own) is dict else None))


def watch_class_attribute(reader: Reader, cls: type, name: str) -> None:
    """Guard the attribute that a class and its bases have under a name."""
    raw = static_attribute(cls, name)
    if raw is ABSENT:
        reader.environment.guard("TYPE_MISSING", cls, name, None)
    else:
        reader.environment.guard("TYPE_ATTR_IS", cls, name, raw)


def watch_function(reader: Reader, func: FunctionType) -> None:
    """Guard that a function keeps its code and its defaults."""
    if not is_own(func.__module__):
        reader.environment.guard("FUNCTION_IS", func, None, (func.__code__, func.__defaults__, func.__kwdefaults__))


def watch_defaults(reader: Reader, func: FunctionType) -> None:
    """Guard the code of the compiled function, and the defaults of the parameters that a call leaves out."""
    for one in dict.fromkeys((func, signed_function(func))):
        watch_function(reader, one)
        if one.__kwdefaults__ and not is_library(one.__module__):
            watch(reader, one.__kwdefaults__, deep=False)
            for name, default in one.__kwdefaults__.items():
                guard_item(reader, one.__kwdefaults__, name, default)


def watch_bases(reader: Reader, classes: Any) -> None:
    """Guard the bases of classes whose `__bases__` the user may assign to."""
    for cls in classes if isinstance(classes, tuple) else (classes,):
        if isinstance(cls, tuple):
            watch_bases(reader, cls)
        elif isinstance(cls, type) and not is_library(cls.__module__):
            reader.environment.guard("MRO_IS", cls, None, cls.__mro__)


def watch_names(reader: Reader, cls: type) -> None:
    """Guard the set of names that a class defines."""
    (names,) = (o for o in gc.get_referents(vars(cls)) if isinstance(o, dict))
    reader.environment.guard("DICT_KEYS_ARE", names, None, tuple(names))


# ---- contents ----


def watch_for(reader: Reader, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Guard the objects that a function of Python reads through its arguments."""
    if function is super:  # `super` reads nothing; the read of the attribute leaves the guard
        return
    if function in _TEXTS:
        refuse_text(reader, args)
    keyed = function is operator.contains and isinstance(args[0], _BY_KEY)
    for arg in args:
        if type(arg) not in _CONSTANTS:
            shallow = function in _OF_STRUCTURE and (function in (len, bool) or not isinstance(arg, _BY_VALUE_OF_KEY))
            watch(reader, arg, deep=not keyed and not shallow)


def watch(reader: Reader, obj: Any, deep: bool = True) -> None:
    """Guard the content of an object, and if `deep` the content of its items. Reject what cannot be guarded."""
    if type(obj) in _CONSTANTS or id(obj) in reader.environment.made or (id(obj), deep) in reader.environment.watched:
        return
    reader.environment.watched[id(obj), deep] = obj
    if isinstance(obj, (tuple, frozenset)):
        watch_items(reader, obj, deep)
    elif isinstance(obj, list):
        reader.environment.guard("LIST_ITEMS_ARE", obj, None, tuple(obj))
        watch_items(reader, obj, deep)
    elif isinstance(obj, dict):
        reader.environment.guard("DICT_KEYS_ARE", obj, None, tuple(obj))
        for key, item in dict.items(obj) if deep else ():
            guard_item(reader, obj, key, item)
            watch(reader, item)
    elif isinstance(obj, (set, deque)):
        reader.environment.guard("ITERATION_GIVES", obj, None, tuple(obj))
        watch_items(reader, obj, deep)
    elif isinstance(obj, _VIEWS):
        for inner in gc.get_referents(obj):
            watch(reader, inner, deep)
    elif isinstance(obj, _BUFFERS) or is_instance(obj, "numpy", "ndarray"):
        watch_bytes(reader, obj)
    elif isinstance(obj, type):
        watch_bases(reader, obj)
    elif isinstance(obj, torch.Tensor):
        if deep:
            reader.reject("content_unguarded", kind=type(obj).__name__)
    elif not isinstance(obj, _WATCHED_OTHERWISE) and not any(is_instance(obj, *c) for c in _MAYBE_NOT_LOADED):
        watch_instance(reader, obj)


def note_order(obj: Any) -> None:
    """Note that the order of a set of strings was read. The order differs between processes."""
    if isinstance(obj, (set, frozenset)) and len(obj) > 1 and not all(isinstance(o, (int, float)) for o in obj):
        record_this_process()


def refuse_text(reader: Reader, objects: Iterable[Any]) -> None:
    """Refuse to write the content of tensors and modules, which is known only at the call."""
    for obj in objects:
        if isinstance(obj, (torch.Tensor, torch.nn.Module)):
            reader.reject("content_unguarded", kind=type(obj).__name__)
        note_order(obj)
        if isinstance(obj, (tuple, list, set, frozenset, dict)):
            refuse_text(reader, obj.values() if isinstance(obj, dict) else obj)


def grad_mode(reader: Reader) -> bool:
    """Return whether calls are made in grad mode, and guard that they are."""
    reader.environment.guard("GRAD_MODE_IS", None, None, enabled := torch.is_grad_enabled())
    return enabled


def watch_items(reader: Reader, items: Any, deep: bool) -> None:
    for item in items:
        if deep:
            watch(reader, item)
        else:
            reader.environment.watched.setdefault((id(item), None), item)  # other code may hold the item


def watch_bytes(reader: Reader, obj: Any) -> None:
    """Guard the elements of an array, or of another object with a buffer."""
    try:
        view = memoryview(obj)
    except (ValueError, TypeError, BufferError):
        reader.reject("content_unguarded", kind=type(obj).__name__)
    if "O" in view.format:
        reader.reject("content_unguarded", kind=f"{type(obj).__name__} of objects")
    if view.nbytes > MOST_BYTES:
        reader.reject("content_too_large", kind=type(obj).__name__, most=MOST_BYTES)
    reader.environment.guard("BYTES_ARE", obj, None, (view.format, view.shape, view.tobytes()))


def watch_instance(reader: Reader, obj: Any) -> None:
    """Guard the attributes of an instance of a library's class. An instance of a user's class is guarded by
    identity."""
    cls, looks = type(obj), False
    for name in _LOOKING:
        method = static_attribute(cls, name)
        if isinstance(method, FunctionType):
            generated = method.__code__.co_filename == "<string>"  # for example by `dataclass`
            if not generated and not is_library(method.__module__) and not _is_of_python(method.__module__):
                reader.reject("content_unguarded", kind=cls.__name__)
            looks = True
    own = getattr(obj, "__dict__", None)
    if not cls.__flags__ & _HEAP_TYPE and own is None:
        reader.reject("content_unguarded", kind=cls.__name__)  # the content of a C type cannot be guarded
    if not looks and cls.__flags__ & _HEAP_TYPE and not is_library(cls.__module__):
        return
    watch_object(reader, obj)
    if type(own) is dict:
        watch(reader, own)
    for base in cls.__mro__:
        names = vars(base).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if isinstance(vars(base).get(name), types.MemberDescriptorType) and hasattr(obj, name):
                reader.environment.guard("ATTRIBUTE_IS", obj, name, getattr(obj, name))
                watch(reader, getattr(obj, name))


def made_by_python(reader: Reader, result: Any) -> Known:
    """Return the result of a function of watched arguments. No other object refers to the result."""
    if isinstance(result, str) and _ADDRESS.search(result):
        reader.reject("text_of_address", text=result)
    if type(result) not in _CONSTANTS and isinstance(result, _MADE) and not is_watched(reader, result):
        reader.environment.made.add(id(result))
        reader.environment.keep.append(result)
    return Known(result)


def is_watched(reader: Reader, obj: Any) -> bool:
    return any((id(obj), deep) in reader.environment.watched for deep in (True, False, None))


_ADDRESS = re.compile(r" at 0x[0-9a-f]+>")  # object.__repr__ writes the address
_MADE = (list, dict, set, bytearray, deque, *_VIEWS)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the type was made at run time, for example by a class statement


def static_attribute(cls: type, name: str) -> Any:
    """Return the raw attribute of a class or of one of its bases; ABSENT if there is none."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), ABSENT)


def is_data_descriptor(raw: Any) -> bool:
    """Return whether a class attribute takes precedence over an attribute of the object."""
    return hasattr(type(raw), "__set__") or hasattr(type(raw), "__delete__")


def is_python_descriptor(raw: Any) -> bool:
    """Return whether a class attribute computes a value by a `__get__` in Python, of a user's class or of cached_property."""
    getter = getattr(type(raw), "__get__", None)
    of_library = is_library(type(raw).__module__) and type(raw) is not functools.cached_property
    return isinstance(getter, types.FunctionType) and not of_library


def is_of_c(raw: Any) -> bool:
    """Return whether C computes a class attribute: a `__slots__` descriptor, or a member of a C class."""
    return isinstance(raw, (types.MemberDescriptorType, types.GetSetDescriptorType))


def _is_of_python(module_name: str | None) -> bool:
    return (module_name or "").partition(".")[0] in sys.stdlib_module_names


def refuse_added_items(reader: Reader, obj: Any) -> None:
    """Refuse to look at a defaultdict outside as a whole where the call may have put an item into it."""
    if type(obj) is not defaultdict:
        return
    for slot in reader.state.slots.values():
        if slot.location.owner is obj and slot.container is None and not is_unbound(reader.heap.contents[slot.ident]):
            reader.reject("container_outside_changed", kind="defaultdict")


def call_in_python(reader: Reader, function: Callable[..., Any], *args: Any, **kwargs: Any) -> AbstractValue:
    """Return Python's own result on known values, which are guarded. Raise Python's exceptions at run time."""
    given = (*args, *kwargs.values())
    watch_for(reader, function, given)
    for obj in given:
        refuse_added_items(reader, obj)
    try:
        result = function(*args, **kwargs)
    except Exception as e:
        reader.emit.raise_error(type(e).__name__, str(e))
    return made_by_python(reader, result)
