"""Calls of ATen's functions by name: arguments are bound by the schema, whose names and order may differ from Python's."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from scriptc.frontend.values.abstract import AbstractValue, Known


def overload_of(packet: Any, count: int, keywords: Collection[str]) -> Any:
    """The first overload that takes so many arguments by position and these by name; the first of all where none does."""
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
    """Arguments by position as far as the schema has them so: up to the last that was given, defaults in the gaps."""
    positional, rest = list(args), dict(kwargs)
    left = [a for a in schema.arguments if not a.kwarg_only][len(args) :]
    while any(a.name in rest for a in left):
        arg = left.pop(0)
        if arg.name not in rest and not arg.has_default_value():
            break  # the function that is called says what is missing
        positional.append(rest.pop(arg.name) if arg.name in rest else Known(arg.default_value))
    return positional, rest


def by_name(
    function: Any, skipped: int, schema: Any, args: Sequence[AbstractValue], kwargs: dict[str, AbstractValue]
) -> tuple[Sequence[AbstractValue], dict[str, AbstractValue]]:
    """What the function takes by name alone is given so. skipped: parameters in front that are no arguments."""
    params = list(inspect.signature(function).parameters.values())[skipped:]
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return args, kwargs
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in params)
    named = {a.name: av for a, av in zip(schema.arguments[count:], args[count:], strict=False)}
    return args[:count], {**named, **kwargs}
