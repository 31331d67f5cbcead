"""Call compiled entries from Python.

A `Callable` holds variants of one function. Each `VariantSpec` says which entry of which library the variant is, under
which guards and for which arguments it holds, and how results become Python objects. Specs are trees of nodes, whose
kinds spec_kinds.py lists. They are lowered to tuples here and to C structs in src/bridge/spec.c, so that a call runs no
Python at all.
"""

import ctypes
import os
import sys
import threading
from collections import deque
from collections.abc import Callable as Function
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import CellType, FunctionType, MappingProxyType
from typing import Any, NamedTuple, Protocol
from weakref import ReferenceType, WeakSet, WeakValueDictionary, finalize

from scriptc.runtime import tensors
from scriptc.runtime._bridge import ffi, lib
from scriptc.runtime.spec_kinds import Guard, NodeKind


class Node(NamedTuple):
    """One node of a spec. `NodeKind` says which data and which specs below a kind has."""

    kind: str  # the name of a NodeKind, in lower case
    data: Any = None
    below: tuple["Spec | None", ...] = ()  # None: the items of an empty container

    def node(self) -> "Node":
        return self


class Spec(Protocol):
    """The description of an argument or a result: a node, and the specs below it."""

    def node(self) -> tuple[str, Any, tuple["Spec | None", ...]]: ...


# ---- specs: a variant ----


class GuardSpec(NamedTuple):
    """A condition that is checked before a variant is called.

    seldom: nearly no call finds the container, a class or a dict, changed.
    """

    kind: Guard
    container: Any = None
    key: Any = None
    expected: Any = None
    seldom: bool = False


class Live(NamedTuple):
    """A value read at each call: container[key] of a dict or list, or the content of a closure cell."""

    container: dict | list | CellType
    key: Any
    spec: Spec


class Store(NamedTuple):
    """A value outside that the entry may set: the attribute `key` of an owner, or an item.

    owner: the object, or None where the owner is the argument with the number `place`.
    path: keys that lead from the owner to a container whose item `key` is set; None for an attribute.
    direct: the __dict__ that held the attribute at entry, if new values may go straight there.
    """

    owner: Any
    place: int | None
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
    stores: tuple[Store, ...] = ()  # indexed by the target of sc_state_set
    positional: int | None = None  # parameters after so many are keyword-only
    bind: Function[..., tuple] | None = None  # for *args and **kwargs: makes the flat tuple of arguments
    grad_call: Function[[Function, tuple, dict], object] | None = None  # called instead if autograd must see the call
    exceptions: Mapping[str, Any] = MappingProxyType({})  # exception classes that are not builtins
    random: bool = False  # the entry draws random numbers
    asks: bool = False  # the entry asks whether tensors require grad, also in calls outside of grad mode
    keeps_bases: bool = False  # a store may give a tensor other memory, whose results view the memory from before
    cut: bytes | None = None  # a byte a leaf of the result: 1 if it requires no grad, though it may view tensors that do


# ---- lowering ----

_Lowered = tuple[int, object, tuple]
_DTYPE_CODES = {name: code for code, name in enumerate(tensors.DTYPES)}
_NO_ITEMS = frozenset({"dict", "ignored", "arg", "object", "items", "place", "queue"})  # never items of containers
_NOTHING = Node("tensor", ("f32", (sys.maxsize,) * 2, False))  # matches nothing, as no tensor has so many elements


def _lower(spec: Spec, classes: dict[object, int] | None = None) -> _Lowered:
    """Return a spec in the form of src/bridge/spec.c.

    classes: numbers of the classes of the instances around the spec. An instance within one of its class gives the
        number only.
    """
    numbers = {} if classes is None else classes
    name, data, specs = spec.node()
    kind = NodeKind[name.upper()]
    match kind:
        case NodeKind.TENSOR:
            dtype, sizes, contiguous = data
            data = _DTYPE_CODES[dtype], len(sizes), contiguous, sizes
        case NodeKind.LIST:
            if specs[0] is not None and specs[0].node()[0] in _NO_ITEMS:
                raise ValueError(f"elements of a list cannot be {specs[0]}")
        case NodeKind.OBJECT:
            cls, names = data
            data = cls, tuple(map(sys.intern, names))
        case NodeKind.QUEUE:
            data = deque, data
        case NodeKind.INSTANCE:
            cls, names, fields = data
            is_inner = (cls, names) in numbers
            data = numbers.setdefault((cls, names), len(numbers)), cls, tuple(map(sys.intern, names))
            specs = () if is_inner else fields()
    below = tuple(_lower(_NOTHING if part is None else part, numbers) for part in specs)
    if kind in (NodeKind.MAP, NodeKind.SET):
        data = _key_kind(below[0]), data
    return kind, data, below


