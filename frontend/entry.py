"""Reading an entry: a Python callable and the values of one call become an IR module."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend import library
from scriptc.frontend.environment import dependencies
from scriptc.frontend.environment.aot_state import find_written, kept_places
from scriptc.frontend.environment.arguments import argument, fill_spec, same_containers
from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.environment.signature import Signature
from scriptc.frontend.environment.specs import (
    ArgSpec,
    ConstantSpec,
    Contract,
    Kept,
    Spec,
)
from scriptc.frontend.environment.state import check_returned
from scriptc.frontend.environment.state_at_entry import open_slots
from scriptc.frontend.environment.watching import watch_defaults
from scriptc.frontend.library.registry import is_decomposition
from scriptc.frontend.operations.complexes import refuse_writes_to_conjugates
from scriptc.frontend.reader.assumptions import Assumptions
from scriptc.frontend.reader.binding import bind_arguments
from scriptc.frontend.reader.calls import guard_hooks
from scriptc.frontend.reader.errors import Conflict, ItemConflict, Restart, Terminated, UserError
from scriptc.frontend.reader.jumps import leave_with
from scriptc.frontend.reader.paths import identities, settle
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.reader import EntryReader
from scriptc.frontend.reader.recursion import kinds_of_arguments
from scriptc.frontend.reader.statements import enter
from scriptc.frontend.rejections import rejection
from scriptc.frontend.source.caller_signature import signature_of
from scriptc.frontend.source.functions import SourceError, source_of, statements_of
from scriptc.frontend.source.stack_room import StackLeft, recursion_limit
from scriptc.frontend.values.abstract import AbstractValue, DictValue, Known
from scriptc.frontend.values.frame import Frame, ReturnSite
from scriptc.frontend.values.joins import unify
from scriptc.frontend.values.verbs import describe, materialize, result_of
from scriptc.ir.builder import Builder
from scriptc.ir.core import Func, Module, Value
from scriptc.ir.errors import CompileError, Diagnostic, InternalError
from scriptc.ir.loc import Loc
from scriptc.ir.types import Type, join

_logger = logging.getLogger("scriptc")
_MAX_READINGS = 1000


@dataclass(frozen=True)
class Entry(Contract):
    """An entry that was read: the module holds it as its one entry. `result` is the tree of what it returns."""

    module: Module
    kept: list[Kept]  # ahead of time, in the place of `values` and `stores`
    met: Collection[Any]  # objects outside that had a part in it


def read(
    func: FunctionType, receiver: Any, arguments: Mapping[str, Any], *, dynamic: bool = True,
    changing: Collection[Any] = (), varied: Collection[int] = (), ahead: bool = False, left: StackLeft | None = None,
) -> Entry:  # fmt: skip
    """Reads a function called with `arguments` (bound to its parameters, `receiver` apart).

    receiver: the object that the first parameter is, or None for a plain function. changing: numbers outside, as (id of
    their dict, key), that are not to be baked in because they change between calls. varied: places of string arguments that
    are not to be baked in while that can be helped. ahead: for a build ahead of time, where one specialisation serves all
    kinds that a state may have. left: tells how much of the running thread's stack may be taken.

    Raises CompileError with every error found, TypeError for an argument that cannot be
    passed, InternalError for a bug in scriptc.
    """
    library.load()
    with recursion_limit(left, Loc(func.__code__.co_filename, func.__code__.co_firstlineno)), dependencies.noted():
        assume = Assumptions(changing=set(changing), varied=set(varied))
        return _read(func, receiver, arguments, assume, dynamic=dynamic, ahead=ahead, left=left)


def _read(
    func: FunctionType,
    receiver: Any,
    arguments: Mapping[str, Any],
    assume: Assumptions,
    *,
    dynamic: bool,
    ahead: bool,
    left: StackLeft | None,
) -> Entry:
    default = dtype_name(torch.get_default_dtype())
    assert default is not None
    seen = {hash(assume.fingerprint())}
    while True:
        again = f" again: {assume.reasons[-1].text}" if assume.reasons else ""
        _logger.debug("reading %s%s", func.__qualname__, again)
        signature = Signature(frozenset(assume.known_args), dynamic, assume.parted, assume.tabled)
        specs = signature.of(arguments)
        module = Module(func.__qualname__.replace(".<locals>", ""))
        reader = EntryReader(module, assume, default, ahead=ahead)
        reader.position.stack_left = left
        reader.environment.same_as = same_containers(specs, arguments)
        root = receiver if isinstance(receiver, torch.nn.Module) else None
        if root is not None:
            reader.environment.module_paths = {id(m): path for path, m in root.named_modules()}
        try:
            return _read_once(reader, func, receiver, specs, signature)
        except Restart:
            pass
        except (CompileError, TypeError, RecursionError):
            raise
        except Exception as e:
            if not reader.speculation.stale:  # else what the next reading knows better may have led here
                loc = reader.position.loc if reader.position.frames else None
                raise InternalError(f"{type(e).__name__}: {e}", loc) from e
        assumed = hash(assume.fingerprint())
        if assumed in seen or len(seen) == _MAX_READINGS:
            raise _unsettled(func, assume, len(seen))
        seen.add(assumed)


def _unsettled(func: FunctionType, assume: Assumptions, count: int) -> CompileError:
    """Return the error of a function whose assumptions came back to what they were, or grew too often."""
    last = list(dict.fromkeys(reversed(assume.reasons)))[:3]
    loc = _outside_of_library(last[0].loc or Loc(func.__code__.co_filename, func.__code__.co_firstlineno))
    why = "; ".join(f"{text} (line {_outside_of_library(at).line})" if at else text for text, at in last)
    return CompileError(
        Diagnostic(loc, *rejection("reading_does_not_end", name=func.__qualname__, count=count, why=why))
    )


def _outside_of_library(loc: Loc) -> Loc:
    """Return the user's line at which a decomposition of ours was called; its callers lack our lines too."""
    if not any(is_decomposition(site.file) for site in loc.chain()):
        return loc
    inner: Loc | None = None
    for site in reversed([site for site in loc.chain() if not is_decomposition(site.file)]):
        inner = replace(site, inlined_at=inner)
    return inner or loc


