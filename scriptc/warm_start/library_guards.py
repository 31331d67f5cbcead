"""Summarize guards that compare functions and classes of torch and Python, for a record.

A later process with the same torch has the same functions and classes under the same names, unless they were patched.
So a summary is a name and the location of the code, which takes microseconds to compare, and not a digest of the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from scriptc.driver.target import Target
from scriptc.frontend.environment.host_objects import is_library, is_of_library
from scriptc.frontend.environment.specs import Guard
from scriptc.warm_start import object_paths
from scriptc.warm_start.object_paths import Nameless

# For each container its path, and (kind, key, summary of the expected object) of each guard on it.
LibraryGuards = list[tuple[object_paths.Steps, list[tuple[str, Any, Any]]]]

_MISSING = object()


def is_library_guard(guard: Guard) -> bool:
    """Return whether a guard is on a module, a class or a function of a library."""
    container = guard.container
    if isinstance(container, (type, FunctionType)):
        return is_library(container.__module__)
    return is_of_library(container)


def summarize(guards: Iterable[Guard], paths: object_paths.Paths) -> LibraryGuards:
    """Return the summary of library guards for a record.

    Raises Nameless where a container has no path.
    """
    found: dict[int, tuple[object_paths.Steps, list[tuple[str, Any, Any]]]] = {}
    for guard in guards:
        container = guard.container
        if id(container) not in found:
            found[id(container)] = _path(container, paths), []
        found[id(container)][1].append((guard.kind, guard.key, _summary(_current(guard.kind, container, guard.key))))
    return list(found.values())


def restore(summary: LibraryGuards, target: Target) -> list[Guard]:
    """Return the guards of a summary for this process.

    Raises Nameless where a name has another object now.
    """
    guards = []
    for path, held in summary:
        container = object_paths.resolve(path, target)
        for kind, key, expected in held:
            guard = Guard(kind, container, key, None)
            if not is_library_guard(guard) or _summary(current := _current(kind, container, key)) != expected:
                raise Nameless(key)
            guards.append(guard._replace(expected=None if current is _MISSING else current))
    return guards


def _path(container: Any, paths: object_paths.Paths) -> object_paths.Steps:
    if isinstance(container, dict):
        return (("module", container["__name__"]),)
    try:
        return object_paths.path_by_name(container)
    except Nameless:
        path = paths.of(container)
        if path is None:
            raise
        return path


def _current(kind: str, container: Any, key: Any) -> Any:
    """Return the object that a guard compares now, or `_MISSING`."""
    match kind:
        case "FUNCTION_IS":
            return container.__code__, container.__defaults__, container.__kwdefaults__
        case "MRO_IS":
            return container.__mro__
        case "TYPE_ATTR_IS" | "TYPE_MISSING":
            return next((vars(base)[key] for base in container.__mro__ if key in vars(base)), _MISSING)
    return container.get(key, _MISSING)


def _summary(obj: Any) -> Any:
    """Return a summary that tells an object of a library from one that replaces it."""
    if isinstance(obj, object_paths.OF_C):
        return getattr(obj, "__module__", None), obj.__qualname__
    if isinstance(obj, FunctionType):
        return obj.__module__, obj.__qualname__, obj.__code__.co_filename, obj.__code__.co_firstlineno
    if isinstance(obj, type):
        return obj.__module__, obj.__qualname__
    if isinstance(obj, ModuleType):
        return obj.__name__
    if type(obj) is tuple:
        return tuple(map(_summary, obj))
    if hasattr(obj, "co_firstlineno"):
        return obj.co_filename, obj.co_firstlineno, obj.co_name
    if obj is _MISSING:
        return "missing"
    try:
        return object_paths.description(obj)
    except Nameless:
        return type(obj).__module__, type(obj).__qualname__