def _key_kind(key: _Lowered) -> bytes:
    """Return the form of keys in the letters of sc_dict."""
    kind, data, below = key
    match kind:
        case NodeKind.TUPLE | NodeKind.NAMED_TUPLE:
            return b"(" + b"".join(map(_key_kind, below)) + b")"
        case NodeKind.LIST if data is tuple:
            return b"[" + _key_kind(below[0]) + b"]"
    if kind not in _KEYS:
        raise ValueError(f"keys cannot be of the kind {NodeKind(kind).name}")
    return _KEYS[kind]


# The key of an empty dict is lowered as a tensor.
_KEYS: dict[int, bytes] = {
    NodeKind.INT: b"i", NodeKind.FLOAT: b"f", NodeKind.BOOL: b"b", NodeKind.STR: b"s", NodeKind.TENSOR: b"",
}  # fmt: skip


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
    """Return the guards in the form of C, with those over one class or dict side by side."""
    runs: dict[int, list[GuardSpec]] = {}
    for at, guard in enumerate(guards):
        runs.setdefault(id(guard.container) if isinstance(guard.container, (type, dict)) else -at, []).append(guard)
    return tuple(map(_lower_guard, chain.from_iterable(runs.values())))


def _lower_live(live: Live) -> tuple:
    is_attribute = isinstance(live.key, str)  # of any object
    if not is_attribute and not isinstance(live.container, (dict, list, CellType)):
        raise TypeError(f"live value in a {type(live.container).__name__}")
    return live.container, _interned(live.key), _lower(live.spec)


def _lower_store(store: Store) -> tuple:
    place = -1 if store.place is None else store.place
    return place, store.owner, _interned(store.key), store.path, store.direct, tuple(map(_lower, store.forms))


class _Library:
    """A compiled library, which is unloaded when nothing refers to this object.

    Variants refer to it, and no call runs without its variant. Results, messages and exceptions use no memory of a
    library.
    """

    def __init__(self, path: str) -> None:
        error, handle = ffi.new("char[]", 1024), ffi.new("void **")
        program = lib.sc_bridge_open(os.fsencode(path), handle, error, 1024)
        if program == ffi.NULL:
            raise OSError(os.fsdecode(ffi.string(error)))
        self.program = int(ffi.cast("uintptr_t", program))
        # No __del__: weak references still lead to the object while it runs, so another thread could take a closed library.
        finalize(self, lib.sc_bridge_close, handle[0]).atexit = False  # at exit libraries may stay open


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
    stores = tuple(map(_lower_store, spec.stores))
    flags = spec.random, spec.asks, spec.keeps_bases
    return *head, stores, spec.bind, spec.grad_call, dict(spec.exceptions), *flags, spec.cut, library


