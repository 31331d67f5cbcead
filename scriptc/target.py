"""What can be compiled: functions, methods, nn.Module instances; how arguments bind to them."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Target:
    """A Python function and the object that its first parameter is (`receiver`, None for a plain function)."""

    func: FunctionType
    receiver: Any
    name: str

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """As callers see it: without the receiver."""
        signature = inspect.signature(self.func, follow_wrapped=False)
        parameters = list(signature.parameters.values())
        return signature.replace(parameters=parameters[1:] if self.receiver is not None else parameters)

    @property
    def variadic(self) -> bool:
        return any(p.kind in _VARIADIC for p in self.signature.parameters.values())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name, defaults included; Python's TypeError where they do not fit."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)


def original(obj: Any) -> Any:
    """What was compiled, where `obj` is the result of `scriptc.compile`."""
    return getattr(obj, "__scriptc_original__", obj)


def target_of(obj: Any) -> Target:
    """The target behind a function, bound method or nn.Module; TypeError for anything else."""
    import torch

    obj = original(obj)
    if isinstance(obj, torch.nn.Module):
        forward = original(getattr(type(obj), "forward", None))
        own = obj.__dict__.get("forward")
        if isinstance(own, MethodType) and isinstance(own.__func__, FunctionType):
            return Target(own.__func__, own.__self__, type(obj).__name__)
        if isinstance(own, FunctionType):
            return Target(own, None, type(obj).__name__)
        if not isinstance(forward, FunctionType) or forward.__name__ == "_forward_unimplemented":
            raise TypeError(f"{type(obj).__name__} has no forward() written in Python")
        return Target(forward, obj, type(obj).__name__)
    if isinstance(obj, MethodType) and isinstance(obj.__func__, FunctionType):
        return Target(obj.__func__, obj.__self__, obj.__func__.__qualname__)
    if isinstance(obj, FunctionType):
        return Target(obj, None, obj.__qualname__)
    raise TypeError(
        f"scriptc compiles functions, methods, nn.Module classes and instances, not {type(obj).__name__} objects"
    )