def _symbol(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _read_once(reader: Reader, func: FunctionType, receiver: Any, specs: list[ArgSpec], signature: Signature) -> Entry:
    try:
        source = source_of(func)
    except SourceError as e:
        code = func.__code__
        raise CompileError(Diagnostic(Loc(code.co_filename, code.co_firstlineno), str(e))) from e
    frame = Frame(source, func, None)
    reader.position.frames.append(frame)
    watch_defaults(reader, func)
    body = reader.emit.body = reader.emit.builder.block
    reader.position.node = source.node
    first = source.node.args.posonlyargs + source.node.args.args
    binds, refused = inspect.unwrap(func) is not func or (receiver is not None and not first), False
    if receiver is not None and not binds:
        frame.locals[first[0].arg] = frame.first_arg = Known(receiver)
    for i, arg in enumerate(specs):
        specs[i] = arg = ArgSpec(arg.name, fill_spec(reader, arg.spec, arg.name))
        frame.locals[arg.name] = argument(reader, arg.spec, arg.name)
    if binds:
        given = {arg.name: frame.locals.pop(arg.name) for arg in specs}
        positional, named = _as_given(reader, signature_of(func), receiver, given)
        try:
            bind_arguments(reader, frame, func, positional, named)
        except Terminated:
            refused = True
    elif receiver is None and specs:
        frame.first_arg = frame.locals[specs[0].name]
    frame.signature = kinds_of_arguments(reader, [*frame.locals.values()])
    enter(reader, frame)
    try:
        open_slots(reader, signature)
        if isinstance(receiver, torch.nn.Module):
            guard_hooks(reader, receiver)
        if not refused:
            _run(reader, frame)
        if not reader.diagnostics.errors and not reader.speculation.stale:
            found, types = _finish(reader, frame.returns)
    except UserError as e:
        reader.diagnostics.report(e)
    if reader.speculation.stale:
        raise Restart
    reader.speculation.settle_cells()
    reader.speculation.settle_changes()
    if reader.diagnostics.errors:
        errors = [Diagnostic(_outside_of_library(d.loc), d.message, d.hint) for d in reader.diagnostics.errors]
        raise CompileError(sorted(errors, key=lambda d: (d.loc.file, d.loc.line, d.loc.col)))
    if reader.diagnostics.poisoned:
        raise InternalError("a statement was left out, but the error that it is in was lost", reader.position.loc)
    entry = Func(_symbol(func.__qualname__.replace("<locals>.", "")), body, types, source.loc(source.node, None))
    reader.emit.module.funcs[entry.name] = entry
    reader.emit.module.entries.append(entry.name)
    for op in reader.emit.module.walk():
        op.loc = _outside_of_library(op.loc)
    refuse_writes_to_conjugates(reader.emit.module)
    if reader.state.ahead and find_written(reader):
        reader.speculation.read_again("compiled code writes to a tensor outside")
    outside, stores = reader.environment, [t.store() for t in reader.state.targets.values() if not reader.state.ahead]
    guards, kept = list(outside.guards.values()), kept_places(reader)
    return Entry(
        specs, found, outside.live, guards, outside.values, signature.texts, stores, outside.exceptions,
        module=reader.emit.module, kept=kept, met=dependencies.objects(),
    )  # fmt: skip


def _as_given(
    reader: Reader, signature: inspect.Signature, receiver: Any, arguments: Mapping[str, AbstractValue]
) -> tuple[list[AbstractValue], dict[str, AbstractValue]]:
    """Arguments by the names that callers know, as a decorator's function gets them: by position, and by name."""
    kinds = inspect.Parameter
    positional: list[AbstractValue] = [] if receiver is None else [Known(receiver)]
    named: dict[str, AbstractValue] = {}
    for name, av in arguments.items():
        match signature.parameters[name].kind:
            case kinds.VAR_POSITIONAL:
                positional += reader.iterate(av)
            case kinds.VAR_KEYWORD:
                named |= reader.items_of(av) if isinstance(av, DictValue) else {}
            case kinds.KEYWORD_ONLY:
                named[name] = av
            case _:
                positional.append(av)
    return positional, named


def _run(reader: Reader, frame: Frame) -> None:
    if reader.run(statements_of(frame.source.node)):
        leave_with(reader, Known(None))


def _finish(reader: Reader, sites: list[ReturnSite]) -> tuple[Spec, list[Type]]:
    """Fills the returns in; the tree of the result and the types of its leaves."""
    if not sites:
        return ConstantSpec(None), []
    try:
        for site in sites:
            check_returned(reader, site.av, site.heap)
            site.av = settle(reader, site.av, site.heap)
            idents = list(identities(site.av))
            if len(set(idents)) < len(idents):
                raise UserError(reader.position.loc, *rejection("returned_twice"))
        plan = unify([s.av for s in sites], reader.kinds, fresh=True, mark=-1)  # each path returns its own objects
        found: Spec | None = None
        types: list[Type] = []
        for site in sites:
            reader.emit.builder = Builder.before(site.op)
            av = site.av if len(sites) == 1 else plan.rebuild(_flattened(reader, plan, site.av), "")
            spec, leaf_avs = result_of(av)
            values = [materialize(reader, leaf) for leaf in leaf_avs]
            if found is not None and spec != found:
                raise Conflict(f"{describe(sites[0].av)} and {describe(site.av)}")
            types = (
                [v.type for v in values]
                if found is None
                else [join(t, v.type) for t, v in zip(types, values, strict=True)]
            )
            found = spec
            site.op.set_operands(values)
    except Conflict as e:
        if isinstance(e, ItemConflict):
            reader.speculation.allow_unions()
        raise UserError(reader.position.loc, *rejection("returns_differ", why=e)) from e
    assert found is not None
    return found, types


def _flattened(reader: Reader, plan: Any, av: AbstractValue) -> Iterator[Value]:
    return iter(list(plan.flatten(reader, av)))
