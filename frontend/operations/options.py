"""Arguments of functions that make tensors which say where and how these are kept: on the CPU, they ask for nothing."""

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
    """Refuse arguments that do not matter on the CPU, where they ask for something else."""
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
    """Return the keywords that a decomposition has. Options that only torch has are checked and dropped; other
    keywords that the decomposition lacks are rejected, rather than raising a TypeError that eager does not raise."""
    params = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in params.values()):
        return kwargs
    others = {key: av for key, av in kwargs.items() if key not in params}
    if unknown := next((key for key in others if key not in _IGNORED), None):
        r.reject("form_of_call", name=function.__name__, why=f"got an unexpected keyword argument '{unknown}'")
    options(r, others)
    return {key: av for key, av in kwargs.items() if key in params}
