"""The signature of a specialisation and of its results, as trees. The in-process bridge and the ahead-of-time API follow them.

Dynamic leaves (tensors, numbers, lists), taken in order, are the parameters of the entry function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spec:
    """Base of all specs."""


@dataclass(frozen=True)
class TensorSpec(Spec):
    """`sizes`: an int where the size is part of the signature, None where it is dynamic."""

    dtype: str
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class ScalarSpec(Spec):
    """`kind`: "i64", "f64", "bool" or "str"."""

    kind: str


@dataclass(frozen=True)
class KnownSpec(Spec):
    """A value that is part of the signature: matched by value if it is a bool, number, string or None, else by identity."""

    obj: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownSpec) and same_known(self.obj, other.obj)

    def __hash__(self) -> int:
        return hash(type(self.obj))


@dataclass(frozen=True)
class ListSpec(Spec):
    """A list of any length; `elem` is None for a list that is empty."""

    elem: Spec | None


@dataclass(frozen=True)
class TupleSpec(Spec):
    """`cls` makes the value of its items: a tuple class takes them as arguments if it has `_fields`, else as one sequence."""

    items: tuple[Spec, ...]
    cls: Any = tuple


@dataclass(frozen=True)
class DictSpec(Spec):
    keys: tuple[Any, ...]
    items: tuple[Spec, ...]


def same_known(a: Any, b: Any) -> bool:
    """Whether two Python objects are the same for code that was specialised on one of them."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex()
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_known, a, b))
    return bool(a == b) if isinstance(a, (bool, int, str, type(None))) else a is b


def describe(spec: Spec) -> str:
    """A spec as a person writes a type: f32[?, 16], list[f32[?, ?]], int."""
    match spec:
        case TensorSpec(dtype, sizes):
            return f"{dtype}[{', '.join('?' if n is None else str(n) for n in sizes)}]"
        case ScalarSpec(kind):
            return {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}[kind]
        case ListSpec(elem):
            return f"list[{describe(elem) if elem is not None else ''}]"
        case TupleSpec(items, cls):
            return f"{getattr(cls, '__name__', 'tuple')}[{', '.join(map(describe, items))}]"
        case DictSpec(keys, items):
            return "dict[" + ", ".join(f"{k!r}: {describe(i)}" for k, i in zip(keys, items, strict=True)) + "]"
        case KnownSpec(obj):
            return repr(obj) if isinstance(obj, (bool, int, float, str, type(None))) else type(obj).__name__
    raise AssertionError(spec)


def leaves(spec: Spec) -> Iterator[Spec]:
    """The dynamic leaves in order."""
    match spec:
        case TensorSpec() | ScalarSpec() | ListSpec():
            yield spec
        case TupleSpec(items) | DictSpec(_, items):
            for item in items:
                yield from leaves(item)


def values_of(spec: Spec, value: Any) -> Iterator[Any]:
    """The values of the dynamic leaves in order."""
    match spec:
        case TensorSpec() | ScalarSpec() | ListSpec():
            yield value
        case TupleSpec(items):
            for item, v in zip(items, value, strict=True):
                yield from values_of(item, v)
        case DictSpec(keys, items):
            for key, item in zip(keys, items, strict=True):
                yield from values_of(item, value[key])


@dataclass(frozen=True)
class ArgSpec:
    """One parameter of the user's function."""

    name: str
    spec: Spec


@dataclass(frozen=True)
class Live:
    """A tensor that is read at each call from where it lives: `container[key]`. `name` is that of the IR's param."""

    name: str
    container: dict[Any, Any]
    key: Any
    spec: TensorSpec


@dataclass(frozen=True)
class LiveValue:
    """A value that is read at each call from where it lives, `container[key]`, because it changes between calls."""

    container: Any
    key: Any
    spec: Spec


@dataclass(frozen=True)
class Store:
    """What compiled code may set: the attribute `key` of `owner`, or, where there is a path, the item `key` of what the
    path of keys leads to from it. A `state.set` says by number which of the forms a value has. `direct` is the dict that
    held the attribute at entry, into which values may go without asking the owner's class."""

    name: str
    owner: Any
    key: Any
    path: tuple[Any, ...] | None
    direct: dict[Any, Any] | None
    forms: tuple[Spec, ...]


@dataclass(frozen=True)
class Kept:
    """A place whose value a build ahead of time keeps from call to call. Its leaves are parameters of the entry function,
    and what the `state.set` ops of its target set. `initial`: their values at build time, None for what is absent.
    `container[key]` holds the value, if there is one."""

    name: str
    container: Any
    key: Any
    types: tuple[Any, ...]
    initial: tuple[Any, ...]
    target: int | None


@dataclass(frozen=True)
class Guard:
    """What compiled code depends on outside its arguments. `kind` is one of the bridge's guard kinds."""

    kind: str
    container: Any
    key: Any
    expected: Any
