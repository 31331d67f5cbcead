"""List the functions of Python and torch that may run at compile time: their results follow from their arguments.

The front end calls no other function. For example, a clock, a random number, an environment variable, a file, an
identity or a flag of the process would be baked in.
"""

from __future__ import annotations

import enum
import math
import operator
import os
import struct
import sys
import threading
import typing
from types import BuiltinFunctionType, MappingProxyType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import is_instance

# Instances of these types never change, so a method's result follows from the instance and the arguments.
_IMMUTABLE = (
    bool, int, float, complex, str, bytes, tuple, frozenset, range, slice, type(None), torch.Size, torch.dtype, torch.device,
    torch.finfo, torch.iinfo,
)  # fmt: skip
# Methods that neither change a container nor depend on its identity.
_OF_CONTAINERS: tuple[tuple[type, frozenset[str]], ...] = (
    (list, frozenset("index count copy".split())),
    (dict, frozenset("get keys values items copy".split())),
    (set, frozenset("union intersection difference symmetric_difference issubset issuperset isdisjoint copy".split())),
    (MappingProxyType, frozenset("get keys values items copy".split())),
)
_OF_ARRAYS = frozenset("item tolist __len__ __getitem__ __float__ __int__ __bool__ __index__ __contains__".split())
_ARRAYS = (("array", "array"), ("numpy", "ndarray"), ("numpy", "generic"))
_OF_THE_PROCESS = frozenset("__hash__ __sizeof__ __dir__ __reduce__ __reduce_ex__".split())  # results of this process

_BUILTINS = (
    abs, all, any, ascii, bin, bool, bytes, callable, chr, complex, divmod, enumerate, float, format, frozenset, hex, int,
    isinstance, issubclass, iter, len, list, dict, set, max, min, next, object, oct, ord, pow, range, repr, reversed, round,
    slice, sorted, str, sum, tuple, zip,
)  # fmt: skip
_OF_TORCH = (torch.promote_types, torch.can_cast, torch.typename, torch.Size, torch.device, torch.finfo, torch.iinfo)
_OF_TYPING = (typing.cast, typing.get_args, typing.get_origin, typing.get_type_hints)


_STATES = ("_enabled", "_allowed", "_algorithms", "_warn_only", "_benchmark", "_deterministic", "_precision", "_tf32")


def _of_module(module: Any) -> list[Any]:
    return [f for f in vars(module).values() if isinstance(f, BuiltinFunctionType)]


_PACKING = (struct.pack, struct.unpack, struct.calcsize)
_FUNCTIONS = {*_BUILTINS, *_PACKING, *_OF_TORCH, *_OF_TYPING, *_of_module(math), *_of_module(operator)}
_MODES = (torch.no_grad, torch.inference_mode, torch.enable_grad, torch.set_grad_enabled)


# C functions that only read a setting of the process, in less than a microsecond. A guard repeats the call each time.
_SETTINGS = frozenset({
    os.getpid, os.getcwd, threading.get_ident,
    *(f for name, f in vars(torch._C).items() if name.startswith("_get_") and name.endswith(_STATES)),
})  # fmt: skip


def is_setting(function: Any) -> bool:
    """Return whether a function without arguments reads a setting of the process, which a guard can compare."""
    return isinstance(function, BuiltinFunctionType) and function in _SETTINGS


def is_pure(function: Any) -> bool:
    """Return whether a callable has no effects, and gives equal results for equal arguments in each process."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if name in _OF_THE_PROCESS:
        return False
    if isinstance(function, MethodDescriptorType | WrapperDescriptorType):
        return function.__objclass__ in _IMMUTABLE
    try:
        if function in _FUNCTIONS:
            return True
    except TypeError:  # unhashable
        return False
    if isinstance(owner, type):
        return owner in _IMMUTABLE  # static methods such as int.from_bytes and str.maketrans
    if not isinstance(function, BuiltinFunctionType) and type(function).__name__ != "method-wrapper":
        return False
    if type(owner) in _IMMUTABLE:
        return True
    if any(isinstance(owner, cls) and name in names for cls, names in _OF_CONTAINERS):
        return True
    return name in _OF_ARRAYS and any(is_instance(owner, *cls) for cls in _ARRAYS)


def makes_constant(cls: type) -> bool:
    """Return whether instances of a class that are made of known arguments are equal in each call."""
    numpy = sys.modules.get("numpy")
    limits = () if numpy is None else (numpy.finfo, numpy.iinfo)
    return cls in _IMMUTABLE or cls is object or issubclass(cls, (enum.Enum, *_MODES, *limits))
