"""Abstract values: the front end's knowledge of a Python value during a reading.

A value is *known* (a Python object at compile time), *dynamic* (an SSA value with a type), or a container of known
structure whose items are either.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from scriptc.frontend.environment.dependencies import record_dependency
from scriptc.frontend.environment.specs import PlaceSpec
from scriptc.ir.core import Value
from scriptc.ir.types import (
    ObjectType,
    OpaqueType,
    Record,
    ScalarType,
    Type,
    is_tuple,
)

if TYPE_CHECKING:
    from scriptc.frontend.reader.protocol import Frame, Reader


class AbstractValue:
    """Base of abstract values. `frontend.values.verbs` lists the operations on them."""

    __slots__ = ()
    category: object  # the kind of the value as a key: equal keys mean the same kind

    def __init_subclass__(cls) -> None:
        if not isinstance(getattr(cls, "category", None), property):
            cls.category = cls

    def kinds(self) -> tuple[object, ...]:
        """Return the kinds of the value, the most special first."""
        return type(self).__mro__


@dataclass(frozen=True)
class Structure:
    """The structure of a value that has parts. Values with equal keys differ only in their parts; `make` makes one
    from parts."""

    key: Hashable
    parts: Sequence[AbstractValue]
    make: Callable[[list[AbstractValue]], AbstractValue]


@dataclass(eq=False, slots=True, init=False)
class Known(AbstractValue):
    """A Python object known at compile time."""

    obj: Any

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        record_dependency(obj)


@dataclass(eq=False, slots=True, init=False)
class KnownSet(Known):
    """A set of known items that compiled code made and has not changed."""

    sites: tuple[Any, ...]

    def __init__(self, obj: Any, sites: tuple[Any, ...] = ()) -> None:
        Known.__init__(self, obj)
        self.sites = sites


@dataclass(eq=False, slots=True)
class RuntimeValue(AbstractValue):
    """A value that the compiled code computes: a tensor, a number, or a dict or set with run-time keys."""

    value: Value

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def category(self) -> object:  # type: ignore[override]  # the other kinds are each a class
        t = self.value.type
        return type(self), t.name if isinstance(t, (ScalarType, OpaqueType)) else type(t)

    def kinds(self) -> tuple[object, ...]:
        """Return the scalar type, or the class of any other type, and then the classes of the value."""
        return self.value.type, *type(self.value.type).__mro__, *type(self).__mro__


@dataclass(eq=False, slots=True)
class TupleValue(AbstractValue):
    """A tuple of known length; `cls` is its class (tuple, torch.Size, a NamedTuple)."""

    items: Sequence[AbstractValue]
    cls: type = tuple


@dataclass(eq=False, slots=True)
class ListValue(AbstractValue):
    """A list, or a tuple whose length is known only at run time.

    value: the run-time list; None for a list whose items have no common type.
    items: the items, while nothing has changed the list since the display that made it.
    """

    value: Value | None
    items: list[AbstractValue] | None = None
    site: Any = None
    observed: bool = False  # the reading depends on `items`

    @property
    def is_tuple(self) -> bool:
        return self.value is not None and is_tuple(self.value.type)


@dataclass(eq=False, slots=True)
class BatchedValue(AbstractValue):
    """A tensor inside calls of torch.vmap. The function sees the dims behind those of the batches.

    tensor: has one dim for each call of vmap around, the outermost first; its size is 1 where the value is the same.
    batches: the number of these dims.
    """

    tensor: AbstractValue
    batches: int


@dataclass(eq=False, slots=True)
class IndexingMode(AbstractValue):
    """A manager within which functions under torch.vmap index by tensors."""


@dataclass(eq=False, slots=True)
class ComplexValue(AbstractValue):
    """A Python complex number that the program computes. Its parts are floats."""

    real: AbstractValue
    imag: AbstractValue


@dataclass(eq=False, slots=True)
class ArrayValue(AbstractValue):
    """A NumPy array. It shares the memory of its tensor, and has the dtype of the same name.

    flips: the dims along which the array runs backward through the tensor.
    read_only: whether NumPy refuses writes to the array.
    """

    tensor: AbstractValue
    flips: tuple[int, ...] = ()
    read_only: bool = False


@dataclass(eq=False, slots=True)
class UnsignedValue(AbstractValue):
    """A tensor of uint64 elements, whose bits an int64 tensor has."""

    tensor: AbstractValue


@dataclass(eq=False, slots=True)
class NumpyScalarValue(AbstractValue):
    """A NumPy scalar, such as np.float64(2): a Python number, and the dtype."""

    number: AbstractValue
    dtype: str


_serials = itertools.count()


@dataclass(eq=False, slots=True)
class Ident:
    """The identity of a mutable thing: an object, a dict, or a variable that an inner function assigns.

    The reader's heap holds its present content. Serials grow in the order of creation.
    """

    name: str = ""
    serial: int = field(default_factory=lambda: next(_serials))


@dataclass(eq=False, slots=True)
class Content(AbstractValue):
    """The content of an object or dict after a change. `first` is the original content, `cls` the class of an
    object."""

    items: dict[Any, AbstractValue]
    first: dict[Any, AbstractValue]
    cls: type | None = None


@dataclass(eq=False, slots=True)
class Moved(AbstractValue):
    """The content of an object that may be one of several after a join, so that changes cannot be assigned to one of
    them."""


@dataclass(frozen=True)
class Made:
    """The class of a dict or set. `factory` makes the missing items of a defaultdict: Known or Closure."""

    cls: type
    factory: AbstractValue | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made) and (self.cls, self._maker()) == (other.cls, other._maker())

    def __hash__(self) -> int:
        return hash(self.cls)

    def _maker(self) -> Any:
        """Return the maker for a factory. Equal factories share one maker."""
        return getattr(self.factory, "obj", getattr(self.factory, "node", self.factory))


@dataclass(frozen=True, slots=True)
class CallerLocation:
    """The location of a caller's dict, object or list: a path of keys from a dict or list outside, or an argument.

    `owner` is the place of the argument. Compiled code cannot change a container without an owner.
    """

    owner: Any
    path: tuple[Any, ...] = ()

    @property
    def place(self) -> PlaceSpec | None:
        return self.owner if isinstance(self.owner, PlaceSpec) else None

    def key(self) -> Hashable:
        """Return a key that is equal for the same location."""
        return id(self.owner), self.path


@dataclass(eq=False, slots=True)
class DictValue(AbstractValue):
    """A dict with known keys in order: a display or **kwargs. `items` is its original content."""

    items: dict[Any, AbstractValue] = field(default_factory=dict)
    ident: Ident = field(default_factory=Ident)
    home: CallerLocation | None = None  # the dict of the caller that changes are written back to
    sites: tuple[Any, ...] = ()  # sites where the dict may be made with run-time keys instead
    made: Made = Made(dict)

    @property
    def made_with(self) -> dict[Any, AbstractValue]:
        return self.items


@dataclass(eq=False, slots=True)
class ViewValue(AbstractValue):
    """The value of d.keys(), d.values() or d.items(), by the name of the method.

    walked: what an iterator over a dict with known keys walks, which began with so many items. None: a view.
    """

    table: AbstractValue
    part: str
    walked: int | None = None


@dataclass(eq=False, slots=True)
class ObjectValue(AbstractValue):
    """An instance of a user's class, which compiled code made or got as an argument. `items` are its original
    attributes."""

    cls: type
    items: dict[str, AbstractValue] = field(default_factory=dict)
    ident: Ident = field(default_factory=Ident)
    home: CallerLocation | None = None  # the object of the caller that changes are written back to

    @property
    def made_with(self) -> dict[str, AbstractValue]:
        return self.items


class RecordValue(ObjectValue):
    """A run-time instance of a user's class, which may be any one of several."""

    __slots__ = ("value",)

    def __init__(self, cls: type, value: Value):
        ObjectValue.__init__(self, cls)
        self.value = value

    @property
    def record(self) -> Record:
        assert isinstance(self.value.type, ObjectType)
        return self.value.type.record


