"""Types of IR values.

A dim is an int (known), a str (a symbol: the same symbol in one function is the same size) or None (printed `?`). Types
are immutable, except for the element types of containers that the function makes. The front end infers these while it
reads the function: such a type has `TypeVariable`s, which all values of the container share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Dim = int | str | None


class Type:
    """Base of all types; compare with ==."""

    __slots__ = ()
    counted = False  # values are reference-counted: generated C retains and releases them


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """A strided tensor. `dims` is None if the rank is known only at run time."""

    dtype: str
    dims: tuple[Dim, ...] | None

    @property
    def rank(self) -> int:
        assert self.dims is not None, "rank of a tensor whose rank is dynamic"
        return len(self.dims)

    def __str__(self) -> str:
        if self.dims is None:
            return f"{self.dtype}[*]"
        return f"{self.dtype}[{', '.join('?' if d is None else str(d) for d in self.dims)}]"


@dataclass(frozen=True, slots=True)
class ScalarType(Type):
    """A Python value without identity: `i64`, `f64`, `bool`, `str` or `none`.

    `c128` is a complex number as the operand of an op over tensors. Everywhere else it is a pair of floats.
    """

    name: str

    def __str__(self) -> str:
        return self.name


INT, FLOAT, BOOL, STR, NONE, COMPLEX = map(ScalarType, ("i64", "f64", "bool", "str", "none", "c128"))


@dataclass(frozen=True, slots=True)
class NeverType(Type):
    """The type without values: the element type of a list to which no item was ever added."""

    def __str__(self) -> str:
        return "never"


NEVER = NeverType()


UNSEEN = -1  # the length of lists of which none has been made yet


@dataclass(eq=False, slots=True)
class TypeVariable:
    """The element type of a container, while it is inferred. A join of two containers unites their type variables."""

    type: Type
    observed: bool = False  # an op was typed by this type, so a wider type needs another reading
    stale: bool = False  # the type became wider after it was observed
    fixed: bool = False  # the signature gives the type
    length: int | None = None  # of all lists that the variable stands for; None if it changes or is not known
    counted: bool = False  # code was built for this length, so another one needs another reading
    key_kinds: Mapping[Any, frozenset[str]] | None = None  # of a dict: the kinds of items under each key; None for any
    narrowed: frozenset[Any] = frozenset()  # keys for whose kinds code was built
    outgrown: bool = False  # the length or the kinds became others after that
    python: Any = None  # used by the front end: the Python class of a dict or set, unless it is dict or set itself
    link: TypeVariable | None = None

    def find(self) -> TypeVariable:
        variable = self
        while variable.link is not None:
            variable = variable.link
        return variable


@dataclass(eq=False, slots=True)
class ListType(Type):
    """A reference to a Python list with items of one type, or a tuple of such items whose length is known only at run
    time.

    Such a tuple is an immutable value.
    """

    variable: TypeVariable
    is_tuple: bool = False

    @property
    def elem(self) -> Type:
        return self.variable.find().type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListType) or self.is_tuple != other.is_tuple:
            return False
        return self.variable.find() is other.variable.find() or self.elem == other.elem

    def __hash__(self) -> int:
        return hash(ListType)

    def __str__(self) -> str:
        return f"tuple<{self.elem}, ...>" if self.is_tuple else f"list<{self.elem}>"


def list_of(elem: Type) -> ListType:
    """Return a list type with a fixed element type."""
    return ListType(TypeVariable(elem, fixed=True))


def tuple_of(elem: Type) -> ListType:
    """Return the type of tuples of any length."""
    return ListType(TypeVariable(elem, fixed=True), is_tuple=True)


def is_tuple(t: Type) -> bool:
    """Return whether values are tuples whose length is known only at run time."""
    return isinstance(t, ListType) and t.is_tuple


@dataclass(eq=False, slots=True)
class DictType(Type):
    """A reference to a Python dict with keys of one type and values of one type."""

    key_variable: TypeVariable
    variable: TypeVariable

    @property
    def key(self) -> Type:
        return self.key_variable.find().type

    @property
    def elem(self) -> Type:
        return self.variable.find().type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictType) and self.key == other.key and self.elem == other.elem

    def __hash__(self) -> int:
        return hash(DictType)

    def __str__(self) -> str:
        return f"dict<{self.key}, {self.elem}>"


@dataclass(eq=False, slots=True)
class SetType(Type):
    """A reference to a Python set with keys of one type."""

    key_variable: TypeVariable

    @property
    def key(self) -> Type:
        return self.key_variable.find().type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetType) and self.key == other.key

    def __hash__(self) -> int:
        return hash(SetType)

    def __str__(self) -> str:
        return f"set<{self.key}>"


@dataclass(eq=False, slots=True)
class Record:
    """A class of objects with fields of one type each.

    cls: the Python class of the instances, if there is one.
    late: the attributes that an object may lack. The field of a missing one holds None.
    constants: the attributes that are one Python object (a dtype, a function). Their fields hold True.
    """

    name: str
    names: tuple[str, ...] = ()
    fields: list[TypeVariable] = field(default_factory=list)
    cls: Any = None
    late: set[str] = field(default_factory=set)
    constants: dict[str, Any] = field(default_factory=dict)

    def type_of(self, index: int) -> Type:
        return self.fields[index].find().type


@dataclass(eq=False, slots=True)
class ObjectType(Type):
    """A reference to an object, which may refer to other objects of its class."""

    record: Record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectType) and self.record.name == other.record.name

    def __hash__(self) -> int:
        return hash(self.record.name)

    def __str__(self) -> str:
        return f"object<{self.record.name}>"


Container = ListType | DictType | SetType | ObjectType  # values with identity that refer to other values


def dict_of(key: Type, elem: Type) -> DictType:
    return DictType(TypeVariable(key, fixed=True), TypeVariable(elem, fixed=True))


def set_of(key: Type) -> SetType:
    return SetType(TypeVariable(key, fixed=True))


def type_variables(t: Type) -> list[TypeVariable]:
    """Return the type variables of a container: that of its keys, then that of its items."""
    match t:
        case ListType(variable):
            return [variable]
        case DictType(key, variable):
            return [key, variable]
        case SetType(key):
            return [key]
        case ObjectType(record):
            return list(record.fields)
    return []


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """A tuple. `cls` is used by the front end: the class of a named tuple, None for plain tuples."""

    items: tuple[Type, ...]
    cls: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.items))}>"


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    item: Type

    def __str__(self) -> str:
        return f"optional<{self.item}>"


@dataclass(frozen=True, slots=True)
class CellType(Type):
    """A variable of the IR that `try` regions share: a cell, which holds one value at a time."""

    item: Type

    def __str__(self) -> str:
        return f"cell<{self.item}>"


@dataclass(frozen=True, slots=True)
class OpaqueType(Type):
    """A value of which the IR only knows its use.

    `packed` is a weight in the layout of the kernels, `activation` a function of one element, `rows` are products computed
    ahead of a loop, `exc` is a caught exception, and `iter` is a running pointwise iteration.
    """

    name: str

    def __str__(self) -> str:
        return self.name


PACKED, ACTIVATION, ROWS, EXC, ITER = map(OpaqueType, ("packed", "activation", "rows", "exc", "iter"))


@dataclass(frozen=True, slots=True)
class ElemType(Type):
    """One element of a tensor in a C variable (loop IR only)."""

    dtype: str

    def __str__(self) -> str:
        return f"elem<{self.dtype}>"


@dataclass(frozen=True, slots=True)
class PtrType(Type):
    """A pointer to elements (loop IR only)."""

    dtype: str

    def __str__(self) -> str:
        return f"ptr<{self.dtype}>"


def broadcasts_into(a: Type, b: Type) -> bool:
    """Return whether a tensor of type `a` provably broadcasts to exactly the sizes of one of type `b`."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.dims is None or b.dims is None:
        return False
    pairs = zip(reversed(a.dims), reversed(b.dims), strict=False)
    return len(a.dims) <= len(b.dims) and all(x == 1 or (x is not None and x == y) for x, y in pairs)


