"""Builds that later processes find without reading Python again.

A specialisation was read from source and from objects around it. What it depends on of these is what its guards say, and
what cannot change while a process runs: functions, classes, files, tuples, constants. Both go into the cache beside it. A
later process takes the specialisation if each object is where it was, and what it was (`scriptc.world`); the guards then
hold as they do in the process that compiled it. Where anything has no name, or is another, the function is read.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
from collections.abc import Collection, Iterator
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch

from scriptc import backend_c, frontend, ir, runtime, world
from scriptc.backend_c.cache import cache_key, cached, current
from scriptc.backend_c.toolchain import ToolchainError, cpu_identity, find_compiler, sanitizing
from scriptc.frontend.outside import is_library
from scriptc.frontend.specs import Contract, Guard, PlaceSpec, Raised
from scriptc.options import Options
from scriptc.target import Target
from scriptc.variant import Dependencies, Variant
from scriptc.world import Nameless, description

LAYOUT = 1  # counts changes of what a record holds
SLOTS = 4  # specialisations that are kept for calls that look alike
_FILE = "record"
_TABLES = ("_parameters", "_buffers", "_modules")
_BY_VALUE = (list, dict, set, frozenset, bytes, complex, torch.dtype, torch.Size, torch.device)
_IDENTITIES = ("DICT_IS", "CELL_IS", "TYPE_ATTR_IS", "LIST_ITEMS_ARE", "DICT_KEYS_ARE")
_NOWHERE = (Nameless, LookupError, AttributeError, TypeError, ValueError, OSError)  # raised by paths that lead nowhere


@dataclass(frozen=True)
class Record:
    """What is kept of a variant. Guards of identity hold a description in the place of what they expect."""

    contract: Contract
    gradients: Dependencies
    random: bool
    source_ir: str
    library: tuple[str, str]  # its entry in the cache, and its name there
    files: dict[str, str]  # the user's files, with their hashes
    names: list[tuple[dict[Any, Any], tuple[str, ...]]]  # dicts, and the keys they have
    sharing: list[int]  # which of the objects that are told apart by identity are the same


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

    def recall(self) -> Iterator[Variant]:
        """Variants whose world is as it was. Whether they fit the call is the bridge's to say."""
        for slot in range(SLOTS) if self.key else ():
            variant = self._recalled(slot)
            if variant is None:
                self.free.append(slot)
            else:
                yield variant

    def remember(self, variant: Variant) -> None:
        """Keeps a variant that was compiled now, if all that it depends on has a name."""
        if self.key is None:
            return
        try:
            data = _dumped(self.target, variant)
        except (Nameless, pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return
        slot = self.free[0] if self.free else SLOTS - 1
        cached(self._slot(slot), lambda directory: _write(directory, data), again=True)

    def _slot(self, number: int) -> str:
        return cache_key("record", self.key, number)

    def _recalled(self, slot: int) -> Variant | None:
        found = current().find(self._slot(slot))
        if found is None:
            return None
        try:
            digest, data = _split((found / _FILE).read_bytes())
            _require(digest == hashlib.sha256(data).digest(), "whole")
            return _variant(_Unpickler(io.BytesIO(data), self.target).load(), self.options)
        except _NOWHERE:
            return None


def _write(directory: Path, data: bytes) -> None:
    (directory / _FILE).write_bytes(hashlib.sha256(data).digest() + data)


def _split(content: bytes) -> tuple[bytes, bytes]:
    size = hashlib.sha256().digest_size
    return content[:size], content[size:]


# ---- the key ----


def _key(target: Target, arguments: dict[str, Any], options: Options) -> str:
    """Of everything that is known before anything is read."""
    func = target.func
    return cache_key(
        LAYOUT, _versions(), astuple(options), find_compiler().identity, sanitizing(), str(description(func)),
        world.digest_of_file(func.__code__.co_filename), str(description(type(target.receiver))),
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
    """Of Python, torch, the processor, and each file of scriptc, as this process found them."""
    own = os.path.dirname(__file__)
    stages = (package.__path__[0] for package in (frontend, ir, backend_c, runtime))
    folders = (own, *(folder for folder in stages if not folder.startswith(own + os.sep)))  # below it, where installed
    stamps = [sorted(_stamps(folder)) for folder in folders]
    return [sys.version, torch.__version__, torch.__file__, cpu_identity(), folders, stamps]


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
    return tuple(guard.container)


def _names(watched: dict[Any, Any]) -> tuple[str, ...]:
    return tuple(map(repr, watched))


def _watched(variant: Variant) -> Iterator[Any]:
    """The dicts that guards watch, and those of all objects that were met: code may have asked whether they have a name."""
    yield from (g.container for g in variant.contract.guards if isinstance(g.container, dict))
    for obj in variant.translated.entry.met:
        if world.has_state(obj):
            yield vars(obj)
            yield from (vars(obj)[table] for table in _TABLES if isinstance(obj, torch.nn.Module))


def _sharing(contract: Contract, found: list[Any]) -> list[int]:
    """Objects with state by the number of their first appearance: compiled code may rely on two being one, or not."""
    objects = [item for obj in found for item in _listed(obj)]
    objects += [tensor.container[tensor.key] for tensor in contract.live]
    objects += [value.container[value.key] for value in contract.values]
    first: dict[int, int] = {}
    stateful = (o for o in objects if isinstance(o, (torch.Tensor, list, dict, set)) or world.has_state(o))
    return [first.setdefault(id(o), len(first)) for o in stateful]


# ---- writing ----


def _dumped(target: Target, variant: Variant) -> bytes:
    contract, met = variant.contract, variant.translated.entry.met
    paths = world.Paths(target)
    paths.follow((g.container, g.key, g.expected) for g in contract.guards)
    _require_names(contract, met, paths)
    identities = [g for g in contract.guards if g.kind in _IDENTITIES]
    guards = [
        g._replace(expected=description(_present(g))) if g.kind in _IDENTITIES else g for g in contract.guards
    ]
    record = Record(
        Contract(**contract.parts() | {"guards": guards}), variant.gradients, variant.random, variant.source_ir,
        (variant.library.parent.name, variant.library.name), world.source_files(met),
        [(watched, _names(watched)) for watched in {id(d): d for d in _watched(variant)}.values()],
        _sharing(contract, [_present(g) for g in identities]),
    )  # fmt: skip
    out = io.BytesIO()
    _Pickler(out, paths, {id(obj) for obj in met}).dump(record)
    return out.getvalue()


def _require_names(contract: Contract, met: Collection[Any], paths: world.Paths) -> None:
    """Nameless unless all that a contract reads or writes outside has a path, and all objects that were met. Tensors in cells
    and lists are read from dicts of their own: there a guard watches over the tensor itself."""
    watched = {id(o) for g in contract.guards if g.kind in _IDENTITIES for o in _listed(g.expected)}
    places = [guard.container for guard in contract.guards]
    places += [tensor.container for tensor in contract.live]
    places += [value.container for value in contract.values]
    places += [s.owner for s in contract.stores if not isinstance(s.owner, (PlaceSpec, Raised))]
    places += [s.direct for s in contract.stores]
    places += filter(world.has_state, met)
    for place in places:
        of_its_own = type(place) is dict and len(place) == 1 and id(*place.values()) in watched
        by_name = place is None or isinstance(place, type)  # classes: see _Pickler
        if not by_name and not of_its_own and paths.of(place) is None:
            raise Nameless(type(place).__qualname__)


def _listed(expected: Any) -> tuple[Any, ...]:
    return expected if isinstance(expected, tuple) else (expected,)


class _Pickler(pickle.Pickler):
    """Writes what has a path as that path, functions and classes by their names, and of the rest only what is ours."""

    def __init__(self, out: io.BytesIO, paths: world.Paths, met: set[int]):
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self.paths = paths
        self.met = met

    def persistent_id(self, obj: Any) -> tuple[world.Steps, Any] | None:
        if isinstance(obj, (str, int, float, tuple)) or obj is None:
            return None
        code = isinstance(obj, (type, FunctionType))
        if code and is_library(obj.__module__):
            return None
        path = self.paths.of(obj)
        if code:
            return path or world.named(obj), description(obj)
        if path is not None:
            return path, None
        ours = type(obj).__module__.startswith("scriptc.") or isinstance(obj, _BY_VALUE) and id(obj) not in self.met
        if ours or isinstance(obj, BuiltinFunctionType):
            return None
        raise Nameless(type(obj).__qualname__)


# ---- reading ----


class _Unpickler(pickle.Unpickler):
    """Classes that it finds by name are ours, torch's and Python's; those of the user have paths."""

    def __init__(self, data: io.BytesIO, target: Target):
        super().__init__(data)
        self.target = target

    def persistent_load(self, name: tuple[world.Steps, Any]) -> Any:
        path, expected = name
        found = world.resolve(path, self.target)
        _require(expected is None or description(found) == expected, "code")
        return found


def _variant(record: Record, options: Options) -> Variant:
    """The variant that a record tells of; Nameless where the world is another."""
    for name, digest in record.files.items():
        _require(world.digest_of_file(name) == digest, name)
    for watched, names in record.names:
        _require(_names(watched) == names, "names")
    guards, found = [], []
    for guard in record.contract.guards:
        if guard.kind in _IDENTITIES:
            present = _present(guard)
            _require(description(present) == guard.expected, guard.kind)
            found.append(present)
            guard = guard._replace(expected=present)
        guards.append(guard)
    contract = replace(record.contract, guards=guards)
    _require(_sharing(contract, found) == record.sharing, "sharing")
    entry, name = record.library
    library = current().find(entry)
    _require(library is not None, "library")
    return Variant(contract, record.gradients, record.random, record.source_ir, library / name, options)  # type: ignore[operator]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Nameless(what)
