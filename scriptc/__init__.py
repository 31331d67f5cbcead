"""scriptc compiles the Python of a PyTorch `forward`, loops and branches included, to C that needs no LibTorch.

`import scriptc` imports neither torch nor the compiler. The first use of a name below imports the module that defines
it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from scriptc.driver.garbage_collector import collector_paused

if TYPE_CHECKING:
    from scriptc.api.build import build
    from scriptc.api.compare import compare
    from scriptc.api.compile import compile
    from scriptc.api.compiled import Compiled
    from scriptc.api.explain import explain
    from scriptc.api.latency import latency
    from scriptc.api.load import load
    from scriptc.api.signatures import signatures
    from scriptc.backend_c.extensions.errors import ExtensionError
    from scriptc.backend_c.toolchain import BuildError, ToolchainError
    from scriptc.driver.options import CompileOptions
    from scriptc.extensions.api import create_extension, extension
    from scriptc.frontend.source.providers import register_source
    from scriptc.inspect.latency import Machine
    from scriptc.ir.errors import CompileError, InternalError
    from scriptc.onnx.reading import from_onnx
    from scriptc.onnx.writing import to_onnx
    from scriptc.version import __version__ as __version__

if sys.platform == "win32":
    raise ImportError(
        "scriptc does not run on Windows: its C needs GNU C and POSIX, which Microsoft's compiler and library lack. "
        "Use the Windows Subsystem for Linux (WSL)."
    )

_DEFINED_IN = {
    "BuildError": "scriptc.backend_c.toolchain",
    "CompileError": "scriptc.ir.errors",
    "CompileOptions": "scriptc.driver.options",
    "Compiled": "scriptc.api.compiled",
    "ExtensionError": "scriptc.backend_c.extensions.errors",
    "InternalError": "scriptc.ir.errors",
    "Machine": "scriptc.inspect.latency",
    "ToolchainError": "scriptc.backend_c.toolchain",
    "build": "scriptc.api.build",
    "compare": "scriptc.api.compare",
    "compile": "scriptc.api.compile",
    "create_extension": "scriptc.extensions.api",
    "explain": "scriptc.api.explain",
    "extension": "scriptc.extensions.api",
    "from_onnx": "scriptc.onnx.reading",
    "latency": "scriptc.api.latency",
    "load": "scriptc.api.load",
    "register_source": "scriptc.frontend.source.providers",
    "signatures": "scriptc.api.signatures",
    "to_onnx": "scriptc.onnx.writing",
    "__version__": "scriptc.version",
}
__all__ = [
    "BuildError", "CompileError", "CompileOptions", "Compiled", "ExtensionError", "InternalError", "Machine",
    "ToolchainError", "build", "compare", "compile", "create_extension", "explain", "extension", "from_onnx",
    "latency", "load", "register_source", "signatures", "to_onnx",
]  # fmt: skip

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _DEFINED_IN:
            raise AttributeError(f"module 'scriptc' has no attribute '{name}'")
        with collector_paused():
            value = globals()[name] = getattr(importlib.import_module(_DEFINED_IN[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*_DEFINED_IN, *(name for name in globals() if name.startswith("__"))})
