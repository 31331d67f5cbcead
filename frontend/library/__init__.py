"""The op library: what torch's leaves and Python's builtins mean, by the objects that users call.

Three kinds of entries. *Rows* of `scriptc.ir.ops` that name torch functions are served without further code. *Handlers* are
Python functions over abstract values, registered with `@serves`. *Decompositions* are plain Python over torch functions,
registered with `@decomposes` and compiled like the user's own code.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from scriptc.frontend.genuine import BUILTINS, original, remember_originals

FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # by the callable itself
# By kind of owner and name: ("Tensor", "tanh"); ATen's functions are of the kind "aten".
METHODS: dict[tuple[str, str], Callable[..., Any]] = {}
# By the callable itself, and by "Tensor.name", "aten.name" or "aten.name.overload".
DECOMPOSITIONS: dict[Any, Any] = {}
# Decompositions that compute in float32 what they are given in half types, as eager's kernels do, and round at the end.
WIDENING: set[Any] = set()
_KINDS = frozenset(
    "Tensor aten list tuple dict set frozenset Counter OrderedDict str int float bool complex Size range".split()
)


def resolve(name: str) -> Any:
    """Return the object that a dotted name stands for, None where this Python or torch lacks it."""
    module_name, _, attr = name.rpartition(".")
    if module_name == "builtins" or not module_name:
        return BUILTINS.get(attr or name)  # without `site`, and in cells of IPython, there is no exit
    parts = module_name.split(".")
    obj = importlib.import_module(parts[0])
    for part in (*parts[1:], attr):
        obj = getattr(obj, part, None)  # type: ignore[assignment]
    return original(name, obj)


def serves(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a handler `f(reader, *args, **kwargs) -> AV` under dotted names; "Tensor.x" and "list.x" are methods."""

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            kind, _, method = name.partition(".")
            if kind in _KINDS and method:
                METHODS[kind, method] = handler
            elif (target := resolve(name)) is not None:
                FUNCTIONS[target] = handler
        return handler

    return register


def decomposes(*names: str, widens: bool = False) -> Callable[[Any], Any]:
    """Registers a Python function that the front end compiles in place of the named ones. widens: see WIDENING."""

    def register(func: Any) -> Any:
        if widens:
            WIDENING.add(func)
        for name in names:
            if name.partition(".")[0] in ("Tensor", "aten", "list", "str", "int", "float"):
                DECOMPOSITIONS[name] = func
            elif (target := resolve(name)) is not None:
                DECOMPOSITIONS[target] = func
        return func

    return register


def library_name(obj: Any) -> str:
    """How a callable is called in messages."""
    module = getattr(obj, "__module__", None) or ""
    short = getattr(obj, "__name__", "")
    name = getattr(obj, "__qualname__", None) or short or repr(obj)
    for home in ("torch.nn.functional", "torch"):
        if short and vars(importlib.import_module(home)).get(short) is obj:
            return f"{home}.{short}"
    return f"{module}.{name}" if module and module != "builtins" else str(name)


_loading = threading.RLock()
_steps: list[Callable[[], Any]] | None = None  # of `load` that are left


def _forget_lock() -> None:
    """Let go, in a forked child, of a lock that another thread of the parent held."""
    global _loading
    _loading = threading.RLock()


os.register_at_fork(after_in_child=_forget_lock)


def load() -> None:
    """Fill the tables: rows first, then handlers and decompositions, which take precedence.

    Where a step raises, so does each later call, until that step succeeds: nobody goes on with half of the tables.
    """
    global _steps
    if _steps == []:
        return
    with _loading:
        if _steps is None:
            _steps = _all_steps()
        while _steps:
            _steps[0]()
            del _steps[0]


def _all_steps() -> list[Callable[[], Any]]:
    from scriptc.frontend.library import rows

    steps: list[Callable[[], Any]] = [rows.register]
    for home in ("library", "decompositions"):
        package = importlib.import_module(f"scriptc.frontend.{home}")
        for found in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            steps.append(functools.partial(_import, f"scriptc.frontend.{home}.{found}"))
    return steps


def _import(name: str) -> None:
    for used in vars(importlib.import_module(name)).values():
        if isinstance(used, ModuleType):
            remember_originals(used)
