"""Conversions of modules: of those that leave it as it is, as models write them that also run elsewhere."""

from __future__ import annotations

import torch

from scriptc.frontend.library.registry import serves
from scriptc.frontend.operations.options import options
from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue, Known, is_tensor


@serves("torch.nn.Module.to")
def to(r: Reader, self: AbstractValue, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    """The module, whose tensors are on the CPU; one of another dtype would be another module."""
    module: torch.nn.Module = require_known(r, self, "the module")
    for av in (*args, *kwargs.values()):
        obj = require_known(r, r.attribute(av, "dtype") if is_tensor(av) else av, "the target of to()")
        if isinstance(obj, torch.dtype):
            _has_dtype(r, module, obj)
        elif not isinstance(obj, (bool, torch.memory_format)):  # non_blocking
            options(r, {"device": Known(obj)})
    return self


def _has_dtype(r: Reader, module: torch.nn.Module, dtype: torch.dtype) -> None:
    held = [t.dtype for t in (*module.parameters(), *module.buffers())]
    if any(d != dtype and (d.is_floating_point or d.is_complex) for d in held):
        r.reject("module_converted", dtype=dtype)


def _conversion(name: str, dtype: torch.dtype) -> None:
    @serves(f"torch.nn.Module.{name}")
    def handler(r: Reader, self: AbstractValue) -> AbstractValue:
        _has_dtype(r, require_known(r, self, "the module"), dtype)
        return self


_conversion("float", torch.float32)
_conversion("double", torch.float64)
_conversion("half", torch.float16)
_conversion("bfloat16", torch.bfloat16)


@serves("torch.nn.Module.cpu")
def cpu(r: Reader, self: AbstractValue) -> AbstractValue:
    return self
