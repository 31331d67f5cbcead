"""Name the Python objects that compiled code depends on, so that another process finds the same objects.

An object with state (a module, a dict, a cell, a list) is named by a path from the target. Each other object has a
description. Two objects have equal descriptions if compiled code cannot tell them apart.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import sys
from array import array
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, get_args, get_origin
from weakref import ReferenceType

import torch

from scriptc.driver.target import Target
from scriptc.frontend.environment.host_objects import is_instance, is_library
from scriptc.frontend.environment.specs import Attributes
from scriptc.frontend.source.providers import is_source_file

Step = tuple[Any, ...]
Steps = tuple[Step, ...]
STEPS = ("item", "vars", "class", "base", "cell", "contents", "attribute", "attributes")
MOST_OBJECTS = 50_000  # the most objects that one walk visits

_CONSTANTS = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice,
    torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format,
)  # fmt: skip
OF_C = (BuiltinFunctionType, GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType)


_CONTEXTS = (torch.no_grad, torch.enable_grad, torch.set_grad_enabled, torch.inference_mode)
_GUARDED_BY_CONTENT = (list, dict, set, deque, bytearray, array, memoryview, torch.Tensor)


class Nameless(Exception):
    """An object has neither a path nor a description, or not the one that a record has."""


# ---- paths ----


def resolve(path: Steps, target: Target | None) -> Any:
    """Return the object at a path.

    Raises LookupError, AttributeError, TypeError or ValueError where there is none.
    """
    root, *steps = path
    match root:
        case ("module", name):
            obj: Any = vars(sys.modules[name])
        case ("class of module", name):  # some modules of torch are instances of their own classes
            obj = type(sys.modules[name])
        case _:
            obj = target
    for each in steps:
        obj = step(obj, each)
    return obj


# The attributes that steps may read, by the types that may own them.
_ATTRIBUTES: dict[str, tuple[type, ...]] = {
    "func": (Target, functools.partial),
    "args": (functools.partial,),
    "keywords": (functools.partial,),
    "receiver": (Target,),
    "__wrapped__": (FunctionType,),
    "__defaults__": (FunctionType,),
    "__kwdefaults__": (FunctionType,),
    "__func__": (MethodType, staticmethod, classmethod),
    "__self__": (MethodType,),
    "fget": (property,),
}


def step(obj: Any, edge: Step) -> Any:
    """Return the object at the end of a step.

    No step runs a property or `__getattr__` of the user.
    """
    match edge:
        case ("item", key) if isinstance(obj, (dict, list, tuple, MappingProxyType)):
            return item(obj, key)
        case ("vars",):
            return vars(obj)
        case ("class",):
            return type(obj)
        case ("base", i) if isinstance(obj, type):
            return obj.__mro__[i]
        case ("cell", i) if isinstance(obj, FunctionType):
            return (obj.__closure__ or ())[i]
        case ("contents",) if isinstance(obj, CellType):
            return obj.cell_contents
        case ("attributes",) if isinstance(obj, torch.Tensor) or has_state(obj):
            return Attributes(obj)
        case ("attribute", name) if isinstance(obj, _ATTRIBUTES.get(name, ())):
            return getattr(obj, name)
        case ("attribute", name) if isinstance(obj, type):
            found = next((vars(base)[name] for base in obj.__mro__ if name in vars(base)), None)
            return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    raise ValueError(edge)


def item(container: Any, key: Any) -> Any:
    """Return an item. Raises KeyError for an absent one, also of a dict that makes items when they are read."""
    if isinstance(container, dict) and key not in container:
        raise KeyError(key)
    return container[key]


def _parts(obj: Any) -> Iterator[tuple[Step, Any]]:
    """Yield the objects that an object refers to, each with the step to it."""
    if isinstance(obj, dict):
        yield from ((("item", k), v) for k, v in obj.items() if isinstance(k, (str, int, torch.Tensor)))
    elif isinstance(obj, (list, tuple)):
        yield from ((("item", i), v) for i, v in enumerate(obj))
    elif isinstance(obj, FunctionType):
        yield from ((("cell", i), cell) for i, cell in enumerate(obj.__closure__ or ()))
        for name in ("__wrapped__", "__kwdefaults__", "__defaults__"):
            if getattr(obj, name, None) is not None:
                yield ("attribute", name), getattr(obj, name)
    elif isinstance(obj, CellType):
        try:
            yield ("contents",), obj.cell_contents
        except ValueError:  # the cell is empty
            return
    elif isinstance(obj, (MethodType, staticmethod, classmethod)):
        yield ("attribute", "__func__"), obj.__func__
        if isinstance(obj, MethodType):
            yield ("attribute", "__self__"), obj.__self__
    elif isinstance(obj, property):
        yield ("attribute", "fget"), obj.fget
    elif isinstance(obj, type):
        if not is_library(obj.__module__):
            yield ("vars",), dict(vars(obj))
            yield from ((("base", i), base) for i, base in enumerate(obj.__mro__) if i)
        elif _is_optimizer(obj):  # torch decorates the `step` of each class anew
            yield from ((("attribute", name), f) for name, f in vars(obj).items() if isinstance(f, FunctionType))
    elif has_state(obj):
        yield ("vars",), vars(obj)
        yield ("class",), type(obj)
    elif isinstance(obj, functools.partial):
        yield from ((("attribute", name), getattr(obj, name)) for name in ("func", "args", "keywords"))


def has_state(obj: Any) -> bool:
    """Return whether compiled code may depend on attributes of an object.

    It may if the object is an nn.Module, an optimizer or schedule of torch, or an instance of a user's class.
    """
    if isinstance(obj, (ModuleType, type, torch.Tensor, *_CONSTANTS)):
        return False
    if not isinstance(getattr(obj, "__dict__", None), dict):
        return False
    cls = type(obj)
    return isinstance(obj, torch.nn.Module) or _is_optimizer(cls) or not is_library(cls.__module__)


def _is_optimizer(cls: type) -> bool:
    """Return whether a class is an optimizer or schedule of torch."""
    return cls.__module__.startswith("torch.optim.")


def path_by_name(obj: Any) -> Steps:
    """Return the path of a function or class by its qualified name.

    Raises Nameless where that names another object.
    """
    if type(sys.modules.get(obj.__module__)) is obj:
        return (("class of module", obj.__module__),)
    first, *rest = obj.__qualname__.split(".")
    path = (("module", obj.__module__), ("item", first), *(("attribute", name) for name in rest))
    try:
        found = resolve(path, None)
        while found is not obj and isinstance(found, FunctionType):  # obj may be what a decorator has wrapped
            path = (*path, ("attribute", "__wrapped__"))
            found = found.__wrapped__  # type: ignore[attr-defined]
        if found is obj:
            return path
    except (LookupError, AttributeError, ValueError):  # ValueError: a function within a function
        pass
    raise Nameless(obj.__qualname__)


class Paths:
    """The paths of all objects that are reachable from a target. `follow` adds objects that guards expect."""

    def __init__(self, target: Target):
        self._paths: dict[int, Steps] = {}
        self._keep: list[Any] = []  # keeps the objects alive, so that their ids stay theirs
        self.walk(target.func, (("target",), ("attribute", "func")))
        if target.receiver is not None:
            self.walk(target.receiver, (("target",), ("attribute", "receiver")))
        for name, table in vars(torch.nn.modules.module).items():  # hooks on all modules
            if type(table) is OrderedDict:
                self.walk(table, (("module", torch.nn.modules.module.__name__), ("item", name)))

    def walk(self, root: Any, path: Steps) -> None:
        """Record the paths of an object and of all objects that are reachable from it."""
        todo: deque[tuple[Any, Steps]] = deque([(root, path)])
        while todo:
            obj, path = todo.popleft()
            if id(obj) in self._paths or type(obj) in _CONSTANTS:
                continue
            if len(self._paths) >= MOST_OBJECTS:
                raise Nameless("too many objects")
            self._paths[id(obj)] = path
            self._keep.append(obj)
            todo.extend((part, (*path, step)) for step, part in _parts(obj))

    def walk_functions(self, objects: Iterable[Any]) -> None:
        """Record the paths of functions of libraries, such as decorated ones, whose cells are read, and of what they hold."""
        for obj in objects:
            if isinstance(obj, FunctionType) and is_library(obj.__module__) and obj.__closure__:
                with contextlib.suppress(Nameless):
                    self.walk(obj, path_by_name(obj))

    def of(self, obj: Any) -> Steps | None:
        """Return the path of an object, or None."""
        if isinstance(obj, Attributes):
            owner = self.of(obj.owner)
            return None if owner is None else (*owner, ("attributes",))
        found = self._paths.get(id(obj))
        if found is None and isinstance(obj, dict) and obj.get("__name__") in sys.modules:
            name = obj["__name__"]
            found = (("module", name),) if vars(sys.modules[name]) is obj else None
        return found

    def follow(self, items: Iterable[tuple[Any, Any, Any]]) -> None:
        """Record the paths of items of dicts that have paths.

        items: (container, key, object) of each.
        """
        pending = list(items)
        found = True
        while found:
            found, left = False, []
            for container, key, obj in pending:
                path = self.of(container) if isinstance(container, dict) else None
                if path is None:
                    left.append((container, key, obj))
                else:
                    found = True
                    self.walk(obj, (*path, ("item", key)))
            pending = left


# ---- descriptions ----


def description(obj: Any) -> Any:
    """Return the description of an object.

    Objects of two processes have equal descriptions if compiled code may use one for the other. An object with state is
    described by its class alone, because guards compare its content. Raises Nameless for objects of other types.
    """
    if type(obj) in _CONSTANTS:
        return type(obj).__name__, obj.hex() if isinstance(obj, float) else repr(obj)
    if isinstance(obj, enum.Enum):
        return "enum", description(type(obj)), obj.name, description(obj.value)
    if isinstance(obj, (tuple, frozenset)):
        items = sorted(obj, key=repr) if isinstance(obj, frozenset) else obj
        return "items", description(type(obj)), *map(description, items)
    if (origin := get_origin(obj)) is not None:  # a generic alias or a union, such as `list[int]`
        generic = description(origin) if isinstance(origin, type) else repr(origin)
        args = (tuple(arg) if isinstance(arg, list) else arg for arg in get_args(obj))  # of a Callable's parameters
        return type(obj).__qualname__, generic, *map(description, args)
    if isinstance(obj, type):
        return "class", obj.__module__, obj.__qualname__, *_names_of_class(obj)
    if isinstance(obj, ModuleType):
        return "module", obj.__name__
    if isinstance(obj, FunctionType):
        named = sorted((obj.__kwdefaults__ or {}).items())
        defaults = [description(obj.__defaults__), *((name, description(value)) for name, value in named)]
        return "function", obj.__module__, obj.__qualname__, _digest_of_code(obj.__code__), *defaults
    if isinstance(obj, MethodType):
        return "method", description(obj.__func__), description(type(obj.__self__))
    if isinstance(obj, (staticmethod, classmethod)):
        return type(obj).__name__, description(obj.__func__)
    if isinstance(obj, property):
        return "property", *map(description, (obj.fget, obj.fset, obj.fdel))
    if isinstance(obj, functools.partial):
        named = [(name, description(value)) for name, value in obj.keywords.items()]
        return "partial", description(obj.func), *map(description, obj.args), *named
    if isinstance(obj, ReferenceType):
        return "weak", description(obj())
    if isinstance(obj, OF_C):
        return "builtin", getattr(obj, "__module__", None), obj.__qualname__
    if isinstance(obj, _CONTEXTS):
        return "context", description(type(obj)), getattr(obj, "mode", None)
    if is_instance(obj, "numpy", "generic"):
        return "number", str(obj.dtype), repr(obj.item())
    if isinstance(obj, _GUARDED_BY_CONTENT) or is_instance(obj, "numpy", "ndarray") or has_state(obj):
        return "object", description(type(obj))
    raise Nameless(type(obj).__qualname__)


def _names_of_class(cls: type) -> Iterator[Any]:
    """Yield the bases of a user's class, and the names that each defines."""
    if is_library(cls.__module__):
        return
    for base in cls.__mro__:
        names = () if is_library(base.__module__) else tuple(vars(base))
        yield base.__module__, base.__qualname__, names


