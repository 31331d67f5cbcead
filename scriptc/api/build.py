"""`scriptc.build`: write a directory with everything that a model needs outside of Python."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from scriptc.api.signatures import Signatures
from scriptc.backend_c.package import directory
from scriptc.backend_c.package.interface import Package
from scriptc.backend_c.package.reserved import is_taken
from scriptc.driver.options import Options
from scriptc.driver.package_pipeline import EntryTarget, translate_package
from scriptc.driver.source_paths import path_printer, user_rows
from scriptc.driver.streams import StreamRequest
from scriptc.driver.target import target_of
from scriptc.driver.tracebacks import shortened
from scriptc.inspect.weight_rounding import rounded, rounded_weights
from scriptc.ir.errors import CompileError
from scriptc.package import state_leaves
from scriptc.package.entry_interface import entry_name, interface
from scriptc.package.exception_classes import exception_classes
from scriptc.package.qualified_names import qualified_names
from scriptc.package.recorded_calls import record
from scriptc.version import __version__


def build(
    model: Callable[..., Any] | dict[str, tuple[Callable[..., Any], tuple[Any, ...] | Signatures]],
    *example_args: Any,
    out: str | os.PathLike[str],
    name: str | None = None,
    embed_weights: bool = False,
    march: str = "",
    source_paths: str = "absolute",
    bindings: str | None = None,
    stream: str | tuple[str, int] | None = None,
    **options: Any,
) -> Path:
    """Compile a model for calls like the example, and write a package to `out`. Return the directory.

    The package holds C, headers, weights, recorded calls and loaders for C, C++ and Python, and needs neither Python
    nor torch. The example fixes the structure of the arguments, dtypes, ranks, bools and None. Sizes and lengths stay
    free.

    model: a function, method or nn.Module; or a dict of entries by their names, {"step": (function, example arguments)}.
        Entries share weights and state: what one of them writes, the others read.
    example_args: the arguments of one call, or `scriptc.signatures(...)` of several calls.
    out: the directory to write. A directory of an earlier build is replaced; any other that is not empty is refused.
    name: the name of the library and the prefix of its functions; the last part of `out` by default.
    embed_weights: compile the weights into the library, and write no safetensors file.
    march: build for one kind of machine only, such as "native". By default the library holds code for several and
        chooses when it is loaded.
    source_paths: the names of Python files in errors and C: "absolute", "relative" to the directory that holds the
        topmost package, or "strip" for the file's name alone.
    bindings: "pybind11" adds an extension module of Python, NAME_pybind11, which takes numpy arrays, torch tensors and
        whatever else has `__dlpack__`. CMake and pip build it; it needs neither torch nor numpy to be built.
    stream: the name of an argument that is a sequence, or (name, dim). The entry then takes the sequence in chunks, and is
        named "step" if it has no name. The values that its loops along the time carry become the state.
    options: see `CompileOptions`; `freeze` is True by default.

    Raises CompileError if the program cannot be compiled or the C API cannot pass a value, FileExistsError if `out`
    may not be replaced, and ValueError for a name that C or Python uses already.
    """
    if bindings not in (None, "pybind11"):
        raise ValueError(f"bindings={bindings!r}: it is \"pybind11\" or None")
    made, folder, path = Options.of({"freeze": True, **options}), Path(out), path_printer(source_paths)
    label = name if name is not None else re.sub(r"\W", "_", folder.resolve().name, flags=re.ASCII)
    _check_name(label)
    directory.check_replaceable(folder)
    request = None if stream is None else StreamRequest(*((stream, None) if isinstance(stream, str) else stream))
    named = _entries(model, example_args, request)
    if request is not None and not any(entry.target.stream for entry in named):
        raise ValueError(f"stream={request.argument!r}: no entry has such an argument")
    targets = [each.target for each in named]
    if not torch.empty(0).device.type == "cpu":
        raise RuntimeError("scriptc.build needs the CPU as the default device")
    names = qualified_names([each.target for each in targets])
    try:
        translated = translate_package(label, targets, made, names, path)
        state = state_leaves.state(translated)
        rows = zip(named, translated.entries, translated.functions(), state.uses, strict=True)
        described = tuple(interface(e.name, e.group, e.target.target, entry, f, uses) for e, entry, f, uses in rows)
    except CompileError as error:
        raise shortened(error) from error.__cause__
    tensors = [late for entry in translated.entries for late in entry.tensors]
    with rounded(rounded_weights(translated.module, tensors)):  # the tests of the package compare with rounded weights
        pairs = record(translated, targets)
    package = Package(
        name=label,
        entries=described,
        program=translated.program,
        user_rows=user_rows(translated.program.locs),
        weights=(*state_leaves.weights(translated), *state.first),
        state=state.leaves,
        exceptions=exception_classes(translated),
        pairs=pairs,
        versions={"scriptc": __version__, "torch": torch.__version__, "package": "1.0.0"},
        optimize=made.optimize,
        debug=made.debug,
        source_paths=source_paths,
        embed_weights=embed_weights,
        march=march,
        bindings=bindings or "",
    )
    directory.write(package, folder)
    return folder


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII) or is_taken(name):
        raise ValueError(
            f"{name!r} cannot name a library, its C functions, header and Python module: choose another name="
        )


class _NamedEntry(NamedTuple):
    """An entry. group: the name in Python, which the signatures of one function share."""

    name: str
    group: str
    target: EntryTarget


def _entries(model: Any, example_args: tuple[Any, ...], stream: StreamRequest | None) -> list[_NamedEntry]:
    """Return the entries with their bound example arguments, one for each signature.

    stream: of each entry that has the argument.
    """
    if not isinstance(model, dict):
        several = len(example_args) == 1 and isinstance(example_args[0], Signatures)
        made = _Names(stream)
        made.add("step" if stream else target_of(model).func.__name__, model, example_args[0] if several else example_args)
        return made.entries
    if example_args:
        raise TypeError(
            "with a dict of entries, each has its example arguments in the dict: {'step': (function, (x, y))}"
        )
    if not model:
        raise ValueError("the dict of entries is empty: give one entry or more")
    made = _Names(stream)
    for key, (function, args) in model.items():
        made.add(key, function, args)
    return made.entries


class _Names:
    """Collect entries, and give them names."""

    def __init__(self, stream: StreamRequest | None) -> None:
        self.stream = stream
        self.entries: list[_NamedEntry] = []

    def add(self, key: str, function: Any, args: tuple[Any, ...] | Signatures) -> None:
        if not isinstance(args, (tuple, Signatures)):
            raise TypeError(f"the example arguments of {key!r} are a {type(args).__name__}: give a tuple, such as (x,)")
        target, group = target_of(function), entry_name(key)
        if group in (entry.group for entry in self.entries):
            raise ValueError(f"the entry {key!r} would be named {group} in C, as another entry is: choose another key")
        calls = args.named if isinstance(args, Signatures) else (("", args),)
        for i, (wish, call) in enumerate(calls):
            name = entry_name(wish or (key if i == 0 else f"{key}_{i + 1}"))
            if name in (entry.name for entry in self.entries):
                raise ValueError(f"a signature of {key!r} would be named {name} in C, as another entry is: name it otherwise")
            streams = self.stream is not None and self.stream.argument in target.signature.parameters
            bound = EntryTarget(target, target.bind(call, {}), self.stream if streams else None)
            self.entries.append(_NamedEntry(name, group, bound))
