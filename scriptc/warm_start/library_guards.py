"""Tell torch's and Python's own names in a record: where they stood, and what stood there.

A later process with the same torch finds the same functions and classes under these names, unless somebody has patched them.
So each is told by its name and the place of its code, which takes microseconds, and not by what its code does.
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

# By the path of what holds them: kind, key, what was expected.
Facts = list[tuple[object_paths.Steps, list[tuple[str, Any, Any]]]]

_MISSING = object()


def is_fact(guard: Guard) -> bool:
    """Return whether a guard watches a module, a class or a function of a library."""
    container = guard.container
    if isinstance(container, (type, FunctionType)):
        return is_library(container.__module__)
    return is_of_library(container)


def facts_of(guards: Iterable[Guard], paths: object_paths.Paths) -> Facts:
    """Return what a record holds of such guards; raise Nameless where something has no path."""
    found: dict[int, tuple[object_paths.Steps, list[tuple[str, Any, Any]]]] = {}
    for guard in guards:
        container = guard.container
        if id(container) not in found:
            found[id(container)] = _path(container, paths), []
        found[id(container)][1].append((guard.kind, guard.key, _brief(_present(guard.kind, container, guard.key))))
    return list(found.values())


def guards_of(facts: Facts, target: Target) -> list[Guard]:
    """Return the guards of a record in this process; raise Nameless where a name stands for something else."""
    guards = []
    for path, held in facts:
        container = object_paths.resolve(path, target)
        for kind, key, expected in held:
            guard = Guard(kind, container, key, None)
            if not is_fact(guard) or _brief(present := _present(kind, container, key)) != expected:
                raise Nameless(key)
            guards.append(guard._replace(expected=None if present is _MISSING else present))
    return guards


def _path(container: Any, paths: object_paths.Paths) -> object_paths.Steps:
    if isinstance(container, dict):
        return (("module", container["__name__"]),)
    try:
        return object_paths.named(container)
    except Nameless:
        path = paths.of(container)
        if path is None:
            raise
        return path


def _present(kind: str, container: Any, key: Any) -> Any:
    """Return what a guard of a kind finds now."""
    match kind:
        case "FUNCTION_IS":
            return container.__code__, container.__defaults__, container.__kwdefaults__
        case "MRO_IS":
            return container.__mro__
        case "TYPE_ATTR_IS" | "TYPE_MISSING":
            return next((vars(base)[key] for base in container.__mro__ if key in vars(base)), _MISSING)
    return container.get(key, _MISSING)


def _brief(obj: Any) -> Any:
    """Return what tells an object of a library from what somebody may have put in its place."""
    if isinstance(obj, object_paths.OF_C):
        return getattr(obj, "__module__", None), obj.__qualname__
    if isinstance(obj, FunctionType):
        return obj.__module__, obj.__qualname__, obj.__code__.co_filename, obj.__code__.co_firstlineno
    if isinstance(obj, type):
        return obj.__module__, obj.__qualname__
    if isinstance(obj, ModuleType):
        return obj.__name__
    if type(obj) is tuple:
        return tuple(map(_brief, obj))
    if hasattr(obj, "co_firstlineno"):
        return obj.co_filename, obj.co_firstlineno, obj.co_name
    if obj is _MISSING:
        return "missing"
    try:
        return object_paths.description(obj)
    except Nameless:
        return type(obj).__module__, type(obj).__qualname__