def is_counted(t: Type) -> bool:
    """Return whether values of this type are reference-counted objects in C."""
    if isinstance(t, OptionalType):
        return is_counted(t.item)
    return isinstance(t, (TensorType, Container)) or t in (STR, PACKED, ROWS, EXC)


def layout(t: Type) -> object:
    """Return how an item of a list or dict is laid out, as a key: tuples and optional numbers are in boxes, objects that may
    be None are as other objects."""
    if isinstance(t, TupleType):
        return tuple(map(layout, t.items))
    if isinstance(t, OptionalType) and not is_counted(t):
        return "optional", layout(t.item)
    return "none" if t == NONE else "value"


def join_dim(a: Dim, b: Dim) -> Dim:
    return a if a == b else None


class JoinError(Exception):
    """Say that two types have no common type. The text is made where it is read: `is_subtype` drops most of these errors."""

    def __str__(self) -> str:
        return " and ".join(map(str, self.args))


def join(a: Type, b: Type) -> Type:
    """Return the least type that holds the values of both. Raise JoinError if there is none."""
    if a is b or a == b:
        return a
    if isinstance(a, NeverType):
        return b
    if isinstance(b, NeverType):
        return a
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype == b.dtype:
        if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
            return TensorType(a.dtype, None)
        return TensorType(a.dtype, tuple(map(join_dim, a.dims, b.dims)))
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.items) == len(b.items):
        return TupleType(tuple(map(join, a.items, b.items)), a.cls if a.cls is b.cls else None)
    if isinstance(a, ListType) and isinstance(b, ListType) and a.is_tuple == b.is_tuple:
        return (tuple_of if a.is_tuple else list_of)(join(a.elem, b.elem))
    if isinstance(a, DictType) and isinstance(b, DictType):
        return dict_of(join(a.key, b.key), join(a.elem, b.elem))
    if isinstance(a, SetType) and isinstance(b, SetType):
        return set_of(join(a.key, b.key))
    if NONE in (a, b):
        other = b if a == NONE else a
        return other if isinstance(other, OptionalType) else OptionalType(other)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        return OptionalType(join(*(t.item if isinstance(t, OptionalType) else t for t in (a, b))))
    raise JoinError(a, b)


def is_subtype(a: Type, b: Type) -> bool:
    """Return whether a value of type `a` may replace one of type `b`, with the same representation."""
    try:
        return join(a, b) == b
    except JoinError:
        return False


@dataclass(slots=True)
class Names:
    """Give out unique names. Each is the wanted name, if that is free."""

    used: dict[str, int] = field(default_factory=dict)

    def fresh(self, wanted: str) -> str:
        count = self.used.get(wanted)
        if count is None:
            self.used[wanted] = 1
            return wanted
        while True:
            name = f"{wanted}{count}"
            count += 1
            if name not in self.used:
                self.used[wanted] = count
                self.used[name] = 1
                return name
