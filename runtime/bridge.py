"""Calls compiled entries from Python.

A `Callable` holds variants of one function. Each `VariantSpec` says which entry of which library it is, under which
guards and for which arguments it holds, and how results become Python objects. Specs are trees of the node classes
below; they are lowered to tuples here and to C structs in src/bridge/spec.c, so that a call runs no Python at all.
"""

import ctypes
import os
import sys
import threading
from collections import deque
from collections.abc import Callable as Function
from collections.abc import Iterable, Mapping
from enum import IntEnum
from itertools import chain
from types import CellType, FunctionType, MappingProxyType
from typing import Any, NamedTuple
from weakref import ReferenceType, WeakSet, WeakValueDictionary

from scriptc.runtime import tensors
from scriptc.runtime._bridge import ffi, lib


class _Kind(IntEnum):  # ORDER KINDS: enum node_kind in bridge.h
    TENSOR, INT, FLOAT, BOOL, STR, KNOWN, LIST, TUPLE, DICT, IGNORED, NAMEDTUPLE, ARG = range(12)
    MAP, SET, OPTIONAL, OBJECT, ITEMS, PLACE, INSTANCE, QUEUE = range(12, 20)


# ---- specs: arguments and results ----
# No data classes: each would cost a millisecond of every start.


class Tensor(NamedTuple):
    dtype: str  # a key of tensors.DTYPES
    rank: int
    sizes: tuple[int | None, ...] | None = None  # None: any size
    contiguous: bool = False


class Int:
    """An exact int that fits 64 bits (more raises OverflowError); bool is not one."""


class Float:
    pass


class Bool:
    pass


class Str:
    pass


class Known(NamedTuple):
    """As an argument: this very object, or for constants an equal one of the same type. As a result: the object."""

    value: object


class List(NamedTuple):
    """A list, or where `cls` says so a tuple, of any length."""

    element: "Spec"  # Tensor, Int, Float, Bool, Str, List, Map, Set, Tuple or Optional
    cls: type = list


class Map(NamedTuple):
    """A dict of any length with keys and items of one type each. `make` makes a result of another class from a dict."""

    key: "Spec"  # Int, Float, Bool, Str or Tuple
    item: "Spec"
    make: Function[[dict], object] | None = None


class Set(NamedTuple):
    key: "Spec"
    cls: type = set


class Optional(NamedTuple):
    """In a list, dict or tuple in one: a value, or None."""

    item: "Spec"


class Tuple(NamedTuple):
    items: tuple["Spec", ...]


class NamedTuple_(NamedTuple):
    """A named tuple, a complex number of two floats, or (as a result)
    whatever is made of one sequence of items, such as torch.return_types.max."""

    cls: Function[..., object]
    items: tuple["Spec", ...]


class Dict(NamedTuple):
    """A dict with known keys. Such an argument, an Object and Items have a place each, numbered in the order of arguments,
    containers before what they hold."""

    items: tuple[tuple[object, "Spec"], ...]  # in the order of the dict


class Object(NamedTuple):
    """An argument: an object with just these attributes of its own, in this order."""

    cls: type
    items: tuple[tuple[str, "Spec"], ...]


class Instance(NamedTuple):
    """A result: an object of a class, made without its __init__. `fields` gives the specs of its attributes, among which
    may be its own."""

    cls: type
    names: tuple[str, ...]
    fields: Function[[], tuple["Spec", ...]]


class Items(NamedTuple):
    """An argument: a list of so many items, each of its own type."""

    items: tuple["Spec", ...]


class Queue(NamedTuple):
    """An argument: a deque with this maxlen, which has a place. Its items are a value as those of a list are."""

    content: "Spec"  # List
    maxlen: int | None


class Place(NamedTuple):
    """The argument, or part of one, that has a place. As an argument: it is the same object as an earlier one."""

    number: int


class Ignored:
    """An argument that compiled code does not look at."""


class Arg(NamedTuple):
    """A result that is an argument, as it came: the index of the parameter, then indices and keys into containers."""

    path: tuple[int | str, ...]


Spec = (
    Tensor | Int | Float | Bool | Str | Known | List | Tuple | NamedTuple_ | Dict | Ignored | Arg
    | Map | Set | Optional | Object | Items | Place | Instance | Queue
)  # fmt: skip


# ---- specs: a variant ----


