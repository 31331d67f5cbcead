"""Builds that later processes find without reading Python again.

A specialisation was read from source and from objects around it. What it depends on of these is what its guards say, and
what cannot change while a process runs: functions, classes, files, tuples, constants. Both go into the cache beside it. A
later process takes the specialisation if each object is where it was, and what it was (`object_paths.py`); the guards then
hold as they do in the process that compiled it. Where anything has no name, or is another, the function is read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch

from scriptc import backend_c, frontend, ir, runtime
from scriptc.backend_c.cache import cache_key, cached, current
from scriptc.backend_c.toolchain import ToolchainError, cpu_identity, find_compiler, sanitizing
from scriptc.driver.options import Options
from scriptc.driver.target import Target
from scriptc.driver.variant import Variant
from scriptc.frontend.environment.host_objects import is_library
from scriptc.frontend.environment.specs import Contract, Guard, PlaceSpec, Raised
from scriptc.warm_start import object_paths, serialization
from scriptc.warm_start.library_guards import facts_of, guards_of, is_fact
from scriptc.warm_start.object_paths import Nameless, description
from scriptc.warm_start.serialization import UNREADABLE, Record

LAYOUT = 4  # counts changes of what a record holds
SLOTS = 4  # specialisations that are kept for calls that look alike
_FILE = "record"
_TABLES = ("_parameters", "_buffers", "_modules")
_IDENTITIES = (
    "DICT_IS", "CELL_IS", "TYPE_ATTR_IS", "LIST_ITEMS_ARE", "DICT_KEYS_ARE", "OBJECT_IS", "FUNCTION_IS", "MRO_IS",
    "ITERATION_GIVES", "ATTRIBUTE_IS",
)  # fmt: skip


class Refused(Exception):
    """The bridge does not take what a record says."""


class Records:
    """What is remembered of calls like one: of this function, with arguments of these types."""

    def __init__(self, target: Target, arguments: dict[str, Any], options: Options):
        self.target = target
        self.options = options
        self.free: list[int] = []  # slots that hold nothing of use
        self.key: str | None = None
        if options.profile:
            return
        try:
            self.key = _key(target, arguments, options)
        except (Nameless, ToolchainError):
            return

    def recall(self, usable: Callable[[Variant], bool]) -> Variant | None:
        """Return a variant whose world is as it was, and that `usable` takes: whether it fits the call, the bridge says.

        A record that is damaged, or that the bridge refuses, is none; its slot is used again.
        """
        for slot in range(SLOTS) if self.key else ():
            variant = self._recalled(slot)
            try:
                if variant is not None and usable(variant):
                    return variant
            except Refused:
                variant = None
            if variant is None:
                self.free.append(slot)
        return None

    def remember(self, variant: Variant) -> None:
        """Keeps a variant that was compiled now, if all that it depends on has a name."""
        if self.key is None:
            return
        try:
            data = _dumped(self.target, variant)
        except (Nameless, TypeError, AttributeError, ValueError, RecursionError):
            return
        key = self._slot(self.free[0] if self.free else SLOTS - 1)
        cached(key, lambda directory: _write(directory, data), again=True)

    def _slot(self, number: int) -> str:
        return cache_key("record", self.key, number)

    def _recalled(self, slot: int) -> Variant | None:
        found = current().find(self._slot(slot))
        if found is None:
            return None
        try:
            record = serialization.read((found / _FILE).read_bytes(), self.target)
            return _variant(record, self.target, self.options)
        except UNREADABLE:
            return None


def _write(directory: Path, data: bytes) -> None:
    (directory / _FILE).write_bytes(data)


# ---- the key ----


def _key(target: Target, arguments: dict[str, Any], options: Options) -> str:
    """Of everything that is known before anything is read."""
    func = target.func
    return cache_key(
        LAYOUT, _versions(), astuple(options), find_compiler().identity, sanitizing(), str(description(func)),
        object_paths.digest_of_file(func.__code__.co_filename), str(description(type(target.receiver))),
        [(name, _kind(value)) for name, value in arguments.items()],
    )  # fmt: skip


def _kind(value: Any) -> Any:
    """What can be told of an argument at a glance; the bridge compares the rest."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.dim()
    if isinstance(value, (tuple, list)):
        return type(value).__qualname__, [_kind(v) for v in value[:8]]
    return type(value).__qualname__


@cache
def _versions() -> list[object]:
    """Of Python and whether it asserts, torch, the processor, and each file of scriptc, as this process found them."""
    own = os.path.dirname(os.path.dirname(__file__))
    stages = (package.__path__[0] for package in (frontend, ir, backend_c, runtime))
    folders = (own, *(folder for folder in stages if not folder.startswith(own + os.sep)))  # below it, where installed
    stamps = [sorted(_stamps(folder)) for folder in folders]
    return [sys.version, __debug__, torch.__version__, torch.__file__, cpu_identity(), folders, stamps]


