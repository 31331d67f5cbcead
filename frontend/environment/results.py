"""Values that leave compiled code: the tree of a value, which the bridge and packages follow, and its dynamic leaves."""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from scriptc.frontend.environment.host_objects import dtype_name, numpy_dtype
from scriptc.frontend.environment.specs import (
    ConstantSpec,
    DictSpec,
    InstanceSpec,
    ListSpec,
    MapSpec,
    OptionalSpec,
    ScalarSpec,
    SetSpec,
    Spec,
    TensorSpec,
    TupleSpec,
    same_known,
)
from scriptc.frontend.library.torch.futures_decomposed import Future
from scriptc.frontend.reader.errors import Conflict
from scriptc.frontend.values.abstract import AbstractValue, ArrayValue, Made, NumpyScalarValue, UnsignedValue
from scriptc.frontend.values.predicates import is_known, made_of
from scriptc.frontend.values.user_classes import CONTENT, container_base
from scriptc.frontend.values.verbs import result_of
from scriptc.ir.types import (
    NEVER,
    NONE,
    DictType,
    ListType,
    ObjectType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
)


class Maker:
    """Make an object from its attributes, for a result of an entry. Equal makers make equal objects.

    The dict or list of an object whose class inherits from one comes as the attribute CONTENT.
    """

    def __init__(self, cls: type, names: tuple[str, ...]):
        self.cls = cls
        self.names = names
        self.__name__ = cls.__name__

    def __call__(self, values: Sequence[Any]) -> Any:
        held = dict(zip(self.names, values, strict=True))
        return new_object(self.cls, held.pop(CONTENT, None), held)

    def parts(self, made: Any) -> list[Any]:
        return [content_of(made) if name == CONTENT else made.__dict__[name] for name in self.names]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maker) and (self.cls, self.names) == (other.cls, other.names)

    def __hash__(self) -> int:
        return hash((self.cls, self.names))


class MappingMaker:
    """Make an object that is a dict with known keys as well.

    Its attributes come first, then its items. `places` tells for each of them which value it is: an attribute and an
    item may be one object.
    """

    def __init__(self, cls: type, names: tuple[str, ...], keys: tuple[Any, ...], places: tuple[int, ...]):
        self.cls = cls
        self.names = names
        self.keys = keys
        self.places = places
        self.__name__ = cls.__name__

    def __call__(self, values: Sequence[Any]) -> Any:
        held = [values[place] for place in self.places]
        items = dict(zip(self.keys, held[len(self.names) :], strict=True))
        return new_object(self.cls, items, dict(zip(self.names, held, strict=False)))

    def parts(self, made: Any) -> list[Any]:
        content = content_of(made)
        held = [*(made.__dict__[name] for name in self.names), *(content[key] for key in self.keys)]
        found = dict(zip(self.places, held, strict=True))
        return [found[place] for place in sorted(found)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MappingMaker) and self._form() == other._form()

    def __hash__(self) -> int:
        return hash((self.cls, self.names))

    def _form(self) -> tuple[Any, ...]:
        return self.cls, self.names, self.keys, self.places


def new_object(cls: type, content: Any, attributes: dict[str, Any]) -> Any:
    """Return an object with a content, if its class inherits from dict or list, and attributes. None of its code runs.

    The content is None in an object that belongs to the other one of two results, which is made too and dropped.
    """
    base: Any = container_base(cls) or object
    made: Any = base.__new__(cls)
    if base is list:
        list.extend(made, content or ())
    elif base is not object and content is not None:
        for key, item in content.items():
            base.__setitem__(made, key, item)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def content_of(made: Any) -> Any:
    """Return a copy of the dict or list that an object is."""
    base: Any = container_base(type(made))
    return [*list.__iter__(made)] if base is list else dict(base.items(made))


class DictMaker:
    """Make a dict of a subclass of dict for a result, from a dict, or from the items of `keys`."""

    def __init__(self, cls: type, factory: Any, keys: tuple[Any, ...] | None = None):
        self.cls = cls
        self.factory = factory
        self.keys = keys
        self.__name__ = cls.__name__

    def __call__(self, items: Any) -> Any:
        found = items if self.keys is None else dict(zip(self.keys, items, strict=True))
        return defaultdict(self.factory, found) if self.cls is defaultdict else self.cls(found)

    def parts(self, made: Any) -> list[Any]:
        return [made[key] for key in self.keys or ()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictMaker) and self._form() == other._form()

    def __hash__(self) -> int:
        return hash((self.cls, self.keys))

    def _form(self) -> tuple[Any, ...]:
        return self.cls, self.factory, self.keys


