"""scriptc compiles the Python of a PyTorch `forward`, loops and branches included, to C that needs no LibTorch.

`import scriptc` imports neither torch nor the compiler; each name below loads what it needs when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from scriptc.collector import collector_paused

if TYPE_CHECKING:
    from scriptc.build import build
    from scriptc.compare import compare
    from scriptc.compiled import compile
    from scriptc.explain import explain
    from scriptc.ir.errors import CompileError, InternalError
    from scriptc.load import load

__version__ = "0.1.0"
__all__ = ["CompileError", "InternalError", "build", "compare", "compile", "explain", "load"]

_HOMES = {
    "CompileError": "scriptc.ir.errors",
    "InternalError": "scriptc.ir.errors",
    "build": "scriptc.build",
    "compare": "scriptc.compare",
    "compile": "scriptc.compiled",
    "explain": "scriptc.explain",
    "load": "scriptc.load",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'scriptc' has no attribute '{name}'")
    with collector_paused():
        value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value  # over the submodule of the same name, which the import has just put there
    return value
