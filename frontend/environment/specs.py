"""The signature of a specialization and of its results, as trees. The in-process bridge and the ahead-of-time API follow
them.

Dynamic leaves (tensors, numbers, lists), taken in order, are the parameters of the entry function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, NoReturn

from typing_extensions import dataclass_transform

# A node has a kind, the data of that kind, and child specs. None stands for the items of an empty container.
# runtime/spec_kinds.py lists the kinds.
Node = tuple[str, Any, "tuple[Spec | None, ...]"]


@dataclass_transform(frozen_default=True)
class Spec:
    """Base of all specs. Specs are equal if their classes and fields are.

    It serves as a frozen dataclass does, but generates no code: a dozen generated classes took ten milliseconds of
    every start.
    """

    __match_args__: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.__match_args__ = tuple(cls.__annotations__)  # type: ignore[misc]

    def __init__(self, *values: Any, **named: Any):
        given = dict(zip(self.__match_args__[: len(values)], values, strict=True)) | named
        for name in self.__match_args__:
            self.__dict__[name] = given[name] if name in given else getattr(type(self), name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def _compared(self) -> tuple[Any, ...]:
        return tuple(self.__dict__.values())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash((type(self), self._compared()))

    def node(self) -> Node:
        """Return the spec as a node for the bridge."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.__dict__.items())})"


_SCALARS = {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}


class TensorSpec(Spec):
    """`sizes`: an int where the size is part of the signature, None where it is dynamic."""

    dtype: str
    sizes: tuple[int | None, ...]

    def node(self) -> Node:
        return "tensor", (self.dtype, self.sizes, False), ()


class ScalarSpec(Spec):
    """`kind`: "i64", "f64", "bool" or "str"."""

    kind: str

    def node(self) -> Node:
        return _SCALARS[self.kind], None, ()


class ConstantSpec(Spec):
    """A value that is part of the signature: matched by value if it is a bool, number, string or None, else by identity."""

    obj: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantSpec) and same_known(self.obj, other.obj)

    def __hash__(self) -> int:
        return hash(type(self.obj))

    def node(self) -> Node:
        return "constant", self.obj, ()


class ListSpec(Spec):
    """A list of any length, or a tuple if `cls` is tuple. `elem` is None for an empty one."""

    elem: Spec | None
    cls: type = list

    def node(self) -> Node:
        return "list", self.cls, (self.elem,)


class MapSpec(Spec):
    """A dict with run-time keys. `make` makes a subclass of dict from a dict. `key` and `item` are None for an empty
    dict."""

    key: Spec | None
    item: Spec | None
    make: Any = None

    def node(self) -> Node:
        return "map", self.make, (self.key, self.item)


class SetSpec(Spec):
    """A set of any length. `key` is None for an empty set."""

    key: Spec | None
    cls: type = set

    def node(self) -> Node:
        return "set", self.cls, (self.key,)


class OptionalSpec(Spec):
    """An item of a list or dict that may be None."""

    item: Spec

    def node(self) -> Node:
        return "optional", None, (self.item,)


class TupleSpec(Spec):
    """A tuple or another value of known parts, which `cls` makes.

    complex takes two floats. A tuple class takes its items as arguments if it has `_fields`, else as one sequence. A
    maker that is no sequence class has a method `parts`, which takes the value apart again.
    """

    items: tuple[Spec, ...]
    cls: Any = tuple

    def node(self) -> Node:
        return ("tuple", None, self.items) if self.cls is tuple else ("named_tuple", self.cls, self.items)


class DictSpec(Spec):
    """A dict with known keys. As an argument it has a place, as an ObjectSpec or ItemsSpec has.

    Places number these in the order of the arguments. A container comes before its content.
    """

    keys: tuple[Any, ...]
    items: tuple[Spec, ...]

    def node(self) -> Node:
        return "dict", self.keys, self.items


class ObjectSpec(Spec):
    """An argument that is an instance of a user's class, by its attributes."""

    cls: type
    names: tuple[str, ...]
    items: tuple[Spec, ...]

    def node(self) -> Node:
        return "object", (self.cls, self.names), self.items