class Guard(IntEnum):  # ORDER GUARDS: enum guard_kind in bridge.h
    DICT_IS = 0  # container[key] is expected
    DICT_EQ = 1  # container[key] is the same constant
    DICT_MISSING = 2
    CELL_IS = 3  # contents of a closure cell
    CELL_EQ = 4
    TYPE_ATTR_IS = 5  # what the type's own and inherited __dict__s hold under key
    DICT_EMPTY = 6
    LIST_ITEMS_ARE = 7  # a list or tuple holds just the objects of the tuple `expected`
    DEFAULT_DTYPE_IS = 8
    GRAD_MODE_IS = 9
    DICT_KEYS_ARE = 10  # a dict has just the keys of the tuple `expected`, in that order
    LIST_LENGTH_IS = 11
    REQUIRES_GRAD_IS = 12  # of the tensor container[key]
    OBJECT_IS = 13  # an object has the class and, unless that is None, the __dict__ of the tuple `expected`
    FUNCTION_IS = 14  # a function has the code, the defaults and the defaults by name of the tuple `expected`
    MRO_IS = 15  # a class has these bases
    BYTES_ARE = 16  # a buffer has the format, the shape and the bytes of the tuple `expected`
    ITERATION_GIVES = 17  # iterating an object of C gives the same constants as the tuple `expected`
    ATTRIBUTE_IS = 18  # getattr(container, key) gives the same constant
    TYPE_MISSING = 19  # neither the type nor its bases define `key`
    DICT_HAS = 20  # something stands under the key
    CALL_GIVES = 21  # a function of C without arguments gives the same constant
    REFERENT_LIVES = 22  # what a weak reference refers to exists, or does not


class GuardSpec(NamedTuple):
    """seldom: nearly no call finds the container, a class or a dict, changed."""

    kind: Guard
    container: Any = None
    key: Any = None
    expected: Any = None
    seldom: bool = False


class Live(NamedTuple):
    """A value read anew at every call: container[key] of a dict or list, or the contents of a closure cell."""

    container: dict | list | CellType
    key: Any
    spec: Spec


class Store(NamedTuple):
    """A place that the entry may set: the attribute `key` of `owner`, or with a path the item `key` of what the path of
    keys leads to from it. An owner that is a Place is an argument. `direct`: the __dict__ that held the attribute at entry,
    if new values may go straight there."""

    owner: Any
    key: Any
    path: tuple[Any, ...] | None
    direct: dict | None
    forms: tuple[Spec, ...]


class _Missing:
    pass


MISSING = _Missing()


class Param(NamedTuple):
    name: str | None  # None: positional only
    spec: Spec
    default: object = MISSING


class VariantSpec(NamedTuple):
    library: str | os.PathLike[str]
    entry: int
    params: tuple[Param, ...]
    result: Spec
    live: tuple[Live, ...] = ()
    guards: tuple[GuardSpec, ...] = ()
    stores: tuple[Store, ...] = ()  # by the numbers that sc_state_set is given
    positional: int | None = None  # parameters after so many are keyword-only
    bind: Function[..., tuple] | None = None  # for *args and **kwargs: makes the flat tuple of arguments
    grad_call: Function[[Function, tuple, dict], object] | None = None  # called where autograd must see the call
    exceptions: Mapping[str, Any] = MappingProxyType({})  # exception classes that are not builtins
    random: bool = False  # it draws random numbers


# ---- lowering ----

_Lowered = tuple[int, object, tuple]
_DTYPE_CODES = {name: code for code, name in enumerate(tensors.DTYPES)}
_ELEMENTS = (Tensor, Int, Float, Bool, Str, List, Tuple, Map, Set, Optional, Known, Instance,
             NamedTuple_)  # fmt: skip


