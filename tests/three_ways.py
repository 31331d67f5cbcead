"""Runs a callable three ways (eager, the IR interpreter on the IR as read, compiled C) and compares what each does.

What a call does: the value it returns, with Python types, dtypes, shapes, strides and which arguments it is or views;
what its arguments hold afterwards; or the type of what it raises.
"""

from __future__ import annotations

import copy
import enum
import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

import scriptc
from scriptc.driver.target import target_of
from scriptc.driver.variant import Variant
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment import specs
from scriptc.frontend.environment.specs import (
    ConstantSpec,
    DictSpec,
    InstanceSpec,
    ListSpec,
    MapSpec,
    OptionalSpec,
    PlaceSpec,
    SetSpec,
    Spec,
    TupleSpec,
    WriteBack,
    placed,
    values_of,
)
from scriptc.frontend.values.element_types import Union
from scriptc.ir.interp import Interpreter
from scriptc.ir.phases import READ
from scriptc.ir.verifier import verify
from scriptc.runtime import bridge


@dataclass(frozen=True)
class Args:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Program:
    """A callable and calls of it. `exact`: floats must agree to the bit."""

    target: Any
    calls: list[Args]

    @property
    def name(self) -> str:
        return getattr(self.target, "__name__", type(self.target).__name__)


def call(*args: Any, **kwargs: Any) -> Args:
    return Args(args, kwargs)


@dataclass
class Outcome:
    """What a call did. `args` are its arguments as it left them."""

    args: tuple[Any, ...]
    result: Any = None
    error: BaseException | None = None


def eager(target: Any, given: Args) -> Outcome:
    return _outcome(target, copy.deepcopy(given))


def compiled(target: Any, given: Args) -> Outcome:
    """`target` is the result of scriptc.compile."""
    return _outcome(target, copy.deepcopy(given))


def interpreted(target: Any, given: Args, made: Any = None) -> Outcome:
    """By the IR that the front end makes for this very call.

    made: the compiled target. Calls that one variant takes are read once, if no pass ran.
    """
    given = copy.deepcopy(given)
    return _outcome(lambda *a, **k: _interpret(target, a, k, made), given)


def _outcome(run: Callable[..., Any], given: Args) -> Outcome:
    inputs = (*given.args, *given.kwargs.values())
    try:
        with torch.no_grad():
            return Outcome(inputs, run(*given.args, **given.kwargs))
    except scriptc.CompileError:
        raise
    except Exception as e:
        return Outcome(inputs, error=e)


def _interpret(obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any = None) -> Any:
    target = target_of(obj)
    arguments = target.bind(args, kwargs)
    entry = _entry_of_variant(made, args, kwargs, lambda: read(target.func, target.receiver, arguments))
    verify(entry.module, READ)
    params = {live.name: live.container[live.key] for live in entry.tensors}
    inputs = [v for a in entry.args for v in values_of(a.spec, arguments[a.name])]
    inputs += [v for value in entry.values for v in values_of(value.spec, value.container[value.key])]
    places = [v for a in entry.args for v in placed(a.spec, arguments[a.name])]
    places += [v for value in entry.values for v in placed(value.spec, value.container[value.key])]
    interpreter = Interpreter(entry.module, params, entry.exceptions)
    queues = [(v, list(v)) for v in inputs if isinstance(v, deque)]
    lists = iter([items for _, items in queues])
    inputs = [next(lists) if isinstance(v, deque) else v for v in inputs]
    try:
        results = interpreter.run(entry.module.entries[0], *inputs)
    finally:
        for queue, items in queues:
            queue.clear()
            queue.extend(items)
        _apply(entry.write_backs, interpreter.state, places)
    seen: set[int] = set()
    leaves = [_chosen(s, v, seen) for s, v in zip(specs.leaves(entry.result), results, strict=True)]
    return _rebuilt(entry.result, iter(leaves), places)


_read: WeakKeyDictionary[Variant, Entry] = WeakKeyDictionary()  # for variants that the disk cache had


def _entry_of_variant(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read_call: Callable[[], Entry]) -> Entry:
    """Return what this process has read for the variant of a compiled callable that takes a call, or else read the call."""
    for variant in made._dispatcher.variants if made is not None else ():
        if variant.options.optimize:  # passes have changed its IR
            continue
        probe = bridge.Callable(lambda *_: None)
        probe.add_variant(made._dispatcher.spec(variant))
        if probe.fits(*args, **kwargs):
            if variant._translated is not None:
                return variant._translated.entry
            if variant not in _read:
                _read[variant] = read_call()
            return _read[variant]
    return read_call()


