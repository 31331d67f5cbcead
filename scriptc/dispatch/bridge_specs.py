"""Convert the front end's specs to the bridge's specs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from scriptc.driver.target import Target
from scriptc.frontend.environment import specs as front
from scriptc.runtime import bridge

_SCALARS: dict[str, Callable[[], bridge.Spec]] = {
    "i64": bridge.Int, "f64": bridge.Float, "bool": bridge.Bool, "str": bridge.Str,
}  # fmt: skip


def to_bridge(spec: front.Spec) -> bridge.Spec:
    """Return the bridge's spec for a spec of the front end."""
    match spec:
        case front.TensorSpec(dtype, sizes):
            return bridge.Tensor(dtype, len(sizes), sizes)
        case front.ScalarSpec(kind):
            return _SCALARS[kind]()
        case front.ConstantSpec(obj):
            return bridge.Known(obj)
        case front.ListSpec(elem, cls):
            return bridge.List(_or_nothing(elem), cls)
        case front.TupleSpec(items, cls):
            parts = tuple(map(to_bridge, items))
            return bridge.Tuple(parts) if cls is tuple else bridge.NamedTuple_(cls, parts)
        case front.MapSpec(key, item, make):
            return bridge.Map(_or_nothing(key), _or_nothing(item), make)
        case front.SetSpec(key, cls):
            return bridge.Set(_or_nothing(key), cls)
        case front.QueueSpec(content, maxlen):
            return bridge.Queue(to_bridge(content), maxlen)
        case front.OptionalSpec(item):
            return bridge.Optional(to_bridge(item))
        case front.ObjectSpec(cls, names, items):
            return bridge.Object(cls, tuple(zip(names, map(to_bridge, items), strict=True)))
        case front.InstanceSpec(cls, names, fields):
            return bridge.Instance(cls, names, lambda: tuple(map(to_bridge, fields())))
        case front.ItemsSpec(items):
            return bridge.Items(tuple(map(to_bridge, items)))
        case front.PlaceSpec(number):
            return bridge.Place(number)
        case front.DictSpec(keys, items):
            return bridge.Dict(tuple(zip(keys, map(to_bridge, items), strict=True)))
    raise AssertionError(spec)


def _or_nothing(spec: front.Spec | None) -> bridge.Spec:
    """Return the spec of a container's items.

    The items of an empty one have a spec that no value matches.
    """
    return bridge.Tensor("f32", 1, (-1,)) if spec is None else to_bridge(spec)


def parameters(target: Target, args: list[front.ArgSpec]) -> tuple[bridge.Param, ...]:
    """Return the parameters of a target, with Python's defaults."""
    made = []
    for arg in args:
        parameter = target.signature.parameters[arg.name]
        default = bridge.MISSING if parameter.default is parameter.empty else parameter.default
        name = None if parameter.kind is parameter.POSITIONAL_ONLY or target.variadic else arg.name
        made.append(bridge.Param(name, to_bridge(arg.spec), default))
    return tuple(made)


def keyword_only_from(target: Target) -> int | None:
    """Return the number of parameters that may be passed by position, or None for all."""
    kinds = [p.kind for p in target.signature.parameters.values()]
    return kinds.index(inspect.Parameter.KEYWORD_ONLY) if inspect.Parameter.KEYWORD_ONLY in kinds else None


def binder(target: Target) -> Callable[..., tuple[Any, ...]] | None:
    """Return the function that binds a call of a variadic target to a tuple of parameters.

    Returns None for other targets.
    """
    if not target.variadic:
        return None
    return lambda *args, **kwargs: tuple(target.bind(args, kwargs).values())