class PlanSpec(NamedTuple):
    """Tells the bridge how to run calls in which one set of arguments requires grad.

    required: for each argument of the entry whether it requires grad.
    forward: returns a tuple: the result of the call, the outputs that backward takes gradients of, what it keeps, and numbers.
    backward: takes what is kept, the gradients of the outputs, and weights, which are the last late-bound values of `forward`.
    requires: for each output whether it requires grad. reads: for each weight whether backward reads its elements.
    kept_inputs: for each kept value the argument that it is, or None for one that forward returns.
    inputs: the arguments that have gradients. lists: whether these are lists. arrives: whether backward returns a gradient.
    flags: the outputs for which backward takes whether their gradients are given, after the gradients. reaches: for each output
    and each input whether the gradient of the output may reach the input. bits: for each input -1 if it then does, or 64 n +
    the number of its bit in the n-th of the numbers that forward returns last for each output, which is set if it does.
    reads_leaves: forward reads which of its arguments are leaves, for example to refuse a write to one.
    home: the callable in whose contexts backward runs. It must not refer to what calls the plan.
    apply: lets autograd see the outputs. It takes the record of the call, and the tensors that have gradients.
    rebuild: replaces outputs in the result where `apply` has returned other objects.
    """

    required: Sequence[bool]
    forward: VariantSpec
    backward: VariantSpec
    requires: Sequence[bool]
    kept_inputs: Sequence[int | None]
    reads: Sequence[bool]
    inputs: Sequence[int]
    lists: Sequence[bool]
    arrives: Sequence[bool]
    flags: Sequence[int]
    reaches: Sequence[bool]
    bits: Sequence[int]
    reads_leaves: bool
    apply: Function[..., object]
    rebuild: Function[[object, tuple, tuple], object]
    home: "Callable"


def add_plan(run_nograd: Function, grad_call: Function, plan: PlanSpec) -> Function:
    """Let the bridge run the calls of a plan in place of `grad_call`, which was given `run_nograd`. Return what runs a call."""
    lowered = (
        bytes(plan.required), _lower_variant(plan.forward), _lower_variant(plan.backward), bytes(plan.requires),
        tuple(-1 if number is None else number for number in plan.kept_inputs), bytes(plan.reads), tuple(plan.inputs),
        bytes(plan.lists), bytes(plan.arrives), tuple(plan.flags), bytes(plan.reaches), tuple(plan.bits),
        plan.reads_leaves, plan.apply, plan.rebuild, plan.home._bridge,
    )  # fmt: skip
    bridge: Any = run_nograd
    bridge.__self__.add_plan(grad_call, lowered)
    call: Function = bridge.__self__.call
    return call


# ---- calling ----

_team = int(ffi.cast("uintptr_t", lib.sc_bridge_team(tensors.runs_openmp())))  # the process's team
lib.sc_bridge_main_thread(threading.main_thread().ident)
_Bridge: Any = ctypes.cast(int(ffi.cast("uintptr_t", lib.sc_bridge_type())), ctypes.py_object).value


def stack_left() -> int:
    """Return how many bytes of the running thread's stack may be taken."""
    return int(lib.sc_bridge_stack_left())


class Callable:
    """The compiled variants of one function.

    call: the hot entry, a builtin. It runs the first variant that fits, most recently hit first. When none does,
        `on_miss(args, kwargs)` must add one that does, or raise, or return an exception, which is then raised without a
        frame of its own, or return a function, which then runs the call.
    run_nograd: the same without asking for autograd.
    fits: tells whether a variant takes such a call.
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
        """Return the time inside the C of the last call."""
        return self._bridge.last_call_seconds

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes of blocks in use at once in the last call, with weights kept from call to call."""
        return self._bridge.peak_bytes

    @property
    def asked_bytes(self) -> int:
        """Return the peak of the last call in bytes of tensors alone, without the rest of their blocks."""
        return self._bridge.asked_bytes

    def profile_start(self, sites: int, room: int) -> None:
        """Count calls of instrumented code by site from now on, and keep their first `room` events."""
        self._bridge.profile_start(sites, room)

    def profile_stop(self) -> tuple[list[tuple[int, int, float, float]], list[tuple[int, int, int]], int]:
        """Stop counting, and return what was counted.

        Returns (visits, nanoseconds, flops, bytes) by site, (site, begin, end) of events in nanoseconds, and the number
        of events without room.
        """
        return self._bridge.profile_stop()

    def count_allocations(self, fail_at: int = 0) -> None:
        """Count what contexts allocate from now on, and make the fail_at-th allocation fail."""
        self._bridge.count_allocations(fail_at)

    def counts(self) -> dict[str, int]:
        """Return live objects and cached bytes of idle contexts, storages handed out, and counted allocations."""
        return self._bridge.counts()


_callables: WeakSet[Callable] = WeakSet()


def live_objects() -> int:
    """Return the live objects in idle contexts, which are leaks, and the storages that Python holds."""
    return sum(counts["objects"] + counts["exported"] for counts in (c.counts() for c in _callables))
