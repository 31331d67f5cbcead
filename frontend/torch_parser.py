"""Whether torch takes the arguments of a call: its own parser is asked, with stand-ins for what is known only at run time."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from functools import cache
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from scriptc.frontend import decompositions
from scriptc.frontend.context import Context
from scriptc.frontend.outside import torch_dtype
from scriptc.frontend.values import AV, ComplexV, Dyn, Known, ListV, Tup, is_tensor, tensor_type
from scriptc.ir.types import BOOL, FLOAT, INT, ListType, ScalarType, TensorType, Type

_HOMES = (None, torch._C._nn, torch._C._linalg, torch._C._special, torch._C._fft)  # None: of torch itself
_OURS = os.path.dirname(decompositions.__file__ or "")
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
_NUMBERS: dict[Type, Any] = {INT: 1, FLOAT: 1.0, BOOL: True}


class _Unknown(Exception):
    """An argument for which nothing can stand in."""


class _ParseOnly(TorchFunctionMode):
    """Under it, functions parse their arguments and do nothing else."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        return None


class TorchParser(Context):
    """Mixin: calls of torch with arguments that its parser refuses."""

    def check_parsed(self, function: Any, args: Sequence[AV], kwargs: dict[str, AV]) -> None:
        """TypeError where eager raises it. Our own decompositions may say what torch does not take."""
        if not _is_parsed(function) or self.frame.source.file.startswith(_OURS):
            return
        try:
            given, named = [_stand_in(av) for av in args], {name: _stand_in(av) for name, av in kwargs.items()}
        except _Unknown:
            return
        try:
            with _ParseOnly():
                function(*given, **named)
        except TypeError as e:
            self.raises_at_run_time("TypeError", str(e))
        except Exception:  # what else it is, the library says
            return


def own_names(function: Any, kwargs: dict[str, AV]) -> dict[str, AV]:
    """The keywords of a call, where torch takes NumPy's names as well, as a function of the library has them."""
    if _NUMPY_NAMES.keys().isdisjoint(kwargs):
        return kwargs
    own = inspect.signature(function).parameters
    renamed = {n: _NUMPY_NAMES.get(n, n) for n in kwargs}
    return {renamed[n] if n not in own and renamed[n] in own else n: av for n, av in kwargs.items()}


def _is_parsed(function: Any) -> bool:
    """Whether a callable parses its arguments before all else. Special methods turn TypeErrors into NotImplemented."""
    if isinstance(function, MethodDescriptorType):
        return issubclass(torch.Tensor, function.__objclass__) and not function.__name__.startswith("__")
    return isinstance(function, BuiltinFunctionType) and function.__self__ in _HOMES


def _stand_in(av: AV) -> Any:
    match av:
        case Known(obj):
            return obj
        case ComplexV():
            return 1j
        case Tup(items, cls) if cls is tuple or issubclass(cls, torch.Size):
            return cls(_stand_in(item) for item in items)
        case ListV(items=list() as items):
            return [_stand_in(item) for item in items]
        case ListV(value=value) if value is not None and isinstance(value.type, ListType):
            return [_of_type(value.type.elem)]
        case Dyn(value):
            return _of_type(value.type) if not is_tensor(av) else _tensor(tensor_type(av).dtype, tensor_type(av).rank)
    raise _Unknown


def _of_type(type: Type) -> Any:
    if isinstance(type, TensorType) and type.dims is not None:
        return _tensor(type.dtype, len(type.dims))
    if isinstance(type, ScalarType) and type in _NUMBERS:
        return _NUMBERS[type]
    raise _Unknown


@cache
def _tensor(dtype: str, rank: int) -> torch.Tensor:
    return torch.ones((1,) * rank, dtype=torch_dtype(dtype))
