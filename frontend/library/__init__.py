"""The op library: it says what Python's builtins and torch's leaves mean, by the objects that users call.

The library has three kinds of entries. *Rows* of `scriptc.ir.ops` that name torch functions are served without further code.
*Handlers* are Python functions over abstract values, registered with `@serves`. *Decompositions* are plain Python over other
functions, registered with `@decomposes` and read like the user's own code.
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

from scriptc.frontend.environment.genuine import remember_originals

_loading = threading.RLock()
_steps: list[Callable[[], Any]] | None = None  # those that `load` has still to take


def _forget_lock() -> None:
    """Replace, in a forked child, a lock that another thread of the parent may hold."""
    global _loading
    _loading = threading.RLock()


os.register_at_fork(after_in_child=_forget_lock)


def load() -> None:
    """Fill the tables: rows first, then handlers and decompositions, which precede rows.

    If a step raises, each later call takes that step again: no caller goes on with half of the tables.
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
    steps: list[Callable[[], Any]] = [lambda: importlib.import_module(f"{__name__}.torch.rows").register()]
    for folder in ("python", "torch", "numpy"):
        package = importlib.import_module(f"{__name__}.{folder}")
        for found in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            steps.append(functools.partial(_import, f"{package.__name__}.{found}"))
    return steps


def _import(name: str) -> None:
    for used in vars(importlib.import_module(name)).values():
        if isinstance(used, ModuleType):
            remember_originals(used)