def _lower(spec: Spec, classes: dict[object, int] | None = None) -> _Lowered:
    """classes: numbers of the classes of instances around this spec; one that refers to its own class gives its number."""
    numbers = {} if classes is None else classes

    def inner(part: Spec) -> _Lowered:
        return _lower(part, numbers)

    match spec:
        case Tensor(dtype, rank, sizes, contiguous):
            return _Kind.TENSOR, (_DTYPE_CODES[dtype], rank, contiguous, sizes or (None,) * rank), ()
        case Int():
            return _Kind.INT, None, ()
        case Float():
            return _Kind.FLOAT, None, ()
        case Bool():
            return _Kind.BOOL, None, ()
        case Str():
            return _Kind.STR, None, ()
        case Known(value):
            return _Kind.KNOWN, value, ()
        case List(element, cls):
            if not isinstance(element, _ELEMENTS):
                raise ValueError(f"elements of a list cannot be {element}")
            return _Kind.LIST, cls, (inner(element),)
        case Tuple(items):
            return _Kind.TUPLE, None, tuple(map(inner, items))
        case NamedTuple_(cls, items):
            return _Kind.NAMEDTUPLE, cls, tuple(map(inner, items))
        case Dict(pairs):
            return _Kind.DICT, tuple(key for key, _ in pairs), tuple(inner(item) for _, item in pairs)
        case Ignored():
            return _Kind.IGNORED, None, ()
        case Arg(path):
            return _Kind.ARG, path, ()
        case Map(key, item, make):
            return _Kind.MAP, (_key_kind(key), make), (inner(key), inner(item))
        case Set(key, cls):
            return _Kind.SET, (_key_kind(key), cls), (inner(key),)
        case Optional(item):
            return _Kind.OPTIONAL, None, (inner(item),)
        case Object(cls, pairs):
            return _Kind.OBJECT, (cls, tuple(sys.intern(n) for n, _ in pairs)), tuple(inner(item) for _, item in pairs)
        case Items(items):
            return _Kind.ITEMS, None, tuple(map(inner, items))
        case Place(number):
            return _Kind.PLACE, number, ()
        case Queue(content, maxlen):
            return _Kind.QUEUE, (deque, maxlen), (inner(content),)
        case Instance(cls, names, _) if (cls, names) in numbers:
            return _Kind.INSTANCE, (numbers[cls, names], cls, names), ()
        case Instance(cls, names, fields):
            number = numbers[cls, names] = len(numbers)
            return _Kind.INSTANCE, (number, cls, tuple(map(_interned, names))), tuple(map(inner, fields()))


def _key_kind(key: Spec) -> bytes:
    """The form of keys, as sc_dict has it."""
    match key:
        case Int():
            return b"i"
        case Float():
            return b"f"
        case Bool():
            return b"b"
        case Str():
            return b"s"
        case Tuple(items) | NamedTuple_(_, items):
            return b"(" + b"".join(map(_key_kind, items)) + b")"
        case List(element, cls) if cls is tuple:
            return b"[" + _key_kind(element) + b"]"
        case Tensor():  # of an empty dict
            return b""
    raise ValueError(f"keys cannot be {key}")


def _interned(key: object) -> object:
    return sys.intern(key) if type(key) is str else key


def _container_type(kind: Guard) -> Any:
    if kind in (Guard.CELL_IS, Guard.CELL_EQ):
        return CellType
    if kind in _OF_CLASSES:
        return type
    if kind in _OF_OBJECTS:
        return object
    return _OF_OTHERS.get(kind, dict)


_OF_OTHERS: dict[Guard, Any] = {
    Guard.LIST_ITEMS_ARE: (list, tuple), Guard.LIST_LENGTH_IS: list, Guard.FUNCTION_IS: FunctionType,
    Guard.REFERENT_LIVES: ReferenceType,
}  # fmt: skip
_OF_CLASSES = (Guard.TYPE_ATTR_IS, Guard.TYPE_MISSING, Guard.MRO_IS)
_OF_OBJECTS = (
    Guard.DEFAULT_DTYPE_IS, Guard.GRAD_MODE_IS, Guard.OBJECT_IS, Guard.BYTES_ARE, Guard.ITERATION_GIVES, Guard.ATTRIBUTE_IS,
    Guard.CALL_GIVES,
)  # fmt: skip
_SEQUENCES = (Guard.LIST_ITEMS_ARE, Guard.DICT_KEYS_ARE, Guard.ITERATION_GIVES)


def _lower_guard(guard: GuardSpec) -> tuple:
    kind, container, key, expected, seldom = guard
    if not isinstance(container, _container_type(kind)):
        raise TypeError(f"guard {kind.name} over a {type(container).__name__}")
    if seldom and not isinstance(container, (type, dict)):
        raise TypeError(f"a {type(container).__name__} has no version")
    return kind, container, _interned(key), tuple(expected) if kind in _SEQUENCES else expected, seldom


def _lower_guards(guards: Iterable[GuardSpec]) -> tuple:
    """Those over one class or dict stand together."""
    runs: dict[int, list[GuardSpec]] = {}
    for at, guard in enumerate(guards):
        runs.setdefault(id(guard.container) if isinstance(guard.container, (type, dict)) else -at, []).append(guard)
    return tuple(map(_lower_guard, chain.from_iterable(runs.values())))


def _lower_live(live: Live) -> tuple:
    if not isinstance(live.container, (dict, list, CellType)):
        raise TypeError(f"live value in a {type(live.container).__name__}")
    return live.container, _interned(live.key), _lower(live.spec)


def _lower_store(store: Store) -> tuple:
    place = store.owner.number if isinstance(store.owner, Place) else -1
    return place, store.owner, _interned(store.key), store.path, store.direct, tuple(map(_lower, store.forms))


