"""Options of functions that make tensors, such as device and layout. On the CPU, they have no effect."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from scriptc.frontend.reader.constant_demand import require_known
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.values.abstract import AbstractValue

_IGNORED = ("device", "layout", "requires_grad", "pin_memory", "memory_format", "generator")


def _is_cpu(r: Reader, device: Any) -> bool:
    try:
        return device is None or torch.device(device).type == "cpu"
    except (RuntimeError, TypeError) as e:
        r.emit.raise_error(type(e).__name__, str(e))


def options(r: Reader, kwargs: dict[str, AbstractValue]) -> None:
    """Check options that have no effect on the CPU. Reject another device or layout."""
    for key, av in kwargs.items():
        obj = require_known(r, av, f"the argument {key}")
        cpu = key == "device" and _is_cpu(r, obj)
        if not (
            cpu
            or obj in (None, False, torch.strided, torch.contiguous_format, torch.preserve_format)
            and key in _IGNORED
        ):
            r.reject("argument_of_creation", name=key, value=obj)


def without_options(r: Reader, function: Any, kwargs: dict[str, AbstractValue]) -> dict[str, AbstractValue]:
    """Return the keywords that a decomposition has.

    Options of torch are checked and dropped. Other keywords that the decomposition lacks are rejected, since eager
    raises no TypeError for them.
    """
    params = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in params.values()):
        return kwargs
    others = {key: av for key, av in kwargs.items() if key not in params}
    if unknown := next((key for key in others if key not in _IGNORED), None):
        r.reject("form_of_call", name=function.__name__, why=f"got an unexpected keyword argument '{unknown}'")
    options(r, others)
    return {key: av for key, av in kwargs.items() if key in params}
