"""Explain why a call fits no variant: the guard that fails, or the argument that differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, CellType
from typing import Any, NamedTuple

import torch

from scriptc.driver.target import Target
from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.environment.specs import (
    ArgSpec,
    ConstantSpec,
    Contract,
    DictSpec,
    Guard,
    ItemsSpec,
    ListSpec,
    MapSpec,
    ObjectSpec,
    OptionalSpec,
    PlaceSpec,
    QueueSpec,
    ScalarSpec,
    SetSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    describe,
    parts,
    same_known,
)
from scriptc.warm_start.object_paths import Nameless, Paths, Steps

LONGEST = 60  # characters of a value that is shown
_MODULE_TABLES = ("_modules", "_parameters", "_buffers")
_SCALARS: dict[str, type] = {"i64": int, "f64": float, "bool": bool, "str": str}
_MISSING = object()


class Reason(NamedTuple):
    """A difference between a call and a variant.

    subject: the expression that differs. text: a sentence with its old and new value. advice: what to do if it keeps
    changing.
    """

    subject: str
    text: str
    advice: str


_KEEP = "the value is part of the code: keep it as it is, or pass it as an argument"
_ARGUMENT = "call it with arguments of one dtype and rank, or compile each kind on its own"
_SIZES = "dynamic=True, the default, compiles for all sizes"
_VALUE = "the value is part of the code: pass few different ones, or tensors"


def why(target: Target, contracts: Sequence[Contract], arguments: dict[str, Any]) -> Reason | None:
    """Return the first difference of a call from the nearest variant, or None if none is found.

    The nearest variant is the one with the fewest differences, and the latest one of several.
    """
    names = _Names(target, [guard for contract in contracts for guard in contract.guards])
    differences = [list(_differences(names, contract, arguments)) for contract in reversed(contracts)]
    found = [reasons for reasons in differences if reasons]
    return min(found, key=len)[0] if found else None


def _differences(names: _Names, contract: Contract, arguments: dict[str, Any]) -> Iterator[Reason]:
    for arg in contract.args:
        yield from _argument(arg, arguments.get(arg.name, _MISSING))
    for guard in contract.guards:
        yield from _guard(names, guard)
    read: list[tuple[Any, Any, Spec]] = [(live.container, live.key, live.spec) for live in contract.tensors]
    read += [(value.container, value.key, value.spec) for value in contract.values]
    for container, key, spec in read:
        held = _held(container, key)
        if not _fits(spec, held):
            name = names.item(container, key)
            yield Reason(name, f"{name} is {_value(held)}, and was {describe(spec)}", _ARGUMENT)


# ---- arguments ----


def _argument(arg: ArgSpec, value: Any) -> Iterator[Reason]:
    if not _fits(arg.spec, value):
        subject = f"argument '{arg.name}'"
        advice = _VALUE if isinstance(arg.spec, ConstantSpec) else _ARGUMENT
        if isinstance(arg.spec, TensorSpec) and isinstance(value, torch.Tensor):
            ranks = TensorSpec(arg.spec.dtype, (None,) * len(arg.spec.sizes))
            advice = _SIZES if _fits(ranks, value) else _ARGUMENT
        yield Reason(subject, f"{subject} is {_value(value)}, and was {describe(arg.spec)}", advice)


def _fits(spec: Spec, value: Any) -> bool:
    """Return whether a value matches a spec.

    The bridge compares more; specs that are unknown here match any value.
    """
    match spec:
        case TensorSpec(dtype, sizes):
            if not isinstance(value, torch.Tensor) or value.dim() != len(sizes) or dtype_name(value.dtype) != dtype:
                return False
            return all(n is None or n == size for n, size in zip(sizes, value.shape, strict=True))
        case ScalarSpec(kind):
            return type(value) is _SCALARS[kind]
        case ConstantSpec(obj):
            return same_known(obj, value)
        case ListSpec(elem, cls):
            same = type(value) is cls
            return same and all(elem is not None and _fits(elem, item) for item in value)
        case MapSpec(_, item):
            return isinstance(value, dict) and (item is None or all(_fits(item, v) for v in value.values()))
        case SetSpec(_, cls):
            return type(value) is cls
        case OptionalSpec(item):
            return value is None or _fits(item, value)
        case DictSpec(keys):
            if not isinstance(value, dict) or tuple(value) != keys:
                return False
        case ObjectSpec(cls, names):
            if type(value) is not cls or tuple(vars(value)) != names:
                return False
        case ItemsSpec(items):
            if not isinstance(value, list) or len(value) != len(items):
                return False
        case TupleSpec(items, cls):
            if not isinstance(value, cls if isinstance(cls, type) else object):
                return False
            if isinstance(value, (list, tuple)) and len(value) != len(items):
                return False
        case QueueSpec() | PlaceSpec():
            return True
        case _:
            return True
    return all(_fits(part, item) for part, item in parts(spec, value))


def _value(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    if isinstance(value, torch.Tensor):
        dtype = dtype_name(value.dtype) or str(value.dtype)
        return f"{dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple, dict, set)):
        return f"a {type(value).__name__} of {len(value)}"
    if value is None or isinstance(value, (bool, int, float, complex, str, torch.dtype)):
        text = repr(value)
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    name = getattr(value, "__name__" if isinstance(value, BuiltinFunctionType) else "__qualname__", None)
    return str(name) if isinstance(name, str) else f"a {type(value).__name__}"


# ---- guards ----


def _held(container: Any, key: Any) -> Any:
    if isinstance(container, CellType):
        try:
            return container.cell_contents
        except ValueError:
            return _MISSING
    try:
        return container[key]
    except (LookupError, TypeError):
        return _MISSING


def _guard(names: _Names, guard: Guard) -> Iterator[Reason]:
    """Yield the reason for a guard that fails.

    Guards of other kinds than those below yield none.
    """
    kind, container, key, expected = guard
    now: Any = _MISSING
    name: str
    match kind:
        case "DICT_IS" | "CELL_IS" | "DICT_EQ" | "CELL_EQ":
            now, name = _held(container, key), names.item(container, key)
            if now is expected if kind.endswith("IS") else same_known(now, expected):
                return
            if _value(now) == _value(expected):
                yield Reason(name, f"{name} is another {_value(now).removeprefix('a ')} than it was", _KEEP)
                return
        case "TYPE_ATTR_IS":
            owners = [base for base in container.__mro__ if key in vars(base)]
            if owners and vars(owners[0])[key] is expected:
                return
            name = f"{container.__qualname__}.{key}"
            yield Reason(name, f"{name} is another object than it was", _KEEP)
            return
        case "DICT_MISSING":
            if key not in container:
                return
            now, expected, name = container[key], _MISSING, names.item(container, key)
        case "DICT_EMPTY":
            if not container:
                return
            name = names.of(container)
            yield Reason(name, f"{name} was empty, and holds {len(container)}", _KEEP)
            return
        case "LIST_ITEMS_ARE" | "DICT_KEYS_ARE":
            same = len(container) == len(expected) and all(map(_same, container, expected))
            if same:
                return
            name, what = names.of(container), "items" if kind.startswith("LIST") else "keys"
            text = f"{name} has {len(container)} {what}, and had {len(expected)}"
            yield Reason(
                name, text if len(container) != len(expected) else f"{name} has other {what} than it had", _KEEP
            )
            return
        case "LIST_LENGTH_IS":
            if len(container) == expected:
                return
            now, name = len(container), f"len({names.of(container)})"
        case "DEFAULT_DTYPE_IS":
            now, name = dtype_name(torch.get_default_dtype()), "the default dtype"
            if now == expected:
                return
        case "GRAD_MODE_IS":
            now, name = torch.is_grad_enabled(), "grad mode"
            if now == expected:
                return
        case "REQUIRES_GRAD_IS":
            now, name = (
                getattr(_held(container, key), "requires_grad", None),
                f"{names.item(container, key)}.requires_grad",
            )
            if now == expected:
                return
        case _:
            return
    yield Reason(name, f"{name} is {_value(now)}, and was {_value(expected)}", _KEEP)


def _same(a: Any, b: Any) -> bool:
    return a is b or same_known(a, b)


# ---- names ----


class _Names:
    """The user's names of the objects that guards compare: `self.scale`, `nets.STEPS`, a variable of a closure."""

    def __init__(self, target: Target, guards: Sequence[Guard]):
        self.target = target
        self.paths: Paths | None = None
        try:
            self.paths = Paths(target)
            self.paths.follow((g.container, g.key, g.expected) for g in guards)
        except (Nameless, LookupError, AttributeError, TypeError, ValueError):  # names are then shorter
            return

    def item(self, container: Any, key: Any) -> str:
        """Return the name of `container[key]`, or of the variable of a cell."""
        path = self.paths.of(container) if self.paths is not None else None
        if path is None:
            return str(key) if isinstance(key, str) else f"[{key!r}]"
        return self.text((*path, ("contents",) if isinstance(container, CellType) else ("item", key)))

    def of(self, container: Any) -> str:
        """Return the name of a container."""
        path = self.paths.of(container) if self.paths is not None else None
        return f"a {type(container).__name__}" if path is None else self.text(path)

    def text(self, path: Steps) -> str:
        root, *steps = path
        text, code = (root[1], None) if root[0] == "module" else ("", self.target.func.__code__)
        dotted = root[0] == "module"  # the next item is an attribute
        for step in steps:
            match step:
                case ("attribute", "receiver"):
                    text = "self"
                case ("attribute", "func"):
                    text = self.target.func.__qualname__
                case ("attribute", name):
                    text = f"{text}.{name}"
                case ("cell", i) if code is not None:
                    text = code.co_freevars[i]
                case ("vars",):
                    dotted = True
                case ("item", key) if dotted and key in _MODULE_TABLES:
                    continue
                case ("item", key) if dotted and isinstance(key, str):
                    text, dotted = f"{text}.{key}", False
                case ("item", key):
                    text = f"{text}[{key!r}]"
                case ("class",):
                    text = f"type({text})"
                case ("base", i):
                    text = f"{text}.__mro__[{i}]"
        return text
