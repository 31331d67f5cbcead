"""Find out which names of torch and Python the user has replaced, and the original meaning of the names.

Tools replace functions of libraries, as in `torch.tanh = mine` or `nn.Module.__call__ = mine`, before a program is
compiled or between two calls. The op library describes `torch.tanh` only as torch defines it.
"""

from __future__ import annotations

import builtins
import functools
import os
from types import CodeType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np
import torch

_NAMED = {
    "torch": torch._C._VariableFunctions,
    "torch.nn.functional": torch._C._nn,
}  # C keeps its functions in these classes as well
_SOURCE_OF_CALLS = torch.nn.modules.module.__file__


@functools.cache
def _folders() -> tuple[str, ...]:
    """Return the folders of the code of torch, NumPy, Python and scriptc, without other packages in the same place."""
    import sysconfig  # most processes compile nothing and need no paths

    own = os.path.dirname(os.path.dirname(__file__))  # the front end
    paths = sysconfig.get_paths()
    return tuple(
        os.path.join(f, "")
        for f in (os.path.dirname(torch.__file__), os.path.dirname(np.__file__), paths["stdlib"], paths["platstdlib"], own)
    )


@functools.lru_cache(maxsize=1 << 12)
def _is_installed(file: str) -> bool:
    """Return whether a file belongs to torch, NumPy, Python or scriptc. Other packages lie in a folder of Python's own
    modules."""
    inside = [file.removeprefix(folder) for folder in _folders() if file.startswith(folder)]
    return file.startswith("<frozen ") or any("site-packages" not in path.split(os.sep) for path in inside)


def is_patch(obj: Any) -> bool:
    """Return whether an object under a name of a library comes from another module, so that the name was replaced."""
    if isinstance(obj, property):
        return is_patch(obj.fget)
    if isinstance(obj, (staticmethod, classmethod)):
        return is_patch(obj.__func__)
    code = getattr(obj, "__code__", None)
    if type(getattr(obj, "__func__", obj)).__name__ == "cython_function_or_method":
        return False  # the path of its source is that of the machine that built it
    if isinstance(code, CodeType):
        return not (
            _is_installed(code.co_filename) or code.co_filename.startswith("<")
        )  # functions with such a file were generated, for example by `dataclass`
    return False


def original(name: str, obj: Any) -> Any:
    """Return the original object of a dotted name that now means `obj`; None where it is not known."""
    if not is_patch(obj):
        return obj
    module, _, attribute = name.rpartition(".")
    return getattr(_NAMED.get(module), attribute, None)


_originals: dict[int, dict[str, Any]] = {}


def remember_originals(module: ModuleType) -> None:
    """Note the objects that the names of a module mean, for scriptc's own code."""
    prefix = module.__name__
    _originals[id(vars(module))] = {
        name: original(f"{prefix}.{name}", obj) if is_patch(obj) else obj for name, obj in vars(module).items()
    }


def originals_of(module: ModuleType) -> dict[str, Any]:
    """Return the objects that the names of a module meant when scriptc first compiled."""
    if id(vars(module)) not in _originals:
        remember_originals(module)
    return _originals[id(vars(module))]


def is_call_of_modules(obj: Any) -> bool:
    """Return whether a function is the `__call__` of nn.Module, or a function that this `__call__` calls."""
    code = getattr(obj, "__code__", None)
    names = ("_wrapped_call_impl", "_call_impl")
    return code is not None and code.co_name in names and code.co_filename == _SOURCE_OF_CALLS


def replaced_method(cls: type, name: str, raw: Any) -> Any:
    """Return the replacement of a method of torch, or None. It is a function, or the name of another method."""
    if is_patch(raw):
        return raw
    is_other = isinstance(raw, MethodDescriptorType) and name in vars(cls) and not name.startswith("__")
    return raw.__name__ if is_other and raw.__name__ != name else None


BUILTINS = dict(vars(builtins))  # the builtins before user code could replace one