class DequeMaker:
    """Make a deque from its greatest length and its items."""

    __name__ = "deque"

    def __call__(self, values: Sequence[Any]) -> Any:
        maxlen, items = values
        return None if items is None else deque(items, maxlen)  # None in an alternative that was not taken

    def parts(self, made: Any) -> list[Any]:
        return [made.maxlen, list(made)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DequeMaker)

    def __hash__(self) -> int:
        return hash(DequeMaker)


class SetMaker:
    """Make a set of known items: each call returns a new one, as the caller may change it."""

    __name__ = "set"

    def __init__(self, items: tuple[Any, ...]):
        self.items = items

    def __call__(self, values: Sequence[Any]) -> Any:
        return set(self.items)

    def parts(self, made: Any) -> list[Any]:
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetMaker) and same_known(self.items, other.items)

    def __hash__(self) -> int:
        return hash(self.items)


class ArrayMaker:
    """Make a NumPy array that shares the memory of a tensor. Containers hold an array as such a tuple of a tensor.

    flips: the dims along which the array runs backward.
    read_only: whether NumPy refuses writes to the array.
    `array_maker` gives the one maker for these.
    """

    def __init__(self, flips: tuple[int, ...] = (), read_only: bool = False):
        self.flips = flips
        self.read_only = read_only
        self.__name__ = "read-only ndarray" if read_only else "ndarray"

    def __call__(self, values: Sequence[Any]) -> Any:
        (tensor,) = values
        if tensor is None:  # in an alternative that was not taken
            return None
        array = tensor.detach().numpy()
        if self.read_only:
            array.flags.writeable = False
        return np.flip(array, self.flips) if self.flips else array

    def parts(self, made: Any) -> list[Any]:
        return [torch.from_numpy(np.flip(made, self.flips) if self.flips else made)]

    def value_of(self, parts: list[AbstractValue]) -> AbstractValue:
        return ArrayValue(parts[0], self.flips, self.read_only)

    def is_value(self, value: Any, spec: Spec) -> bool:
        return isinstance(value, np.ndarray) and is_value_of(spec, self.parts(value)[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayMaker) and (self.flips, self.read_only) == (other.flips, other.read_only)

    def __hash__(self) -> int:
        return hash((self.flips, self.read_only))


array_maker = functools.cache(ArrayMaker)


class UnsignedMaker:
    """Make a uint64 tensor over the memory of the int64 tensor that has its bits."""

    __name__ = "uint64 tensor"

    def __call__(self, values: Sequence[Any]) -> Any:
        (tensor,) = values
        return None if tensor is None else tensor.view(torch.uint64)  # None in an alternative that was not taken

    def parts(self, made: Any) -> list[Any]:
        return [made.view(torch.int64)]

    def value_of(self, parts: list[AbstractValue]) -> AbstractValue:
        return UnsignedValue(parts[0])

    def is_value(self, value: Any, spec: Spec) -> bool:
        return isinstance(value, torch.Tensor) and value.dtype == torch.uint64 and is_value_of(spec, self.parts(value)[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnsignedMaker)

    def __hash__(self) -> int:
        return hash(UnsignedMaker)


@dataclass(frozen=True)
class LeafMaker:
    """Make a leaf of autograd, or an nn.Parameter, of a tensor that the call made. `leaf_maker` gives the one of a kind."""

    parameter: bool
    requires_grad: bool

    @property
    def __name__(self) -> str:
        return "Parameter" if self.parameter else "Tensor"

    def __call__(self, values: Sequence[Any]) -> Any:
        (tensor,) = values
        if tensor is None:  # in an alternative that was not taken
            return None
        if self.parameter and not isinstance(tensor, torch.nn.Parameter):
            tensor.__class__ = torch.nn.Parameter  # a second result that is this leaf is the same object
        return tensor.requires_grad_(self.requires_grad)

    def parts(self, made: Any) -> list[Any]:
        return [made]

    def is_value(self, value: Any, spec: Spec) -> bool:
        return isinstance(value, torch.nn.Parameter) == self.parameter and is_value_of(spec, value)


leaf_maker = functools.cache(LeafMaker)


class NumpyScalarMaker:
    """Make a NumPy scalar from a Python number. Containers hold a scalar as such a tuple of a number.

    `scalar_maker` gives the one maker of a dtype.
    """

    def __init__(self, dtype: str):
        self.dtype = dtype
        self.cls = numpy_dtype(dtype).type
        self.__name__ = self.cls.__name__

    def __call__(self, values: Sequence[Any]) -> Any:
        return None if values[0] is None else self.cls(values[0])

    def parts(self, made: Any) -> list[Any]:
        return [made.item()]

    def value_of(self, parts: list[AbstractValue]) -> AbstractValue:
        return NumpyScalarValue(parts[0], self.dtype)

    def is_value(self, value: Any, spec: Spec) -> bool:
        return type(value) is self.cls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumpyScalarMaker) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


scalar_maker = functools.cache(NumpyScalarMaker)


class Chooser:
    """Pick one alternative among the results of an entry. The tag comes first, then all alternatives."""

    def __init__(self, tags: tuple[int, ...]):
        self.tags = tags
        self.__name__ = "one of several kinds"

    def __call__(self, values: Sequence[Any]) -> Any:
        if values[0] not in self.tags:  # this union is part of an alternative that was not taken
            return None
        return values[1 + self.tags.index(values[0])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chooser) and self.tags == other.tags

    def __hash__(self) -> int:
        return hash(self.tags)


def is_stand_in(cls: type) -> bool:
    """Return whether a class is one of scriptc's own that stands for an iterator of Python, or for a future."""
    return cls is Future or cls.__module__.partition(".")[0] == "scriptc"


def result_tree(items: Sequence[AbstractValue], make: Callable[[tuple[Spec, ...]], Spec]) -> tuple[Spec, list[AbstractValue]]:
    parts = [result_of(i) for i in items]
    return make(tuple(p[0] for p in parts)), [leaf for p in parts for leaf in p[1]]


def factory_of(made: Made) -> Any:
    if made.factory is None or is_known(made.factory):
        return getattr(made.factory, "obj", None)
    raise Conflict("a defaultdict with a function that is defined in compiled code")


def spec_of_type(t: Type) -> Spec:
    """Return the spec of values in a container."""
    match t:
        case ListType():
            return ListSpec(None if t.elem == NEVER else spec_of_type(t.elem), tuple if t.is_tuple else list)
        case DictType():
            made = made_of(t)
            make = None if made.cls is dict else DictMaker(made.cls, factory_of(made))
            key, item = (None if x == NEVER else spec_of_type(x) for x in (t.key, t.elem))
            return MapSpec(key, item, make)
        case SetType():
            return SetSpec(None if t.key == NEVER else spec_of_type(t.key), made_of(t).cls)
        case TensorType():
            return TensorSpec(t.dtype, (None,) * t.rank)
        case TupleType(items):
            return TupleSpec(tuple(map(spec_of_type, items)), t.cls or tuple)
        case ObjectType(record) if record.cls is Future:
            raise Conflict("a Future, which cannot be returned from compiled code")
        case ObjectType(record) if record.late or record.constants:
            some = min({*record.late, *record.constants})
            raise Conflict(f"a {record.name}, whose attribute '{some}' only some have, or is a dtype or function")
        case ObjectType(record) if CONTENT in record.names:
            kind = getattr(container_base(record.cls), "__name__", "dict")
            raise Conflict(f"a {record.name} from a list, a dict or one of several paths, which is a {kind} as well")
        case ObjectType(record):
            fields = lambda: tuple(spec_of_type(record.type_of(i)) for i in range(len(record.fields)))  # noqa: E731
            return InstanceSpec(record.cls, record.names, fields)
        case OptionalType(item):
            return OptionalSpec(spec_of_type(item))
    return ConstantSpec(None) if t == NONE else ScalarSpec(str(t))


def is_value_of(spec: Spec, value: Any) -> bool:
    """Return whether a result may be the value of an alternative."""
    match spec:
        case TensorSpec(dtype, sizes):
            return isinstance(value, torch.Tensor) and dtype_name(value.dtype) == dtype and value.dim() == len(sizes)
        case ScalarSpec(kind):
            return type(value) is {"i64": int, "f64": float, "bool": bool, "str": str}[kind]
        case ConstantSpec(obj):
            return same_known(obj, value)
        case ListSpec(elem, cls):
            held: Any = value  # not narrowed by the test of its class
            return type(value) is cls and all(elem is not None and is_value_of(elem, item) for item in held)
        case OptionalSpec(item):
            return value is None or is_value_of(item, value)
        case SetSpec(_, cls):
            return type(value) is cls
        case MapSpec(_, _, make):
            return type(value) is (dict if make is None else make.cls)
        case DictSpec(keys):
            return type(value) is dict and tuple(value) == keys
        case TupleSpec((_, *alternatives), Chooser()):
            return any(is_value_of(a, value) for a in alternatives)
        case TupleSpec(_, DequeMaker()):
            return type(value) is deque
        case TupleSpec(_, SetMaker(items=items)):
            return type(value) is set and value == set(items)
        case TupleSpec((item,), (ArrayMaker() | LeafMaker() | NumpyScalarMaker() | UnsignedMaker()) as maker):
            return maker.is_value(value, item)
        case TupleSpec(items, (Maker() | MappingMaker() | DictMaker()) as maker):
            return type(value) is maker.cls and all(map(is_value_of, items, maker.parts(value)))
        case TupleSpec(items, cls):
            return type(value) is cls and len(value) == len(items) and all(map(is_value_of, items, value))
    return True
