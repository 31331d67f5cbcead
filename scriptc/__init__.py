"""scriptc compiles the Python of a PyTorch `forward`, loops and branches included, to C that needs no LibTorch.

`import scriptc` imports neither torch nor the compiler; each name below loads what it needs when it is first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from scriptc.collector import collector_paused

if TYPE_CHECKING:
    from scriptc.backend_c.toolchain import BuildError, ToolchainError
    from scriptc.build import build
    from scriptc.compare import compare
    from scriptc.compiled import Compiled, compile
    from scriptc.explain import explain
    from scriptc.ir.errors import CompileError, InternalError
    from scriptc.load import load
    from scriptc.typed import CompileOptions

if sys.platform == "win32":
    raise ImportError(
        "scriptc does not run on Windows: its C needs GNU C and POSIX, which Microsoft's compiler and library lack. "
        "Use the Windows Subsystem for Linux (WSL)."
    )

__version__ = "0.1.0"
_HOMES = {
    "BuildError": "scriptc.backend_c.toolchain",
    "CompileError": "scriptc.ir.errors",
    "CompileOptions": "scriptc.typed",
    "Compiled": "scriptc.compiled",
    "InternalError": "scriptc.ir.errors",
    "ToolchainError": "scriptc.backend_c.toolchain",
    "build": "scriptc.build",
    "compare": "scriptc.compare",
    "compile": "scriptc.compiled",
    "explain": "scriptc.explain",
    "load": "scriptc.load",
}
__all__ = [
    "BuildError", "CompileError", "CompileOptions", "Compiled", "InternalError", "ToolchainError",
    "build", "compare", "compile", "explain", "load",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'scriptc' has no attribute '{name}'")
        with collector_paused():
            value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return value

    class _Package(ModuleType):
        """This module. A submodule that is imported does not take the place of the function of its name."""

        def __setattr__(self, name: str, value: Any) -> None:
            is_home = isinstance(value, ModuleType) and value.__name__ == _HOMES.get(name)
            super().__setattr__(name, getattr(value, name) if is_home else value)

    sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