def _stamps(folder: str) -> Iterator[str]:
    """Name, size and time of each source file in a folder and below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _stamps(entry.path)
            elif entry.name.endswith((".py", ".c", ".h", ".inc", ".lark")):
                info = entry.stat()
                yield f"{entry.name} {info.st_size} {info.st_mtime_ns}"


# ---- what a record is checked against ----


def _present(guard: Guard) -> Any:
    """What a guard of identity finds now."""
    match guard.kind:
        case "DICT_IS":
            return guard.container[guard.key]
        case "CELL_IS":
            return guard.container.cell_contents
        case "TYPE_ATTR_IS":
            return next(vars(base)[guard.key] for base in guard.container.__mro__ if guard.key in vars(base))
        case "OBJECT_IS":
            own = getattr(guard.container, "__dict__", None)
            return type(guard.container), own if type(own) is dict else None
        case "FUNCTION_IS":
            return guard.container.__code__, guard.container.__defaults__, guard.container.__kwdefaults__
        case "MRO_IS":
            return guard.container.__mro__
        case "ATTRIBUTE_IS":
            return getattr(guard.container, guard.key)
    return tuple(guard.container)


def _described(guard: Guard, present: Any) -> Any:
    """What tells whether a guard of identity finds the same in another process."""
    return description(guard.container if guard.kind == "FUNCTION_IS" else present)


def _names(watched: dict[Any, Any]) -> tuple[str, ...]:
    return tuple(map(repr, watched))


def _watched(variant: Variant) -> Iterator[Any]:
    """The dicts that guards watch, and those of all objects that were met: code may have asked whether they have a name."""
    yield from (g.container for g in variant.contract.guards if isinstance(g.container, dict) and not is_fact(g))
    for obj in variant.translated.entry.met:
        if object_paths.has_state(obj):
            yield vars(obj)
            yield from (vars(obj)[table] for table in _TABLES if isinstance(obj, torch.nn.Module))


def _sharing(contract: Contract, found: list[Any]) -> list[int]:
    """Objects with state by the number of their first appearance: compiled code may rely on two being one, or not."""
    objects = [item for obj in found for item in _listed(obj)]
    objects += [tensor.container[tensor.key] for tensor in contract.live]
    objects += [value.container[value.key] for value in contract.values]
    first: dict[int, int] = {}
    stateful = (o for o in objects if isinstance(o, (torch.Tensor, list, dict, set)) or object_paths.has_state(o))
    return [first.setdefault(id(o), len(first)) for o in stateful]


# ---- writing ----


def _dumped(target: Target, variant: Variant) -> bytes:
    met = variant.translated.entry.met
    paths = object_paths.Paths(target)
    paths.follow((g.container, g.key, g.expected) for g in variant.contract.guards)
    facts = facts_of(filter(is_fact, variant.contract.guards), paths)
    own = [g for g in variant.contract.guards if not is_fact(g)]
    contract = Contract(**variant.contract.parts() | {"guards": own})
    _require_names(contract, met, paths)
    identities = [g for g in own if g.kind in _IDENTITIES]
    guards = [g._replace(expected=_described(g, _present(g))) if g.kind in _IDENTITIES else g for g in own]
    record = Record(
        replace(contract, guards=guards), facts, variant.gradients, variant.random, variant.source_ir,
        (variant.library.parent.name, variant.library.name), object_paths.source_files(met),
        [(watched, _names(watched)) for watched in {id(d): d for d in _watched(variant)}.values()],
        _sharing(contract, [_present(g) for g in identities]),
        list(_functions(target, identities, met)),
    )  # fmt: skip
    return serialization.write(record, paths, {id(obj) for obj in met})


def _functions(target: Target, identities: list[Guard], met: Collection[Any]) -> Iterator[FunctionType]:
    """Yield the user's functions that were read, but for the target and those that guards describe.

    A record has their descriptions: a file may have been edited after this process defined its functions.
    """
    described = {id(g.container if g.kind == "FUNCTION_IS" else _present(g)) for g in identities} | {id(target.func)}
    for obj in met:
        if isinstance(obj, FunctionType) and id(obj) not in described and not is_library(obj.__module__):
            yield obj


def _require_names(contract: Contract, met: Collection[Any], paths: object_paths.Paths) -> None:
    """Nameless unless all that a contract reads or writes outside has a path, and all objects that were met. Tensors in cells
    and lists are read from dicts of their own: there a guard watches over the tensor itself."""
    watched = {id(o) for g in contract.guards if g.kind in _IDENTITIES for o in _listed(g.expected)}
    places = [guard.container for guard in contract.guards]
    places += [tensor.container for tensor in contract.live]
    places += [value.container for value in contract.values]
    places += [s.owner for s in contract.stores if not isinstance(s.owner, (PlaceSpec, Raised))]
    places += [s.direct for s in contract.stores]
    places += filter(object_paths.has_state, met)
    for place in places:
        of_its_own = type(place) is dict and len(place) == 1 and id(*place.values()) in watched
        by_name = place is None or isinstance(place, (type, FunctionType, BuiltinFunctionType))  # see record_format
        if not by_name and not of_its_own and paths.of(place) is None:
            raise Nameless(type(place).__qualname__)


def _listed(expected: Any) -> tuple[Any, ...]:
    return expected if isinstance(expected, tuple) else (expected,)


# ---- reading ----


def _variant(record: Record, target: Target, options: Options) -> Variant:
    """The variant that a record tells of; Nameless where the world is another."""
    for name, digest in record.files.items():
        _require(object_paths.digest_of_file(name) == digest, name)
    for watched, names in record.names:
        _require(_names(watched) == names, "names")
    guards, found = [], []
    for guard in record.contract.guards:
        if guard.kind in _IDENTITIES:
            present = _present(guard)
            _require(_described(guard, present) == guard.expected, guard.kind)
            found.append(present)
            guard = guard._replace(expected=present)
        guards.append(guard)
    _require(_sharing(record.contract, found) == record.sharing, "sharing")
    contract = replace(record.contract, guards=[*guards, *guards_of(record.facts, target)])
    entry, name = record.library
    library = current().find(entry)
    _require(library is not None, "library")
    return Variant(contract, record.gradients, record.random, record.source_ir, library / name, options)  # type: ignore[operator]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Nameless(what)
