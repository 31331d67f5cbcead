"""Targets of compilation: functions, methods and calls of nn.Module instances; binding arguments to them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any

from scriptc.frontend.source.caller_signature import signature_of
from scriptc.ir.cached_property import cached_property

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Target:
    """A Python function, and the receiver that is its first argument (None for a plain function).

    guards: conditions under which a call of the object runs this function, as (kind, container, key, expected).
    runs_hooks: the object is a module that is called, so that eager would run the module's hooks.
    """

    func: FunctionType
    receiver: Any
    name: str
    guards: tuple[tuple[str, Any, Any, Any], ...] = ()
    runs_hooks: bool = False

    @cached_property
    def signature(self) -> inspect.Signature:
        """Return the signature for callers, without the receiver.

        If decorators pass arguments on, it is the signature of the innermost function.
        """
        signature = signature_of(self.func)
        parameters = list(signature.parameters.values())
        if self.receiver is not None and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            del parameters[0]
        return signature.replace(parameters=parameters)

    @cached_property
    def _positional(self) -> tuple[str, ...] | None:
        """Return the names of the parameters if all can be passed by their place, else None."""
        parameters = self.signature.parameters.values()
        return tuple(p.name for p in parameters) if all(p.kind in _BY_PLACE for p in parameters) else None

    @property
    def variadic(self) -> bool:
        return any(p.kind in _VARIADIC for p in self.signature.parameters.values())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by parameter name, with defaults.

        Raises Python's TypeError where they do not fit.
        """
        if not kwargs and self._positional is not None and len(args) == len(self._positional):
            return dict(zip(self._positional, args, strict=True))
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)


def original(obj: Any) -> Any:
    """Return the object that `scriptc.compile` or `torch.jit.script` was called with.

    Any other object is returned itself.
    """
    import torch

    if isinstance(obj, torch.jit.ScriptFunction):
        from scriptc.frontend.environment.host_objects import scripted

        return scripted(obj) or obj
    return getattr(obj, "__scriptc_original__", obj)


def target_of(obj: Any) -> Target:
    """Return the target of a function, bound method or nn.Module.

    Raises TypeError for any other object.
    """
    import torch

    if isinstance(obj, Target):
        return obj
    obj = original(obj)
    if isinstance(obj, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        raise TypeError(f"a {type(obj).__name__} keeps no Python: compile what was given to torch.jit")
    if isinstance(obj, torch.nn.Module):
        return _call_of(obj)
    if isinstance(obj, MethodType) and isinstance(obj.__func__, FunctionType):
        return Target(obj.__func__, obj.__self__, obj.__func__.__qualname__)
    if isinstance(obj, FunctionType):
        return Target(obj, None, obj.__qualname__)
    raise TypeError(
        f"scriptc compiles functions, methods, nn.Module classes and instances, not {type(obj).__name__} objects"
    )


def _call_of(module: Any) -> Target:
    """Return the target of a call of a module.

    The target is a `__call__` that overrides torch's, or else `forward`.
    """
    from scriptc.frontend.environment.genuine import is_call_of_modules

    cls, guards = type(module), []
    for name in ("__call__", "_call_impl"):
        found = getattr(cls, name)
        call = original(found)
        guards.append(("TYPE_ATTR_IS", cls, name, found))
        if is_call_of_modules(call):
            continue
        if not isinstance(call, FunctionType):
            raise TypeError(f"the {name} of {cls.__name__} is not written in Python")
        return Target(call, module, cls.__name__, tuple(guards))
    target = _forward_of(module)
    return replace(target, guards=(*target.guards, *guards), runs_hooks=True)


def has_hooks(module: Any) -> bool:
    """Return whether a call of a module runs hooks."""
    import torch

    tables = (getattr(torch.nn.modules.module, f"_global{name}") for name in _HOOKS)
    return any(map(module.__dict__.get, _HOOKS)) or any(tables)


def _forward_of(module: Any) -> Target:
    """Return the target of a module's `forward`.

    A `forward` of the instance replaces that of the class.
    """
    cls, own = type(module), module.__dict__.get("forward")
    if own is None:
        found = cls.forward
        forward = original(found)
        if not isinstance(forward, FunctionType) or forward.__name__ == "_forward_unimplemented":
            raise TypeError(f"{cls.__name__} has no forward() written in Python")
        guards = [("DICT_MISSING", module.__dict__, "forward", None), ("TYPE_ATTR_IS", cls, "forward", found)]
        return Target(forward, module, cls.__name__, tuple(guards))
    func, receiver = (own.__func__, own.__self__) if isinstance(own, MethodType) else (own, None)
    if not isinstance(func, FunctionType):
        raise TypeError(f"the forward that replaces that of a {cls.__name__} is not written in Python")
    hooks = [module.__dict__[name] for name in ("_forward_hooks", "_forward_pre_hooks")]
    if any(hooks):
        raise TypeError(f"hooks on a {cls.__name__} whose forward was replaced are not supported")
    no_hooks = [("DICT_EMPTY", hook, None, None) for hook in hooks]
    return Target(func, receiver, cls.__name__, (("DICT_IS", module.__dict__, "forward", own), *no_hooks))