class InstanceSpec(Spec):
    """A result that is a run-time instance of a user's class. `fields` returns the specs of its attributes, which
    may include this spec."""

    cls: type
    names: tuple[str, ...]
    fields: Callable[[], tuple[Spec, ...]]

    def _compared(self) -> tuple[Any, ...]:
        return self.cls, self.names

    def node(self) -> Node:
        return "instance", (self.cls, self.names, self.fields), ()


class ItemsSpec(Spec):
    """An argument that is a list of these items."""

    items: tuple[Spec, ...]

    def node(self) -> Node:
        return "items", None, self.items


class QueueSpec(Spec):
    """An argument that is a deque. A deque has a place. Its items are one leaf, like a list; `maxlen` is part of the
    signature."""

    content: ListSpec
    maxlen: int | None

    @property
    def items(self) -> tuple[Spec, ...]:
        return (self.content,)

    def node(self) -> Node:
        return "queue", self.maxlen, (self.content,)


class PlaceSpec(Spec):
    """The object at a place among the arguments, itself."""

    number: int

    def node(self) -> Node:
        return "place", self.number, ()


def same_known(a: Any, b: Any) -> bool:
    """Return whether code that was specialized on one of two objects is valid for the other."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex()
    if isinstance(a, complex):
        return same_known(a.real, b.real) and same_known(a.imag, b.imag)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_known, a, b))
    return bool(a == b) if isinstance(a, (bool, int, str, type(None))) else a is b


def describe(spec: Spec) -> str:
    """Return a spec as people write a type: f32[?, 16], list[f32[?, ?]], int."""
    match spec:
        case TensorSpec(dtype, sizes):
            return f"{dtype}[{', '.join('?' if n is None else str(n) for n in sizes)}]"
        case ScalarSpec(kind):
            return {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}[kind]
        case ListSpec(elem, cls):
            more = ", ..." if cls is tuple else ""
            return f"{cls.__name__}[{describe(elem) + more if elem is not None else more[2:]}]"
        case TupleSpec(_, cls) if cls is complex:
            return "complex"
        case TupleSpec(items, cls):
            return f"{getattr(cls, '__name__', 'tuple')}[{', '.join(map(describe, items))}]"
        case DictSpec(keys, items):
            return "dict[" + ", ".join(f"{k!r}: {describe(i)}" for k, i in zip(keys, items, strict=True)) + "]"
        case MapSpec(key, item):
            return f"dict[{', '.join(describe(s) for s in (key, item) if s is not None)}]"
        case SetSpec(key):
            return f"set[{describe(key) if key is not None else ''}]"
        case OptionalSpec(item):
            return f"{describe(item)} | None"
        case ObjectSpec(cls, names, items):
            return f"{cls.__name__}({', '.join(f'{n}: {describe(i)}' for n, i in zip(names, items, strict=True))})"
        case ItemsSpec(items):
            return f"list[{', '.join(map(describe, items))}]"
        case QueueSpec(ListSpec(elem), maxlen):
            held = [] if elem is None else [describe(elem)]
            return f"deque[{', '.join([*held, *([] if maxlen is None else [f'maxlen={maxlen}'])])}]"
        case InstanceSpec(cls):
            return cls.__name__
        case PlaceSpec():
            return "the same object"
        case ConstantSpec(obj):
            return repr(obj) if isinstance(obj, (bool, int, float, complex, str, type(None))) else type(obj).__name__
    raise AssertionError(spec)


LEAVES = (TensorSpec, ScalarSpec, ListSpec, MapSpec, SetSpec, InstanceSpec)


def is_leaf(spec: Spec) -> bool:
    """Return whether a value of a spec is a single parameter or result of the entry function."""
    return isinstance(spec, LEAVES)


def parts(spec: Spec, value: Any) -> Iterator[tuple[Spec, Any]]:
    """Yield the parts of a value that is no leaf, each with its spec."""
    match spec:
        case TupleSpec(items, cls) if cls is complex:
            yield from zip(items, (value.real, value.imag), strict=True)
        case TupleSpec(items, cls):
            yield from zip(items, cls.parts(value) if hasattr(cls, "parts") else value, strict=True)
        case ItemsSpec(items):
            yield from zip(items, value, strict=True)
        case QueueSpec(content):
            yield content, value  # the value is a sequence
        case DictSpec(keys, items):
            yield from ((item, value[key]) for key, item in zip(keys, items, strict=True))
        case ObjectSpec(_, names, items):
            yield from ((item, value.__dict__[name]) for name, item in zip(names, items, strict=True))


def leaves(spec: Spec) -> Iterator[Spec]:
    """Yield the dynamic leaves in order."""
    if is_leaf(spec):
        yield spec
    for item in getattr(spec, "items", ()) if not is_leaf(spec) else ():
        yield from leaves(item)


def placed(spec: Spec, value: Any) -> Iterator[Any]:
    """Yield the objects with a place in an argument, in order."""
    if isinstance(spec, (DictSpec, ObjectSpec, ItemsSpec, QueueSpec)):
        yield value
    for item, part in parts(spec, value):
        yield from placed(item, part)


def values_of(spec: Spec, value: Any) -> Iterator[Any]:
    """Yield the values of the dynamic leaves in order."""
    if is_leaf(spec):
        yield value
    else:
        for item, part in parts(spec, value):
            yield from values_of(item, part)


class ArgSpec(NamedTuple):
    """One parameter of the user's function."""

    name: str
    spec: Spec