def _chosen(spec: Spec | None, value: Any, seen: set[int]) -> Any:
    """A value of the interpreter's, in which one of several kinds is a number and a value of each, as Python has it."""
    match spec:
        case TupleSpec(items, Union()):
            return _chosen(items[1 + value[0]], value[1 + value[0]], seen)
        case TupleSpec(items, cls) if value is not None:
            made = [_chosen(i, v, seen) for i, v in zip(items, value, strict=True)]
            return cls(*made) if hasattr(cls, "_fields") else cls(made)
        case OptionalSpec(item):
            return None if value is None else _chosen(item, value, seen)
        case ListSpec(elem, cls) if cls is tuple and value is not None:
            return tuple(_chosen(elem, v, seen) for v in value)
    if value is None or id(value) in seen:
        return value
    seen.add(id(value))
    match spec:
        case ListSpec(elem):
            value[:] = [_chosen(elem, v, seen) for v in value]
        case MapSpec(_, item):
            value.update({k: _chosen(item, v, seen) for k, v in value.items()})
        case InstanceSpec(_, names, fields):
            held = value if isinstance(value, dict) else vars(value)
            held.update({n: _chosen(s, held[n], seen) for n, s in zip(names, fields(), strict=True)})
    return value


def _apply(stores: list[WriteBack], state: list[tuple[int, int, list[Any]]], places: list[Any]) -> None:
    """Sets what a call has set outside of itself, one after the other."""
    owners = [places[s.owner.number] if isinstance(s.owner, PlaceSpec) else s.owner for s in stores]
    containers = [functools.reduce(lambda c, k: c[k], s.path or (), o) for s, o in zip(stores, owners, strict=True)]
    for number, form, leaves in state:
        store, container = stores[number], containers[number]
        value = _rebuilt(store.forms[form], iter(leaves), places) if form >= 0 else None
        match store.path is None, form >= 0:
            case True, True:
                setattr(container, store.key, value)
            case True, False:
                delattr(container, store.key)
            case False, True:
                container[store.key] = value
            case False, False:
                del container[store.key]


def _rebuilt(spec: Spec, leaves: Iterator[Any], places: list[Any]) -> Any:
    match spec:
        case ConstantSpec(obj):
            return obj
        case PlaceSpec(number):
            return places[number]
        case TupleSpec(items, cls):
            made = [_rebuilt(i, leaves, places) for i in items]
            if cls in (complex, torch.Size) and None in made:  # an alternative that was not taken
                return None
            if cls is complex:
                return complex(*made)
            return cls(*made) if hasattr(cls, "_fields") else cls(made)
        case DictSpec(keys, items):
            return {k: _rebuilt(i, leaves, places) for k, i in zip(keys, items, strict=True)}
        case MapSpec(make=make) if make is not None:
            held = next(leaves)
            return held if held is None else make(held)  # None: an alternative that was not taken
        case SetSpec(cls=cls):
            held = next(leaves)
            return held if held is None or type(held) is cls else cls(held)
    return next(leaves)


# ---- comparison ----
def assert_same(expected: Outcome, actual: Outcome) -> None:
    if expected.error is not None:
        assert actual.error is not None, f"returned {actual.result!r}, but eager raises {expected.error!r}"
        assert type(actual.error) is type(expected.error), (
            f"raised {actual.error!r}, but eager raises {expected.error!r}"
        )
    elif actual.error is not None and _too_large(expected.result):
        assert type(actual.error) is OverflowError  # ints are of 64 bits here
    elif actual.error is not None:
        raise AssertionError(f"eager returns {expected.result!r}") from actual.error
    else:
        _same(expected.result, actual.result, "result")
        where = [_places(o.result, list(_objects(o.args, "arg"))) for o in (expected, actual)]
        assert where[0] == where[1], f"the result's identity: {where[1]}, but eager: {where[0]}"
    _same(expected.args, actual.args, "args")


