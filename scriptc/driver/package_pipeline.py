"""From Python to C for the entries of a package, which become one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CellType
from typing import Any

import torch

from scriptc.backend_c.emit import CProgram, emit_program
from scriptc.driver.garbage_collector import collector_paused
from scriptc.driver.options import Options
from scriptc.driver.pipeline import differentiate_inside, run_passes
from scriptc.driver.stored_signs import StoredSigns
from scriptc.driver.streams import Streamed, StreamRequest, streamed
from scriptc.driver.target import Target
from scriptc.frontend.entry import Entry, read
from scriptc.frontend.environment.shared_state import SharedState
from scriptc.frontend.environment.specs import Kept, LateBoundTensor
from scriptc.ir.core import Func, Module
from scriptc.ir.errors import CompileError, Diagnostic, InternalError, bugs_at
from scriptc.ir.linking import LinkError, Part, link
from scriptc.ir.loc import Loc
from scriptc.ir.phases import READ
from scriptc.ir.types import Names
from scriptc.ir.verifier import verify
from scriptc.runtime.bridge import stack_left


@dataclass(frozen=True)
class EntryTarget:
    """An entry of a package: its function, the arguments of an example call, and the argument that comes in chunks."""

    target: Target
    arguments: Mapping[str, Any]
    stream: StreamRequest | None = None


@dataclass(frozen=True)
class TranslatedPackage:
    """The entries of a package as one IR and C.

    entries: as the front end read them, with the program's names of tensors.
    module: the IR after the passes. The function of an entry takes its arguments, then the leaves of the slots that it uses.
    slots: the state that some entry uses. The target of a slot that no entry sets is None.
    uses: for each entry the numbers of the slots that it uses, in order.
    streams: for each entry how it takes chunks, None if it does not.
    computed: the weights that the build has computed from others, by name.
    """

    entries: tuple[Entry, ...]
    module: Module
    program: CProgram
    slots: tuple[Kept, ...]
    uses: tuple[tuple[int, ...], ...]
    streams: tuple[Streamed | None, ...]
    computed: Mapping[str, torch.Tensor]

    def functions(self) -> list[Func]:
        """Return the IR functions of the entries."""
        return [self.module.funcs[name] for name in self.module.entries]


@collector_paused()
def translate_package(
    name: str, targets: Sequence[EntryTarget], options: Options, names: dict[int, str], path: Callable[[str], str] = str
) -> TranslatedPackage:
    """Translate the entries of a package.

    name: of a package with several entries. names: see `SharedState`. path: see `backend_c.locations.LocTable`.
    """
    entries = _read_all(targets, options, SharedState(names))
    entries, streams = streamed(entries, [target.stream for target in targets])
    for entry in entries:
        with bugs_at(_loc_of(entry.module)):
            verify(entry.module, READ)
            differentiate_inside(entry.module, options)
    entries, module = _linked(name, entries)
    with bugs_at(_loc_of(module)):
        late = {each.name: each for entry in entries for each in entry.tensors}
        signs = StoredSigns(lambda name: tensor_of(late[name]))
        run_passes(module, options, after=signs.after_pass if options.freeze else None)
        signs.drop_unread(module)
        slots, uses = _used_slots(entries, [module.funcs[name] for name in module.entries])
        program = emit_program(
            module, debug=options.debug, profile=options.profile, flush_denormals=options.flush_denormals, path=path
        )
    return TranslatedPackage(tuple(entries), module, program, slots, uses, tuple(streams), signs.made)


def _loc_of(module: Module) -> Loc | None:
    """Return the place of a module's first function."""
    return next(iter(module.funcs.values())).loc


def _read_all(targets: Sequence[EntryTarget], options: Options, shared: SharedState) -> list[Entry]:
    """Read the entries, each again until no other adds a fact about the shared state."""
    entries: dict[int, Entry] = {}
    versions: dict[int, Any] = {}
    while any(versions.get(i) != shared.version() for i in range(len(targets))):
        for i, (target, arguments) in enumerate((t.target, t.arguments) for t in targets):
            if versions.get(i) != shared.version():
                entries[i] = read(
                    target.func, target.receiver, arguments, dynamic=options.dynamic, ahead=shared, left=stack_left,
                    runs_hooks=target.runs_hooks,
                )  # fmt: skip
                versions[i] = shared.version()
    return [entries[i] for i in range(len(targets))]


def tensor_of(late: LateBoundTensor) -> torch.Tensor:
    """Return the present value of a late-bound tensor."""
    container: Any = late.container
    found: torch.Tensor = container.cell_contents if isinstance(container, CellType) else container[late.key]
    return found


def _linked(name: str, entries: Sequence[Entry]) -> tuple[list[Entry], Module]:
    """Return the entries with the program's names of tensors, and the program. One tensor gets one name."""
    names, name_of = Names(), dict[int, str]()
    parts, renamed = [], []
    for entry in entries:
        params: dict[str, str] = {}
        for late in entry.tensors:
            tensor = tensor_of(late)
            if id(tensor) not in name_of:
                name_of[id(tensor)] = names.fresh(late.name)
            params[late.name] = name_of[id(tensor)]
        targets = {slot.target: i for i, slot in enumerate(entry.kept) if slot.target is not None}
        for op in entry.module.walk():
            if op.name == "state.set" and op.attrs["target"] not in targets:
                problem = "the code changes a dict or an object of the caller, which the C API cannot give back"
                raise CompileError(Diagnostic(op.loc, problem, "return the new values, and let the caller set them"))
        parts.append(Part(entry.module, params, targets))
        tensors = [late._replace(name=params[late.name]) for late in entry.tensors]
        renamed.append(replace(entry, tensors=tensors))
    if len(entries) == 1:
        name = entries[0].module.name
    funcs = [entry.module.funcs[entry.module.entries[0]] for entry in entries]
    try:
        return renamed, link(name, parts)
    except LinkError as e:
        raise CompileError([Diagnostic(func.loc, str(e), "rename one of them") for func in funcs]) from e


def _used_slots(
    entries: Sequence[Entry], functions: Sequence[Func]
) -> tuple[tuple[Kept, ...], tuple[tuple[int, ...], ...]]:
    """Drop the slots that an entry neither reads nor sets from its parameters. Return all others, and the uses."""
    first = entries[0].kept
    used: list[list[int]] = []
    for entry, func in zip(entries, functions, strict=True):
        if [(s.name, s.types) for s in entry.kept] != [(s.name, s.types) for s in first]:
            raise InternalError("the entries have different layouts of their state", func.loc)
        args, used_here = func.body.args, list[int]()
        given = args[: len(args) - sum(len(slot.types) for slot in first)]
        leaves = iter(args[len(given) :])
        for i, slot in enumerate(entry.kept):
            own = [next(leaves) for _ in slot.types]
            if slot.target is not None or any(leaf.uses for leaf in own):
                used_here.append(i)
                given += own
        func.body.args = given
        used.append(used_here)
    some = sorted(set().union(*used))
    is_set = [any(entry.kept[i].target is not None for entry in entries) for i in range(len(first))]
    slots = tuple(first[i]._replace(target=i if is_set[i] else None) for i in some)
    return slots, tuple(tuple(some.index(i) for i in used_here) for used_here in used)