class _Library:
    """A compiled library, which is unloaded when nothing refers to this object. Variants do: no call runs without its variant,
    and results, messages and exceptions hold nothing of a library's."""

    def __init__(self, path: str) -> None:
        error, handle = ffi.new("char[]", 1024), ffi.new("void **")
        program = lib.sc_bridge_open(os.fsencode(path), handle, error, 1024)
        self.handle = ffi.NULL if program == ffi.NULL else handle[0]
        if program == ffi.NULL:
            raise OSError(os.fsdecode(ffi.string(error)))
        self.program = int(ffi.cast("uintptr_t", program))

    def __del__(self) -> None:
        if not sys.is_finalizing():  # tensors that end later need no library, but modules may have gone
            lib.sc_bridge_close(self.handle)


_libraries: WeakValueDictionary[str, _Library] = WeakValueDictionary()  # by path


def _open(path: str) -> _Library:
    library = _libraries.get(path)
    if library is None:
        library = _libraries[path] = _Library(path)
    return library


def _lower_variant(spec: VariantSpec) -> tuple:
    params = tuple(
        (_interned(p.name), _lower(p.spec), p.default is not MISSING, None if p.default is MISSING else p.default)
        for p in spec.params
    )
    positional = len(params) if spec.positional is None else min(spec.positional, len(params))
    live = tuple(map(_lower_live, spec.live))
    guards = _lower_guards(spec.guards)
    library = _open(os.fspath(spec.library))
    head = (library.program, spec.entry, params, positional, live, guards, _lower(spec.result))
    return *head, tuple(map(_lower_store, spec.stores)), spec.bind, spec.grad_call, dict(spec.exceptions), spec.random, library


# ---- calling ----

_team = int(ffi.cast("uintptr_t", lib.sc_bridge_team(tensors.runs_openmp())))  # helps all calls of the process, one at a time
lib.sc_bridge_main_thread(threading.main_thread().ident)
_Bridge: Any = ctypes.cast(int(ffi.cast("uintptr_t", lib.sc_bridge_type())), ctypes.py_object).value


def stack_left() -> int:
    """Return how many bytes of the running thread's stack may be taken."""
    return int(lib.sc_bridge_stack_left())


class Callable:
    """One function's compiled variants.

    `call` is the hot entry, a builtin: it runs the first variant that fits, most recently hit first. When none does,
    `on_miss(args, kwargs)` must add one that does, or raise, or return an exception, which is then raised without a frame of
    its own. `run_nograd` is the same without asking for autograd, `fits` tells whether a variant takes such a call.
    """

    def __init__(self, on_miss: Function[[tuple, dict], object], *, exchange: bool = True) -> None:
        self._bridge = _Bridge(tensors.host(exchange), on_miss, _team)
        self.call: Function = self._bridge.call
        self.run_nograd: Function = self._bridge.run_nograd
        self.fits: Function = self._bridge.fits
        _callables.add(self)

    def add_variant(self, spec: VariantSpec) -> None:
        self._bridge.add_variant(_lower_variant(spec))

    @property
    def last_call_seconds(self) -> float:
        """Time inside the C of the last call."""
        return self._bridge.last_call_seconds

    @property
    def peak_bytes(self) -> int:
        """Most bytes of blocks in use at once in the last call, weights kept from call to call included."""
        return self._bridge.peak_bytes

    @property
    def asked_bytes(self) -> int:
        """The same without what blocks have beyond the tensors in them."""
        return self._bridge.asked_bytes

    def profile_start(self, sites: int, room: int) -> None:
        """From now on calls of instrumented code are counted by site, and their first `room` events are kept."""
        self._bridge.profile_start(sites, room)

    def profile_stop(self) -> tuple[list[tuple[int, int, float, float]], list[tuple[int, int, int]], int]:
        """(visits, nanoseconds, flops, bytes) by site; (site, begin, end) events in nanoseconds; events without room."""
        return self._bridge.profile_stop()

    def count_allocations(self, fail_at: int = 0) -> None:
        """From now on counts what contexts allocate, and makes the fail_at-th allocation from here fail."""
        self._bridge.count_allocations(fail_at)

    def counts(self) -> dict[str, int]:
        """Live objects and cached bytes of idle contexts, storages handed out, and the counting allocator's ledger."""
        return self._bridge.counts()


_callables: WeakSet[Callable] = WeakSet()


def live_objects() -> int:
    """Objects of the runtime that are alive in idle contexts (a leak), and storages that Python holds."""
    return sum(counts["objects"] + counts["exported"] for counts in (c.counts() for c in _callables))