def _digest_of_code(code: CodeType) -> str:
    """Return a digest of what code does, and of its lines, which errors show."""
    names = code.co_names, code.co_varnames, code.co_freevars
    parts = code.co_code, *names, code.co_filename, code.co_firstlineno, code.co_linetable
    constants = [
        _digest_of_code(c) if isinstance(c, CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
        for c in code.co_consts
    ]
    return hashlib.sha256(repr((parts, constants)).encode(errors="surrogatepass")).hexdigest()


# ---- source files ----


def source_files(objects: Iterable[Any]) -> dict[str, str]:
    """Return the user's source files that define some objects or their classes, with hashes.

    Raises Nameless for an object that has no description, and where a file is missing.
    """
    files: dict[str, str] = {}
    for obj in objects:
        for name in _files_of(obj):
            if name not in files:
                files[name] = digest_of_file(name)
    return files


def digest_of_file(name: str) -> str:
    """Return the hash of a file. Raises Nameless where the file cannot be read."""
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()
    except OSError as e:
        raise Nameless(name) from e


def _files_of(obj: Any) -> Iterator[str]:
    """Yield the source files that define an object or its class."""
    if type(obj) in _CONSTANTS or isinstance(obj, (*OF_C, list, dict, set, super)):
        return  # their items, and the two arguments of a super(), are dependencies themselves
    parts = obj if isinstance(obj, (tuple, frozenset)) else get_args(obj)
    for part in parts:
        yield from _files_of(part)
    if isinstance(obj, FunctionType):
        if not is_library(obj.__module__):
            yield obj.__code__.co_filename
    elif isinstance(obj, ModuleType):
        yield from _file_of_module(obj.__name__)
    elif isinstance(obj, type):
        for base in obj.__mro__:
            yield from _file_of_module(base.__module__)
    else:
        description(obj)
        yield from _files_of(type(obj))


def _file_of_module(name: str) -> Iterator[str]:
    if is_library(name):
        return
    found = getattr(sys.modules.get(name), "__file__", None)
    if found is None:
        if getattr(sys.modules.get(name), "__spec__", None) is not None:  # a built-in module
            return
        raise Nameless(f"a module without a file, {name}")
    if is_source_file(found):
        yield found
