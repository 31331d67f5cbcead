"""Facts about Python objects around the compiled function: whose they are, and which tensors can take part."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import torch

from scriptc.ir.dtypes import FROM_TORCH, TORCH_NAMES


def is_library(module_name: str | None) -> bool:
    """Whether a module belongs to torch, Python or scriptc, whose names are taken not to change."""
    root = (module_name or "").partition(".")[0]
    return root in (
        "scriptc",
        "torch",
        "math",
        "operator",
        "builtins",
        "typing",
        "functools",
        "itertools",
        "warnings",
        "collections",
        "enum",
        "dataclasses",
        "copy",
        "scriptc",
    )


def is_called_in_python(cls: type) -> bool:
    """Whether calls of a class's objects are code to follow: its users', or torch.nn's (weight_norm is such a hook)."""
    call = inspect.getattr_static(cls, "__call__", None)
    return isinstance(call, FunctionType) and not is_library((call.__module__ or "").removeprefix("torch.nn."))


_SCALARS = frozenset("float64 int64 int32 int16 int8 uint8 uint16 uint32 bool bool_".split())


def without_numpy(obj: Any) -> Any:
    """NumPy's scalars that Python's numbers equal are taken as these; those of float32 compute otherwise."""
    return obj.item() if type(obj).__module__ == "numpy" and type(obj).__name__ in _SCALARS else obj


_KINDS = dict(
    f32="Float", f64="Double", f16="Half", bf16="BFloat16", i64="Long", i32="Int", i16="Short", i8="Char", u8="Byte",
    bool="Bool", c64="ComplexFloat", c128="ComplexDouble",
)  # fmt: skip


def type_name(dtype: str) -> str:
    """The name of the type of old of a tensor on the CPU: torch.FloatTensor."""
    return f"torch.{_KINDS[dtype]}Tensor"


def dtype_name(dtype: torch.dtype) -> str | None:
    return FROM_TORCH.get(str(dtype).removeprefix("torch."))


def torch_dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, TORCH_NAMES[name])
    assert isinstance(dtype, torch.dtype)
    return dtype


def refuse_tensor(t: torch.Tensor) -> str | None:
    """Why a tensor cannot take part in compiled code, None if it can."""
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