class RecordDictValue(DictValue):
    """A dict with known keys that exists at run time."""

    __slots__ = ("value",)

    def __init__(self, value: Value):
        DictValue.__init__(self)
        self.value = value

    @property
    def record(self) -> Record:
        assert isinstance(self.value.type, ObjectType)
        return self.value.type.record


RECORDS = (RecordValue, RecordDictValue)


@dataclass(eq=False, slots=True)
class AttributeDictValue(AbstractValue):
    """`owner.__dict__` of an object that compiled code made."""

    owner: ObjectValue


@dataclass(eq=False, slots=True)
class SuperValue(AbstractValue):
    """The value of super() in a method of an object that compiled code made."""

    after: type
    obj: AbstractValue


class KnownLengthListValue(ListValue):
    """A list made in compiled code whose length is known throughout, so that its items may have any kinds.

    It is kept like a dict with the keys 0, 1, ... `first` is its original content; the reader's heap holds the present
    one. `reader` is None for a list that cannot change any more.
    """

    __slots__ = ("first", "home", "ident", "reader")

    def __init__(
        self,
        first: dict[int, AbstractValue],
        reader: Reader | None,
        ident: Ident | None = None,
        home: CallerLocation | None = None,
        site: Any = None,
    ):
        self.value, self.site, self.observed = None, site, False
        self.first, self.reader, self.ident, self.home = first, reader, ident or Ident(), home

    @property
    def items(self) -> list[AbstractValue]:  # type: ignore[override]
        held = self.first if self.reader is None else self.reader.items_of(self)
        return list(held.values())

    @property
    def made_with(self) -> dict[Any, AbstractValue]:
        return self.first


HeapValue = DictValue | KnownLengthListValue | ObjectValue  # the reader's heap holds their present content


@dataclass(eq=False, slots=True)
class ClassOf(AbstractValue):
    """The class of a caught exception."""

    exception: AbstractValue