class LateBoundTensor(NamedTuple):
    """A late-bound tensor: each call reads `container[key]`. `name` is the name of the IR's param."""

    name: str
    container: dict[Any, Any]
    key: Any
    spec: TensorSpec


class Attributes:
    """The attributes of an object, as a container of late-bound values."""

    def __init__(self, owner: Any):
        self.owner = owner

    def __getitem__(self, name: str) -> Any:
        return getattr(self.owner, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self.owner, name, value)


class LateBoundValue(NamedTuple):
    """A late-bound value: each call reads `container[key]`, since the value changes between calls."""

    container: Any
    key: Any
    spec: Spec


class Raised(threading.local):
    """Keep the content of a raised exception on its way from compiled code to Python.

    held: the names of the attributes, `args` among them, and their values.
    """

    held: tuple[tuple[str, ...], tuple[Any, ...]] | None = None

    def __init__(self, cls: type):
        self.cls = cls

    def __deepcopy__(self, memo: Any) -> Raised:
        return self

    def __reduce__(self) -> tuple[type, tuple[type]]:
        return Raised, (self.cls,)


class WriteBack(NamedTuple):
    """A location that compiled code may set: the attribute `key` of `owner`, or an item if there is a `path`.

    The path of keys leads from the owner to the container of the item. An owner that is a PlaceSpec is an argument. A
    `state.set` gives the number of the form of its value. `direct` is the dict that held the attribute at entry. If
    there is one, values are put into it without a call of the owner's class.
    """

    name: str
    owner: Any
    key: Any
    path: tuple[Any, ...] | None
    direct: dict[Any, Any] | None
    forms: tuple[Spec, ...]


GIVEN, MISSING = "given", "missing"  # what a leaf of a slot holds: any value, or none


class Kept(NamedTuple):
    """A location whose value a build ahead of time keeps from call to call.

    Its leaves are parameters of the entry function, and operands of the target's `state.set` ops. `initial` holds their
    values at build time, None for an absent value. `container[key]` holds the value, if there is one. `kinds` holds, for
    each kind of value that the slot may have, what each leaf then holds: a constant number, GIVEN or MISSING.
    """

    name: str
    container: Any
    key: Any
    types: tuple[Any, ...]
    initial: tuple[Any, ...]
    target: int | None
    kinds: tuple[tuple[Any, ...], ...]


class Guard(NamedTuple):
    """A condition outside the arguments that compiled code depends on. `kind` is one of the bridge's guard kinds."""

    kind: str
    container: Any
    key: Any
    expected: Any


@dataclass(frozen=True)
class Contract:
    """The arguments and result of an entry, and its dependencies outside the arguments."""

    args: list[ArgSpec]
    result: Spec
    tensors: list[LateBoundTensor]
    guards: list[Guard]
    values: list[LateBoundValue]  # their leaves are parameters of the entry function, after those of the arguments
    texts: dict[int, str]  # by position: strings among the arguments that the variant holds as constants
    write_backs: list[WriteBack]  # `state.set` ops name them by their index
    exceptions: dict[str, type[BaseException]]  # the classes that the module declares

    def parts(self) -> dict[str, Any]:
        """Return the fields of a contract by name. A subclass's other fields are left out."""
        return {f.name: getattr(self, f.name) for f in fields(Contract)}
