"""The signature of a call: which of its values are dynamic, and of what types."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from scriptc.frontend.environment.host_objects import dtype_name, refuse_tensor
from scriptc.frontend.environment.specs import (
    ArgSpec,
    ConstantSpec,
    DictSpec,
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
)
from scriptc.frontend.reader.assumptions import ArgumentPart
from scriptc.frontend.reader.errors import UnsupportedArgument
from scriptc.frontend.values.user_classes import is_plain

_SCALARS = {int: "i64", float: "f64", bool: "bool", str: "str"}


def has_place(value: Any) -> bool:
    """Return whether a value has a place, so that a reading may demand to know it."""
    if type(value) is list:
        return bool(value) and all(type(v) is str for v in value)
    return type(value) in (int, float, str)


_SHORT = 64  # the most items that a list has whose structure may be matched item by item
_MANY = 64  # from so many string keys on, a dict is a table, not a structure


class Signature:
    """Build specs from the values of one call.

    known: the places of values that must be known, among other parts of arguments. Places count all ints, floats, strings
    and lists of strings, in order.
    texts: the strings among these values.
    dynamic: if False, all sizes of tensors are part of the signature.
    parted: short lists of tensors, tuples and lists are matched item by item, so that the items may get several kinds.
    tabled: dicts with string keys and items of one type have run-time keys.
    """

    def __init__(
        self, known: frozenset[ArgumentPart] = frozenset(), dynamic: bool = True, parted: bool = False, tabled: bool = False
    ):
        self.known = known
        self.dynamic = dynamic
        self.parted = parted
        self.tabled = tabled
        self.places = 0
        self.texts: dict[int, str] = {}
        self.tables = True  # dicts may have run-time keys at this point
        self.objects: dict[int, int] = {}  # by id: the position of each object seen so far
        self.siblings: dict[int, Spec] = {}  # by id: the items of the lists that stand beside an empty list

    def of(self, arguments: Mapping[str, Any]) -> list[ArgSpec]:
        """Return one spec for each parameter. Raise UnsupportedArgument for a value that compiled code does not
        take."""
        specs = [ArgSpec(name, self.spec(value, name)) for name, value in arguments.items()]
        if not self.siblings:
            return specs
        self.places, self.texts, self.objects = 0, {}, {}  # again, as an empty list may have another place, before its siblings
        return [ArgSpec(name, self.spec(value, name)) for name, value in arguments.items()]

    def spec(self, value: Any, name: str) -> Spec:
        if isinstance(value, torch.Tensor):
            return self.tensor(value, name, dynamic=self.dynamic)
        if type(value) is list and has_place(value) and self.place()[1]:
            return ConstantSpec(value)
        if type(value) is not list and has_place(value):
            place, is_known = self.place()
            if is_known and type(value) is str:
                self.texts[place] = value
            return ConstantSpec(value) if is_known else ScalarSpec(_SCALARS[type(value)])
        if type(value) is complex:
            return TupleSpec((ScalarSpec("f64"), ScalarSpec("f64")), complex)
        if isinstance(value, tuple) and not isinstance(value, enum.Enum):
            return TupleSpec(tuple(self.spec(v, f"{name}[{i}]") for i, v in enumerate(value)), type(value))
        if (found := self.container(value, name)) is not None:
            return found
        if type(value) is deque:
            return self.queue(value, name)
        if type(value) is list or type(value) is dict and all(map(_is_constant, value)):
            return self.structure(value, name)
        if is_plain(type(value)) and hasattr(value, "__dict__"):
            return self.structure(value, name)
        return ConstantSpec(value)

    def place(self) -> tuple[int, bool]:
        """Return the place of the next value that may have to be known, and whether the value must be known."""
        self.places += 1
        return self.places - 1, self.places - 1 in self.known

    def queue(self, value: deque[Any], name: str) -> Spec:
        """Return the spec of a deque whose items have one type or may be None. A spec of another deque only states
        its identity."""
        found, elem = self.common(list(value), name)
        if found and id(value) not in self.objects:
            self.objects[id(value)] = len(self.objects)
            return QueueSpec(ListSpec(elem), value.maxlen)
        return PlaceSpec(self.objects[id(value)]) if found else ConstantSpec(value)

    def structure(self, value: Any, name: str) -> Spec:
        """Return the spec of a list, dict or object by its parts."""
        if id(value) in self.objects:
            return PlaceSpec(self.objects[id(value)])
        self.objects[id(value)] = len(self.objects)
        if type(value) is list:
            return ItemsSpec(tuple(self.spec(v, f"{name}[{i}]") for i, v in enumerate(value)))
        if type(value) is dict:
            return DictSpec(tuple(value), tuple(self.spec(v, f"{name}[{k!r}]") for k, v in value.items()))
        attributes = vars(value)
        return ObjectSpec(
            type(value), tuple(attributes), tuple(self.spec(v, f"{name}.{k}") for k, v in attributes.items())
        )

    @contextmanager
    def known_keys(self) -> Iterator[None]:
        """Make keys of dicts part of the signature, within the context."""
        self.tables = False
        try:
            yield
        finally:
            self.tables = True

    # ---- lists, dicts and sets of any length ----
    def container(self, value: Any, name: str) -> Spec | None:
        """Return the spec of a list, dict or set whose items have one type or may be None; None for other values."""
        if type(value) is list:
            found, elem = self.common(value, name)
            by_items = self.parted and len(value) <= _SHORT and not isinstance(elem, ScalarSpec)
            return ListSpec(elem or self.siblings.get(id(value))) if found and not by_items else None
        if type(value) is dict and value and self.tables and (self.tabled or _is_looked_up(value)):
            hashable, key = self.common(list(value), name, keys=True)
            found, item = self.common(list(value.values()), name)
            return MapSpec(key, item) if hashable and found else None
        if type(value) in (set, frozenset):
            hashable, key = self.common(list(value), name, keys=True)
            return SetSpec(key, type(value)) if hashable else None
        return None

    def common(self, values: list[Any], name: str, *, keys: bool = False) -> tuple[bool, Spec | None]:
        """Return whether values have one type, and the type; None as the type if there are no values."""
        result: Spec | None = None
        for i, value in enumerate(values):
            elem = self.item(value, f"{name}[{i}]", keys)
            result = elem if result is None else _merged(result, elem) if elem is not None else None
            if result is None:
                return False, None
        held = result.item if isinstance(result, OptionalSpec) else result
        if isinstance(held, ListSpec) and held.cls is list and held.elem is not None:
            self.siblings |= {id(value): held.elem for value in values if value == []}
        return True, result

    def item(self, value: Any, name: str, key: bool) -> Spec | None:
        """Return the type of an item or key; None for a value that a run-time container cannot hold."""
        if type(value) in _SCALARS:
            return ScalarSpec(_SCALARS[type(value)])
        if type(value) is tuple and not value:
            return ListSpec(None, tuple)
        if type(value) is tuple:
            parts = [self.item(v, f"{name}[{i}]", key) for i, v in enumerate(value)]
            return None if None in parts else TupleSpec(tuple(p for p in parts if p is not None))
        if key:
            return None
        if isinstance(value, torch.Tensor):
            return self.tensor(value, name, dynamic=True)
        return ConstantSpec(None) if value is None else self.container(value, name)

    def tensor(self, value: torch.Tensor, name: str, *, dynamic: bool) -> TensorSpec:
        if reason := refuse_tensor(value):
            raise UnsupportedArgument(f"the tensor '{name}' cannot be passed to compiled code: {reason}")
        if value.dim() > 12:
            raise UnsupportedArgument(f"the tensor '{name}' has {value.dim()} dimensions, and at most 12 are supported")
        dtype = dtype_name(value.dtype)
        assert dtype is not None
        return TensorSpec(dtype, (None,) * value.dim() if dynamic else tuple(value.shape))


def _is_looked_up(keys: Collection[Any]) -> bool:
    """Return whether a dict maps run-time keys to items, rather than names to parts."""
    return len(keys) > _MANY or not any(isinstance(key, str) for key in keys)


def _is_constant(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_constant, key))
    return isinstance(key, (bool, int, float, str, enum.Enum, type(None)))


def _merged(a: Spec, b: Spec) -> Spec | None:
    """Return the spec that fits the values of both specs; None if there is none."""
    if a == b:
        return a
    match a, b:
        case (ConstantSpec(None), other) | (other, ConstantSpec(None)):
            return other if isinstance(other, OptionalSpec) else OptionalSpec(other)
        case (OptionalSpec(item), other) | (other, OptionalSpec(item)):
            found = _merged(item, other.item if isinstance(other, OptionalSpec) else other)
            return None if found is None else OptionalSpec(found)
        case ListSpec(x, cls), ListSpec(y, other) if cls is other:
            elem = (x or y) if x is None or y is None else _merged(x, y)
            return None if elem is None and x is not y else ListSpec(elem, cls)
        case TupleSpec(xs), TupleSpec(ys) if len(xs) == len(ys):
            items = [_merged(x, y) for x, y in zip(xs, ys, strict=True)]
            return None if None in items else TupleSpec(tuple(i for i in items if i is not None))
        case SetSpec(x, cls), SetSpec(y, other) if cls is other and (x is None or y is None):
            return SetSpec(y if x is None else x, cls)
        case (ListSpec(_, cls), TupleSpec()) | (TupleSpec(), ListSpec(_, cls)) if cls is tuple:
            return _any_length(a, b)
        case TupleSpec(), TupleSpec():
            return _any_length(a, b)
    return None


def _any_length(a: Spec, b: Spec) -> Spec | None:
    """Return the spec of tuples of any length that fits both specs."""
    parts = [part for s in (a, b) for part in (s.items if isinstance(s, TupleSpec) else (s.elem,)) if part is not None]  # type: ignore[attr-defined]
    elem: Spec | None = parts[0]
    for part in parts[1:]:
        elem = None if elem is None else _merged(elem, part)
    return None if elem is None else ListSpec(elem, tuple)
