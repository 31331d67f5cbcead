"""The parameters of a function as the bridge binds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import ArgSpec
from scriptc.runtime import bridge


def parameters(target: Target, args: list[ArgSpec]) -> tuple[bridge.Param, ...]:
    """Return one `Param` for each parameter of the target, with Python's defaults."""
    made = []
    for arg in args:
        parameter = target.signature.parameters[arg.name]
        default = bridge.MISSING if parameter.default is parameter.empty else parameter.default
        name = None if parameter.kind is parameter.POSITIONAL_ONLY or target.variadic else arg.name
        made.append(bridge.Param(name, arg.spec, default))
    return tuple(made)


def keyword_only_from(target: Target) -> int | None:
    """Return how many parameters may be given by position; None for all."""
    kinds = [p.kind for p in target.signature.parameters.values()]
    return kinds.index(inspect.Parameter.KEYWORD_ONLY) if inspect.Parameter.KEYWORD_ONLY in kinds else None


def binder(target: Target) -> Callable[..., tuple[Any, ...]] | None:
    """Return a function that binds *args and **kwargs in Python and returns the flat tuple of parameters, or None."""
    if not target.variadic:
        return None
    return lambda *args, **kwargs: tuple(target.bind(args, kwargs).values())