def _too_large(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_too_large, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _significant_strides(t: torch.Tensor) -> list[int]:
    """Those along which there are two elements to tell apart."""
    return [stride for size, stride in zip(t.shape, t.stride(), strict=True) if size > 1]


def _same(a: Any, b: Any, at: str) -> None:
    if at.endswith(".parent"):
        return
    assert type(a) is type(b), f"{at}: {type(b).__name__} {b!r}, but eager: {type(a).__name__} {a!r}"
    if isinstance(a, torch.Tensor):
        found = [(t.dtype, tuple(t.shape), _significant_strides(t), t.requires_grad) for t in (a, b)]
        assert found[0] == found[1], f"{at}: {found[1]}, but eager: {found[0]}"
        torch.testing.assert_close(b, a, equal_nan=True, msg=lambda m: f"{at}: {m}\n{b}\neager: {a}")
    elif isinstance(a, (np.ndarray, np.number)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{at}: {b.dtype}{b.shape}, but eager: {a.dtype}{a.shape}"
        _same(*(torch.tensor(np.array(array)) for array in (a, b)), at)
        if isinstance(a, np.ndarray):
            strides = [[s for n, s in zip(t.shape, t.strides, strict=True) if n > 1] for t in (a, b)]
            assert strides[0] == strides[1] or not a.size, f"{at}: strides {strides[1]}, but eager: {strides[0]}"
    elif isinstance(a, (list, tuple, deque)):
        assert len(a) == len(b), f"{at}: {b!r}, but eager: {a!r}"
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            _same(x, y, f"{at}[{i}]")
        _same_attributes(a, b, at)
    elif isinstance(a, dict):
        base: Any = OrderedDict if isinstance(a, OrderedDict) else dict  # a subclass may have methods of its own
        keys, others = list(base.keys(a)), list(base.keys(b))
        assert keys == others, f"{at}: keys {others}, but eager: {keys}"
        for k in keys:
            _same(base.__getitem__(a, k), base.__getitem__(b, k), f"{at}[{k!r}]")
        _same_attributes(a, b, at)
    elif _is_structure(a):
        assert list(vars(a)) == list(vars(b)), f"{at}: attributes {list(vars(b))}, but eager: {list(vars(a))}"
        for k in vars(a):
            _same(vars(a)[k], vars(b)[k], f"{at}.{k}")
    elif isinstance(a, complex):
        _same((a.real, a.imag), (b.real, b.imag), at)
    elif isinstance(a, float):
        assert str(a) == str(b) or a != 0, f"{at}: {b!r}, but eager: {a!r}"  # the sign of zero counts
        torch.testing.assert_close(
            torch.tensor(b, dtype=torch.float64), torch.tensor(a, dtype=torch.float64), equal_nan=True
        )
    elif hasattr(a, "__dict__") and type(a).__eq__ is object.__eq__ and not isinstance(a, type):
        _same(vars(a), vars(b), at)
    else:
        assert a == b, f"{at}: {b!r}, but eager: {a!r}"


def _same_attributes(a: Any, b: Any, at: str) -> None:
    """Compare the attributes of instances of subclasses of list, tuple and dict."""
    if hasattr(a, "__dict__"):
        _same(_attributes(a), _attributes(b), f"{at}.__dict__")


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a list or dict, but for the class with its type arguments, which typing notes there."""
    return {k: v for k, v in getattr(value, "__dict__", {}).items() if k != "__orig_class__"}


def _is_structure(value: Any) -> bool:
    """Whether it is an instance of a class of the tests, other than an enum or a tuple."""
    return hasattr(value, "__dict__") and not isinstance(
        value, (type, enum.Enum, tuple, dict, torch.Tensor, torch.nn.Module)
    )


def _objects(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Mutable objects: tensors, lists, instances and what they hold."""
    if isinstance(value, (torch.Tensor, np.ndarray, list, dict, set)) or _is_structure(value):
        yield path, value
    if _is_structure(value):
        for k, v in vars(value).items():
            if not _is_structure(v) or k != "parent":  # programs name by this what would lead round
                yield from _objects(v, f"{path}.{k}")
    if isinstance(value, (list, tuple, deque)):
        for i, v in enumerate(value):
            yield from _objects(v, f"{path}[{i}]")
    if isinstance(value, dict):
        for k, v in dict.items(value):
            yield from _objects(v, f"{path}[{k!r}]")
    if isinstance(value, (list, dict)):
        for k, v in _attributes(value).items():
            yield from _objects(v, f"{path}.{k}")


def _places(result: Any, given: list[tuple[str, Any]]) -> list[str]:
    """For each object of a result: which argument it is, or whose storage it views and where; and objects that recur."""
    found, seen = [], {}
    for path, obj in _objects(result, "result"):
        same = [name for name, o in given if o is obj]
        views = [
            f"view of {name} at {obj.storage_offset()}"
            for name, o in given
            if isinstance(o, torch.Tensor)
            and isinstance(obj, torch.Tensor)
            and o.numel()
            and _storage(o) == _storage(obj)
        ]
        if isinstance(obj, np.ndarray):
            views = [f"in the memory of {name}" for name, o in given if isinstance(o, torch.Tensor) and _is_inside(obj, o)]
        again = seen.setdefault(id(obj), path)
        found.append(f"{path}: {(same or views or ['new'])[0]}{'' if again == path else f' again {again}'}")
    return found


def _is_inside(array: np.ndarray[Any, Any], tensor: torch.Tensor) -> bool:
    """Return whether an array lies in the storage of a tensor."""
    offset = array.__array_interface__["data"][0] - _storage(tensor)
    return array.size > 0 and 0 <= offset < tensor.untyped_storage().nbytes()


def _storage(t: torch.Tensor) -> int:
    return t.untyped_storage().data_ptr()


def compile_at(target: FunctionType | torch.nn.Module, optimize: int) -> Any:
    return scriptc.compile(target, optimize=optimize)
