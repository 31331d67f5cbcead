"""Exception classes by name: Python's own, and those that a module declares."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from scriptc.ir.core import Module


def own_class(name: str) -> type[BaseException] | None:
    """Return Python's exception of a name."""
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def argument(message: str) -> Any:
    """Return the argument of a KeyError, given its message, which is the argument's repr."""
    try:
        return ast.literal_eval(message)
    except (ValueError, SyntaxError):
        return message


def derived(module: Module, names: Sequence[str]) -> list[str]:
    """Return the names of some classes and of all classes that derive from them, in a stable order."""
    wanted = tuple(cls for name in names if (cls := own_class(name)) is not None)
    every = [c.__name__ for c in vars(builtins).values() if isinstance(c, type) and issubclass(c, wanted or ())]
    found = dict.fromkeys([*names, *sorted(every)])
    for name, bases in module.exceptions.items():  # base classes precede the classes that derive from them
        if any(base in found for base in bases):
            found[name] = None
    return list(found)


def classes(module: Module, given: Mapping[str, type[BaseException]]) -> dict[str, type[BaseException]]:
    """Return the classes that a module declares: the given ones, and new classes for the others."""
    made: dict[str, type[BaseException]] = {}
    for name, bases in module.exceptions.items():
        parents = tuple(made.get(base) or own_class(base) or Exception for base in bases)
        made[name] = given.get(name) or type(name, parents, {})
    return made
