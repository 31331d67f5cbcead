"""Keep variants on disk, so that later processes call them without reading Python again.

A variant depends on the source and on Python objects around it. Its guards name those that may change while a process
runs. The others are functions, classes, files, tuples and constants. A record in the disk cache describes all of them.
A later process takes the variant if each object is at the same path and has the same description (`object_paths.py`):
the guards then hold as in the process that compiled the variant. The function is read again if an object has no path,
or has another description.
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
from scriptc.frontend.environment.specs import Attributes, Contract, Guard, PlaceSpec, Raised
from scriptc.warm_start import object_paths, serialization
from scriptc.warm_start.library_guards import is_library_guard, restore, summarize
from scriptc.warm_start.object_paths import Nameless, description
from scriptc.warm_start.serialization import UNREADABLE, Record

LAYOUT = 5  # the version of the record format
VARIANTS_PER_KEY = 4  # variants that are kept for calls with the same key
_FILE = "record"
_TABLES = ("_parameters", "_buffers", "_modules")
_IDENTITY_GUARDS = (
    "DICT_IS", "CELL_IS", "TYPE_ATTR_IS", "LIST_ITEMS_ARE", "DICT_KEYS_ARE", "OBJECT_IS", "FUNCTION_IS", "MRO_IS",
    "ITERATION_GIVES", "ATTRIBUTE_IS",
)  # fmt: skip


class RecordRefused(Exception):
    """The bridge does not accept a record."""


class RecordUnfit(Exception):
    """A record is of another state of the program, such as that before or after the first training step."""


class VariantCache:
    """The records of one function for calls with arguments of the same types."""

    def __init__(self, target: Target, arguments: dict[str, Any], options: Options):
        self.target = target
        self.options = options
        self.free: list[int] = []  # numbers of records that are absent or unusable
        self.key: str | None = None
        self._made: tuple[Variant, bytes | None] | None = None  # the last record that was made
        if options.profile:
            return
        try:
            self.key = _key(target, arguments, options)
        except (Nameless, ToolchainError):
            return

    def find(self, fits: Callable[[Variant], bool]) -> Variant | None:
        """Return a variant whose dependencies are unchanged and that `fits` accepts.

        A record that is damaged, or that the bridge refuses, is ignored and later overwritten.
        """
        for number in range(VARIANTS_PER_KEY) if self.key else ():
            try:
                variant = self._read(number)
                if variant is not None and fits(variant):
                    return variant
            except RecordRefused:
                variant = None
            except RecordUnfit:
                continue
            if variant is None:
                self.free.append(number)
        return None

    def make(self, variant: Variant) -> bytes | None:
        """Return the record of a variant; None unless all its dependencies have a path or a description."""
        if self.key is None:
            return None
        if self._made is None or self._made[0] is not variant:
            try:
                self._made = variant, _serialized(self.target, variant)
            except (Nameless, TypeError, AttributeError, ValueError, RecursionError):
                self._made = variant, None
        return self._made[1]

    def write(self, variant: Variant) -> None:
        """Write the record of a variant, if it can be made."""
        data = self.make(variant)
        if data is None:
            return
        key = self._entry_key(self.free[0] if self.free else VARIANTS_PER_KEY - 1)
        cached(key, lambda directory: _write(directory, data), again=True)

    def _entry_key(self, number: int) -> str:
        return cache_key("record", self.key, number)

    def _read(self, number: int) -> Variant | None:
        found = current().find(self._entry_key(number))
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
    """Return the cache key of a call.

    It is a hash of all that is cheap to compute before a record is read.
    """
    func = target.func
    return cache_key(
        LAYOUT, _versions(), astuple(options), find_compiler().identity, sanitizing(), str(description(func)),
        object_paths.digest_of_file(func.__code__.co_filename), str(description(type(target.receiver))),
        target.runs_hooks,
        [(name, _category(value)) for name, value in arguments.items()],
    )  # fmt: skip


def _category(value: Any) -> Any:
    """Return the properties of an argument that the key holds; the bridge compares the others."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.dim()
    if isinstance(value, (tuple, list)):
        return type(value).__qualname__, [_category(v) for v in value[:8]]
    return type(value).__qualname__


@cache
def _versions() -> str:
    """Return a hash of the identity of Python, torch, the processor and the files of scriptc.

    The files are identified as they were when this process first used the cache.
    """
    own = os.path.dirname(os.path.dirname(__file__))
    stages = (package.__path__[0] for package in (frontend, ir, backend_c, runtime))
    # In an installation, the folders of the stages are in `own`.
    folders = (own, *(folder for folder in stages if not folder.startswith(own + os.sep)))
    stamps = [sorted(_stamps(folder)) for folder in folders]
    return cache_key(sys.version, __debug__, torch.__version__, torch.__file__, cpu_identity(), folders, stamps)


