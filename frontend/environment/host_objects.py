"""Facts about Python objects outside: the library that defines them, and the tensors that compiled code takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch

from scriptc.ir.dtypes import FROM_TORCH, TORCH_NAMES

ABSENT = object()  # in place of an attribute or item that there is not
_CALLED = (FunctionType, BuiltinFunctionType, MethodType, type)  # their instances have no `__getattr__`
_LIBRARIES = frozenset(
    "scriptc torch math operator builtins typing functools itertools warnings collections enum dataclasses copy".split()
)


def is_library(module_name: str | None) -> bool:
    """Return whether a module belongs to torch, Python or scriptc. The names of such a module change only by a
    patch."""
    return (module_name or "").partition(".")[0] in _LIBRARIES


def is_of_library(names: Any) -> bool:
    """Return whether an object is the dict of a library's module. Such a dict changes only by a patch."""
    name = names.get("__name__") if type(names) is dict else None
    return isinstance(name, str) and is_library(name) and name in sys.modules and vars(sys.modules[name]) is names


def is_own(module_name: str | None) -> bool:
    """Return whether a module is scriptc's."""
    return (module_name or "").partition(".")[0] == "scriptc"


def is_instance(obj: Any, module_name: str, name: str) -> bool:
    """Return whether an object is an instance of a class of a module, which need not be loaded."""
    module = sys.modules.get(module_name)
    return module is not None and isinstance(obj, getattr(module, name))


def scripted(obj: Any) -> FunctionType | None:
    """Return the Python function that `torch.jit.script` was given; None for other objects.

    A traced function has its Python function too, but replays only the recorded operations.
    """
    inline = getattr(obj, "_torchdynamo_inline", None)
    if not isinstance(obj, torch.jit.ScriptFunction) or not isinstance(inline, FunctionType):
        return None
    found = torch.jit._state._try_get_jit_cached_function(inline)
    return inline if found is not None and found.qualified_name == obj.qualified_name else None


def is_called_in_python(cls: type) -> bool:
    """Return whether a call of an instance runs Python code to follow, either the user's or torch.nn's (such as
    weight_norm)."""
    call = inspect.getattr_static(cls, "__call__", None)
    module = getattr(call, "__module__", None) or ""
    return isinstance(call, FunctionType) and (not is_library(module) or module.startswith("torch.nn."))


_DECORATORS = "torch._dynamo.decorators"
_WRAPPED_FOR_DYNAMO = torch._compile._disable_dynamo(lambda: None).__code__


def _behind_dynamo(func: FunctionType) -> Any:
    """Return the function that a wrapper calls under settings of torch's own compiler; else `func`."""
    code = func.__code__
    if code is _WRAPPED_FOR_DYNAMO:
        return func.__wrapped__  # type: ignore[attr-defined]
    if code.co_freevars == ("fn", "self"):  # torch.compiler.disable
        context = getattr(sys.modules.get("torch._dynamo.eval_frame"), "DisableContext", None)
        maker = vars(context).get("__call__") if context is not None else None
    elif code.co_freevars == ("func", "self"):  # torch._dynamo.patch_dynamo_config and others
        maker = getattr(sys.modules.get("torch._dynamo.external_utils"), "wrap_dunder_call_ctx_manager", None)
    else:
        return func
    if maker is None or code not in maker.__code__.co_consts:
        return func
    called, settings = (cell.cell_contents for cell in func.__closure__ or ())
    is_other = code.co_freevars[0] == "func" and not is_instance(settings, _DECORATORS, "DynamoConfigPatchProxy")
    return func if is_other else called


def uncompiled(obj: Any) -> Any:
    """Return the argument of the `scriptc.compile` that made `obj`, else `obj`. No user's `__getattr__` runs.

    A function that torch wraps for its own compiler is the function itself. Such are `torch.manual_seed`, once that compiler
    is imported, and functions given to `torch.compiler.disable`.
    """
    if type(obj) is FunctionType and (called := _behind_dynamo(obj)) is not obj:
        return uncompiled(called)
    if type(obj) not in _CALLED and inspect.getattr_static(obj, "__scriptc_original__", None) is None:
        return obj
    return getattr(obj, "__scriptc_original__", obj)


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(TORCH_NAMES[name])


def name_of_numpy_dtype(dtype: Any) -> str | None:
    """Return our name of a NumPy dtype; None for dtypes that tensors lack."""
    return FROM_TORCH.get(np.dtype(dtype).name) if np.dtype(dtype).isnative else None


_LEGACY_NAMES = dict(
    f32="Float", f64="Double", f16="Half", bf16="BFloat16", i64="Long", i32="Int", i16="Short", i8="Char", u8="Byte",
    bool="Bool", c64="ComplexFloat", c128="ComplexDouble",
)  # fmt: skip


def type_name(dtype: str) -> str:
    """Return the legacy type name of a CPU tensor, such as `torch.FloatTensor`."""
    return f"torch.{_LEGACY_NAMES[dtype]}Tensor"


def dtype_name(dtype: torch.dtype) -> str | None:
    return FROM_TORCH.get(str(dtype).removeprefix("torch."))


def torch_dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, TORCH_NAMES[name])
    assert isinstance(dtype, torch.dtype)
    return dtype


def refuse_tensor(t: torch.Tensor) -> str | None:
    """Return why a tensor cannot take part in compiled code; None where it can."""
    if type(t) not in (torch.Tensor, torch.nn.Parameter) and not isinstance(t, torch.nn.Buffer):
        return f"it is a {type(t).__name__}, a subclass of Tensor"
    if isinstance(t, torch._subclasses.FakeTensor):
        return "it is a fake tensor"
    if t.is_nested or t.layout != torch.strided:
        return f"its layout is {'nested' if t.is_nested else t.layout}, and only strided tensors are supported"
    if t.is_quantized:
        return "it is quantized"
    if t.device.type != "cpu":
        return f"it is on {t.device}, and only the CPU is supported"
    if t.is_conj() or t.is_neg():
        return "it is a lazy conj or neg view; call resolve_conj() or resolve_neg() first"
    if dtype_name(t.dtype) is None:
        return f"its dtype {t.dtype} is not supported"
    return None


def holds_tensor(objs: Iterable[Any]) -> bool:
    return any(isinstance(o, (torch.Tensor, torch.nn.Module)) for o in objs)
