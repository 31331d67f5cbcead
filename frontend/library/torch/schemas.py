"""Binding of arguments by ATen's schemas, whose names and order may differ from Python's."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from scriptc.frontend.values.abstract import AbstractValue, Known


def overload_of(packet: Any, count: int, keywords: Collection[str]) -> Any:
    """Return the first overload that takes these arguments, else the first of all."""
    overloads = [getattr(packet, name) for name in packet.overloads()]
    return next((o for o in overloads if _takes(o._schema, count, keywords)), overloads[0])


def _takes(schema: Any, count: int, keywords: Collection[str]) -> bool:
    positional = [a for a in schema.arguments if not a.kwarg_only]
    required = [a.name for a in schema.arguments if not a.has_default_value()]
    names = [a.name for a in positional[:count]] + [*keywords]
    return count <= len(positional) and set(required) <= set(names) <= {a.name for a in schema.arguments}


def by_schema(
    schema: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[list[AbstractValue], dict[str, AbstractValue]]:
    """Return positional arguments up to the last one given, with defaults in the gaps."""
    positional, rest = list(args), dict(kwargs)
    left = [a for a in schema.arguments if not a.kwarg_only][len(args) :]
    while any(a.name in rest for a in left):
        arg = left.pop(0)
        if arg.name not in rest and not arg.has_default_value():
            break  # the called function raises for the missing argument
        positional.append(rest.pop(arg.name) if arg.name in rest else Known(arg.default_value))
    return positional, rest


def by_name(
    function: Any, skipped: int, schema: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:
    """Return the arguments, with keyword-only ones by name; `skipped` parameters come first."""
    params = list(inspect.signature(function).parameters.values())[skipped:]
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return args, kwargs
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in params)
    named = {a.name: av for a, av in zip(schema.arguments[count:], args[count:], strict=False)}
    return args[:count], {**named, **kwargs}