@dataclass(eq=False, slots=True)
class OneOf(AbstractValue):
    """A value of one of several kinds. `tag` tells the kind at run time."""

    tag: Value
    alternatives: dict[int, AbstractValue]


class Kinds:
    """The numbers of the kinds that tags of `OneOf` tell apart.

    in_containers: containers may hold several kinds. optional_keys: a dict with known keys may have some on some paths.
    """

    NONE = 0

    def __init__(self, in_containers: bool = False, optional_keys: bool = False) -> None:
        self.in_containers = in_containers
        self.optional_keys = optional_keys
        self.beside_tables: list[DictValue] = []  # dicts with known keys that are joined with dicts of run-time keys
        self.tags: dict[Hashable, int] = {("known", type(None), None): self.NONE}

    def tag(self, kind: Hashable) -> int:
        return self.tags.setdefault(kind, len(self.tags))


@dataclass(eq=False, slots=True)
class RangeValue(AbstractValue):
    start: AbstractValue
    stop: AbstractValue
    step: AbstractValue


@dataclass(eq=False, slots=True)
class WalkMark(AbstractValue):
    """Tells which iterators a value may be, so that a second walk over one of them is found.

    A walk notes all `idents` in the heap (`spend`). A join of iterators unites their marks. spent: a path to a join has
    walked its iterator.
    """

    idents: frozenset[Ident] = field(default_factory=lambda: frozenset((Ident(),)))
    spent: bool = False


@dataclass(eq=False, slots=True)
class ZipValue(AbstractValue):
    """A zip(...) or enumerate(...): several sequences walked in step. `offset` is the number of enumerate's first
    item."""

    parts: Sequence[AbstractValue]
    offset: AbstractValue | None = None
    strict: bool = False  # raise ValueError if the lengths differ
    mark: WalkMark = field(default_factory=WalkMark)


@dataclass(eq=False, slots=True)
class ReversedValue(AbstractValue):
    part: AbstractValue
    mark: WalkMark = field(default_factory=WalkMark)


@dataclass(eq=False, slots=True)
class IteratorValue(AbstractValue):
    """An iterator of itertools over a sequence that was computed already."""

    part: AbstractValue
    mark: WalkMark = field(default_factory=WalkMark)


@dataclass(eq=False, slots=True)
class BufferValue(AbstractValue):
    """An nn.Buffer that compiled code made, before a module holds it."""

    tensor: AbstractValue
    persistent: bool


Scope = dict[str, AbstractValue]  # the present variables of a comprehension


@dataclass(eq=False, slots=True)
class Closure(AbstractValue):
    """A `def` or `lambda` inside compiled code.

    scopes: the variables of the comprehensions around it. Functions made by one comprehension share these, and see
    their last values.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: Sequence[AbstractValue]
    kw_defaults: Sequence[AbstractValue | None]
    scopes: Sequence[Scope] = ()


@dataclass(eq=False, slots=True)
class Bound(AbstractValue):
    """A method `owner.name` of a dynamic value, or of a known object whose class defines it."""

    owner: AbstractValue
    name: str
    func: Any = None  # the function of a known object's method


@dataclass(eq=False, slots=True)
class Native(AbstractValue):
    """A method that the front end itself implements."""

    run: Callable[..., AbstractValue]


@dataclass(eq=False, slots=True)
class GeneratorValue(AbstractValue):
    """A generator expression whose first sequence has been evaluated. `map` and `filter` are such expressions, too."""

    node: ast.GeneratorExp
    frame: Frame
    sequence: AbstractValue
    scopes: Sequence[Scope] = ()  # the scopes of the comprehensions around the generator expression
    scope: Scope = field(default_factory=dict)  # the variables of the generator expression
    mark: WalkMark = field(default_factory=WalkMark)
    cls: type = GeneratorType


@dataclass(eq=False, slots=True)
class YieldsValue(AbstractValue):
    """A generator: the call of a function with `yield`. Its body is read where a loop walks it."""

    frame: Frame  # with the arguments bound
    node: ast.FunctionDef | ast.Lambda
    mark: WalkMark = field(default_factory=WalkMark)


@dataclass(eq=False, slots=True)
class PartialValue(AbstractValue):
    """A functools.partial(...) that compiled code made."""

    func: AbstractValue
    args: Sequence[AbstractValue]
    kwargs: dict[str, AbstractValue]


@dataclass(eq=False, slots=True)
class ManagerValue(AbstractValue):
    """The result of calling a generator that contextlib.contextmanager decorates."""

    generator: YieldsValue


@dataclass(eq=False, slots=True)
class MaybeUnbound(AbstractValue):
    """A name that some path leaves unbound; `flag` says whether it is bound."""

    flag: AbstractValue
    av: AbstractValue
    placed: bool = True  # as the item of a dict: its place among the keys is the same on all paths


@dataclass(eq=False, slots=True)
class Unbound(AbstractValue):
    """A name that no path so far has bound."""


@dataclass(eq=False, slots=True)
class Poison(AbstractValue):
    """The value of an expression in error, which is not reported again."""