def _stamps(folder: str) -> Iterator[str]:
    """Yield name, size and time of each source file in a folder and below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _stamps(entry.path)
            elif entry.name.endswith((".py", ".c", ".h", ".inc", ".lark")):
                info = entry.stat()
                yield f"{entry.name} {info.st_size} {info.st_mtime_ns}"


# ---- checking the dependencies of a record ----


def _current(guard: Guard) -> Any:
    """Return the value that a guard of identity compares now."""
    match guard.kind:
        case "DICT_IS":
            return object_paths.item(guard.container, guard.key)
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


def _description(guard: Guard, current: Any) -> Any:
    """Return a description of the value that a guard of identity compares.

    In another process, it is equal if the guard holds.
    """
    return description(guard.container if guard.kind == "FUNCTION_IS" else current)


def _keys(watched: dict[Any, Any]) -> tuple[str, ...]:
    return tuple(type(key).__qualname__ if isinstance(key, torch.Tensor) else repr(key) for key in watched)


def _watched_dicts(variant: Variant) -> Iterator[Any]:
    """Yield the dicts of guards and of all dependencies.

    Compiled code may depend on the keys that they have.
    """
    own = (guard for guard in variant.contract.guards if not is_library_guard(guard))
    yield from (guard.container for guard in own if isinstance(guard.container, dict))
    for obj in variant.translated.entry.dependencies:
        if object_paths.has_state(obj):
            yield vars(obj)
            yield from (vars(obj)[table] for table in _TABLES if isinstance(obj, torch.nn.Module))


def _sharing(contract: Contract, found: list[Any]) -> list[int]:
    """Number objects with state by their first occurrence.

    Compiled code may rely on two of them being the same object.
    """
    objects = [item for obj in found for item in _listed(obj)]
    objects += [object_paths.item(tensor.container, tensor.key) for tensor in contract.tensors]
    objects += [object_paths.item(value.container, value.key) for value in contract.values]
    objects += [value.container.owner for value in contract.values if isinstance(value.container, Attributes)]
    objects += [store.owner for store in contract.write_backs]
    first: dict[int, int] = {}
    stateful = (o for o in objects if isinstance(o, (torch.Tensor, list, dict, set)) or object_paths.has_state(o))
    return [first.setdefault(id(o), len(first)) for o in stateful]


# ---- writing ----


def _serialized(target: Target, variant: Variant) -> bytes:
    """Return the record of a variant.

    Raises Nameless where an object has neither a path nor a description.
    """
    dependencies = variant.translated.entry.dependencies
    paths = object_paths.Paths(target)
    paths.follow((g.container, g.key, g.expected) for g in variant.contract.guards)
    paths.walk_functions(dependencies)
    library_guards = summarize(filter(is_library_guard, variant.contract.guards), paths)
    own = [g for g in variant.contract.guards if not is_library_guard(g)]
    contract = Contract(**variant.contract.parts() | {"guards": own})
    _require_names(contract, dependencies, paths)
    identities = [g for g in own if g.kind in _IDENTITY_GUARDS]
    guards = [g._replace(expected=_description(g, _current(g))) if g.kind in _IDENTITY_GUARDS else g for g in own]
    record = Record(
        replace(contract, guards=guards), library_guards, variant.gradients, variant.random, variant.source_ir,
        (variant.library.parent.name, variant.library.name), object_paths.source_files(dependencies),
        [(watched, _keys(watched)) for watched in {id(d): d for d in _watched_dicts(variant)}.values()],
        _sharing(contract, [_current(g) for g in identities]),
        list(_functions(target, identities, dependencies)),
    )  # fmt: skip
    return serialization.write(record, paths, {id(obj) for obj in dependencies})


def _functions(target: Target, identities: list[Guard], dependencies: Collection[Any]) -> Iterator[FunctionType]:
    """Yield the user's functions that were read, without those that guards describe.

    The record has their descriptions, because a file may have been edited after this process defined its functions.
    """
    described = {id(g.container if g.kind == "FUNCTION_IS" else _current(g)) for g in identities} | {id(target.func)}
    for obj in dependencies:
        if isinstance(obj, FunctionType) and id(obj) not in described and not is_library(obj.__module__):
            yield obj


def _require_names(contract: Contract, dependencies: Collection[Any], paths: object_paths.Paths) -> None:
    """Raise Nameless unless all objects with state that a variant depends on have a path.

    These are the objects that its contract reads or writes, and its dependencies.

    A tensor in a cell or list is read from a dict that holds it alone. There a guard compares the tensor itself.
    """
    watched = {id(o) for g in contract.guards if g.kind in _IDENTITY_GUARDS for o in _listed(g.expected)}
    objects = [guard.container for guard in contract.guards]
    objects += [tensor.container for tensor in contract.tensors]
    objects += [value.container for value in contract.values]
    objects += [s.owner for s in contract.write_backs if not isinstance(s.owner, (PlaceSpec, Raised))]
    objects += [s.direct for s in contract.write_backs]
    objects += filter(object_paths.has_state, dependencies)
    for obj in objects:
        holds_a_tensor = type(obj) is dict and len(obj) == 1 and id(*obj.values()) in watched
        by_name = obj is None or isinstance(obj, (type, FunctionType, BuiltinFunctionType))  # see serialization.py
        if not by_name and not holds_a_tensor and paths.of(obj) is None:
            raise Nameless(type(obj).__qualname__)


def _listed(expected: Any) -> tuple[Any, ...]:
    return expected if isinstance(expected, tuple) else (expected,)


# ---- reading ----


def _variant(record: Record, target: Target, options: Options) -> Variant:
    """Return the variant of a record.

    Raises Nameless where a file or the library differs from the record, and RecordUnfit where the state of the program does.
    """
    for name, digest in record.files.items():
        _require(object_paths.digest_of_file(name) == digest, name)
    for watched, keys in record.keys:
        _require_state(_keys(watched) == keys)
    guards, found = [], []
    for guard in record.contract.guards:
        if guard.kind in _IDENTITY_GUARDS:
            current_value = _current(guard)
            _require_state(_description(guard, current_value) == guard.expected)
            found.append(current_value)
            guard = guard._replace(expected=current_value)
        guards.append(guard)
    _require_state(_sharing(record.contract, found) == record.sharing)
    contract = replace(record.contract, guards=[*guards, *restore(record.library_guards, target)])
    entry, name = record.library
    library = current().find(entry)
    _require(library is not None, "library")
    return Variant(contract, record.gradients, record.random, record.source_ir, library / name, options)  # type: ignore[operator]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Nameless(what)


def _require_state(holds: bool) -> None:
    if not holds:
        raise RecordUnfit
