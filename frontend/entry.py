"""Reading an entry: a Python callable and the values of one call become an IR module."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import torch

from scriptc.frontend import library
from scriptc.frontend.environment import dependencies
from scriptc.frontend.environment.aot_state import find_written, kept_slots
from scriptc.frontend.environment.arguments import argument, fill_spec, same_containers, with_known_sizes, with_types
from scriptc.frontend.environment.changed_arguments import check_other_names
from scriptc.frontend.environment.host_objects import dtype_name
from scriptc.frontend.environment.leaves import refuse_leaves_that_leave
from scriptc.frontend.environment.shared_state import SharedState
from scriptc.frontend.environment.signature import Signature
from scriptc.frontend.environment.specs import (
    ArgSpec,
    Contract,
    Kept,
)
from scriptc.frontend.environment.state_at_entry import open_slots
from scriptc.frontend.environment.watching import watch_defaults
from scriptc.frontend.library.registry import is_decomposition
from scriptc.frontend.operations.complexes import refuse_writes_to_conjugates
from scriptc.frontend.reader.assumptions import Assumptions, Reading, Reason
from scriptc.frontend.reader.binding import bind_arguments
from scriptc.frontend.reader.errors import (
    Restart,
    Terminated,
    UnsupportedArgument,
    UserError,
)
from scriptc.frontend.reader.jumps import leave_with
from scriptc.frontend.reader.module_calls import guard_hooks
from scriptc.frontend.reader.protocol import Reader
from scriptc.frontend.reader.reader import EntryReader
from scriptc.frontend.reader.recursion import kinds_of_arguments
from scriptc.frontend.reader.statements import enter
from scriptc.frontend.rejections import rejection
from scriptc.frontend.returns import fill_returns
from scriptc.frontend.source.caller_signature import signature_of
from scriptc.frontend.source.functions import SourceError, source_of, statements_of
from scriptc.frontend.source.stack_room import StackLeft, recursion_limit
from scriptc.frontend.user_backward import read_backward_functions
from scriptc.frontend.values.abstract import AbstractValue, Known
from scriptc.frontend.values.frame import Frame
from scriptc.frontend.values.predicates import has_known_keys
from scriptc.ir.core import Func, Module
from scriptc.ir.errors import CompileError, Diagnostic, InternalError
from scriptc.ir.loc import Loc

_logger = logging.getLogger("scriptc")
_MAX_READINGS = 1000


@dataclass(frozen=True)
class Entry(Contract):
    """Hold the result of reading an entry. `module` has the entry as its only one; `result` is the tree of its
    results."""

    module: Module
    kept: list[Kept]  # ahead of time, in the place of `values` and `write_backs`
    dependencies: Collection[Any]  # objects outside that the code depends on


def read(
    func: FunctionType, receiver: Any, arguments: Mapping[str, Any], *, dynamic: bool = True,
    changing: Collection[Any] = (), varied: Collection[int] = (), ahead: SharedState | None = None,
    left: StackLeft | None = None, on_reading: Callable[[Reading], object] | None = None, runs_hooks: bool = True,
) -> Entry:  # fmt: skip
    """Read a function called with `arguments` (bound to its parameters, `receiver` apart).

    receiver: the object that the first parameter is, or None for a plain function. changing: numbers outside, as (id of
    their dict, key), that are not to be baked in because they change between calls. varied: places of string arguments that
    are not to be baked in while that can be helped. ahead: the state that the entries of a package share, to which the
    reading adds, for a build ahead of time, where one specialization serves all kinds that a state may have. left: tells
    how much of the running thread's stack may be taken. on_reading: is called before each reading of the function.
    runs_hooks: the call would run the hooks of a receiver that is a module.

    Raises CompileError with every error found, TypeError for an argument that cannot be passed, InternalError for a bug in
    scriptc.
    """
    library.load()
    with recursion_limit(left, Loc(func.__code__.co_filename, func.__code__.co_firstlineno)), dependencies.noted():

        def begin(*, keeps_items: bool) -> Assumptions:
            shared = {} if ahead is None else ahead.first_assumptions()
            return Assumptions(changing=set(changing), varied=set(varied), keeps_items=keeps_items, **shared)

        return _read(
            func, receiver, arguments, begin, dynamic=dynamic, ahead=ahead, left=left, on_reading=on_reading,
            runs_hooks=runs_hooks,
        )  # fmt: skip


def _read(
    func: FunctionType,
    receiver: Any,
    arguments: Mapping[str, Any],
    begin: Callable[..., Assumptions],
    *,
    dynamic: bool,
    ahead: SharedState | None,
    left: StackLeft | None,
    on_reading: Callable[[Reading], object] | None,
    runs_hooks: bool,
) -> Entry:
    assume, told, found_items = begin(keeps_items=False), 0, False
    seen = {hash(assume.fingerprint())}
    while True:
        _announce(func, Reading(len(seen), _as_told(assume.reasons[told:])), on_reading)
        told = len(assume.reasons)
        reader = _reader(func, receiver, assume, ahead=ahead, left=left)
        signature = Signature(frozenset(assume.known_args), dynamic, assume.parted, assume.tabled)
        try:
            entry = _read_once(reader, func, receiver, arguments, signature, runs_hooks=runs_hooks)
            if ahead is not None:
                ahead.add(reader)
            return entry
        except Restart:
            pass
        except UnsupportedArgument as e:
            raise TypeError(str(e)) from None
        except CompileError:
            if assume.keeps_items or not found_items | reader.speculation.found_items:
                raise
            assume, told = begin(keeps_items=True), 0
        except (InternalError, RecursionError):
            raise
        except Exception as e:
            loc = reader.position.loc_of_fault(e) or _loc_of(func)
            raise InternalError(f"{type(e).__name__}: {e}", _outside_of_library(loc)) from e
        found_items |= reader.speculation.found_items
        assumed = hash(assume.fingerprint())
        if assumed in seen or len(seen) == _MAX_READINGS:
            raise _unsettled(func, assume, len(seen))
        seen.add(assumed)


def _as_told(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return each reason once, at a line of the user's code."""
    return tuple(dict.fromkeys(Reason(r.name, r.text, r.loc and _outside_of_library(r.loc)) for r in reasons))


def _in_words(reasons: Iterable[Reason]) -> str:
    return "; ".join(f"{r.text} (line {r.loc.line})" if r.loc else r.text for r in reasons)


def _announce(func: FunctionType, reading: Reading, on_reading: Callable[[Reading], object] | None) -> None:
    if reading.reasons:
        _logger.debug("reading %s again because %s", func.__qualname__, _in_words(reading.reasons))
    else:
        _logger.debug("reading %s", func.__qualname__)
    if on_reading is not None:
        on_reading(reading)


def _reader(
    func: FunctionType, receiver: Any, assume: Assumptions, *, ahead: SharedState | None, left: StackLeft | None
) -> EntryReader:
    """Return the reader of one reading."""
    default = dtype_name(torch.get_default_dtype())
    assert default is not None
    module = Module(func.__qualname__.replace(".<locals>", ""))
    reader = EntryReader(module, assume, default, ahead=ahead is not None)
    reader.position.stack_left = left
    if ahead is not None:
        ahead.prepare(reader)
    if isinstance(receiver, torch.nn.Module):
        reader.environment.module_paths = {id(m): path for path, m in receiver.named_modules()}
    return reader


def _unsettled(func: FunctionType, assume: Assumptions, count: int) -> CompileError:
    """Return the error of a function whose assumptions returned to earlier ones, or that was read too often."""
    last = _as_told(reversed(assume.reasons))[:3]
    message, hint = rejection("reading_does_not_end", name=func.__qualname__, count=count, why=_in_words(last))
    return CompileError(Diagnostic(last[0].loc or _loc_of(func), message, hint))


def _outside_of_library(loc: Loc) -> Loc:
    """Return the user's line that calls into scriptc's own code, without callers in that code."""
    if not any(is_decomposition(site.file) for site in loc.chain()):
        return loc
    inner: Loc | None = None
    for site in reversed([site for site in loc.chain() if not is_decomposition(site.file)]):
        inner = replace(site, inlined_at=inner)
    return inner or loc


def _move_outside_of_library(module: Module) -> None:
    """Locate ops at the user's lines. Most ops share their location with others."""
    ops = [*module.walk()]
    locs = {id(op.loc): op.loc for op in ops}
    outside = {key: _outside_of_library(loc) for key, loc in locs.items()}
    for op in ops:
        op.loc = outside[id(op.loc)]


def _loc_of(func: FunctionType) -> Loc:
    return Loc(func.__code__.co_filename, func.__code__.co_firstlineno)


def _symbol(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _read_once(
    reader: Reader, func: FunctionType, receiver: Any, arguments: Mapping[str, Any], signature: Signature, *,
    runs_hooks: bool,
) -> Entry:  # fmt: skip
    specs = signature.of(arguments)
    reader.environment.same_as = same_containers(specs, arguments)
    try:
        source = source_of(func)
    except SourceError as e:
        raise CompileError(Diagnostic(_loc_of(func), str(e))) from e
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
        filled = with_known_sizes(reader, fill_spec(reader, arg.spec, arg.name), arguments[arg.name], arg.name)
        specs[i] = arg = ArgSpec(arg.name, filled)
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
        if runs_hooks and isinstance(receiver, torch.nn.Module):
            guard_hooks(reader, receiver)
        if not refused:
            _run(reader, frame)
        if reader.emit.builder.no_grad or reader.emit.builder.grad_mode_depends:
            reader.reject("grad_mode_left")
        if not reader.diagnostics.errors and not reader.speculation.outdated:
            found, types = fill_returns(reader, frame.returns)
    except UserError as e:
        reader.diagnostics.report(e)
    reader.speculation.settle()
    if reader.diagnostics.errors:
        errors = [Diagnostic(_outside_of_library(d.loc), d.message, d.hint) for d in reader.diagnostics.errors]
        raise CompileError(sorted(errors, key=lambda d: (d.loc.file, d.loc.line, d.loc.col)))
    if reader.diagnostics.poisoned:
        raise InternalError("a statement was left out, but the error that it is in was lost", reader.position.loc)
    entry = Func(_symbol(func.__qualname__.replace("<locals>.", "")), body, types, source.loc(source.node, None))
    reader.emit.module.funcs[entry.name] = entry
    reader.emit.module.entries.append(entry.name)
    read_backward_functions(reader)
    check_other_names(reader.emit.module, entry)
    _move_outside_of_library(reader.emit.module)
    refuse_writes_to_conjugates(reader.emit.module)
    refuse_leaves_that_leave(reader.emit.module, entry, reader.state.accumulating)
    if reader.state.ahead:
        reader.speculation.keep_written(find_written(reader))
    outside = reader.environment
    write_backs = [t.write_back() for t in reader.state.targets.values() if not reader.state.ahead]
    guards, kept = list(outside.guards.values()), kept_slots(reader)
    types_of_parameters = (value.type for value in body.args)
    specs = [ArgSpec(arg.name, with_types(arg.spec, types_of_parameters)) for arg in specs]
    values = [value._replace(spec=with_types(value.spec, types_of_parameters)) for value in outside.values]
    return Entry(
        specs, found, outside.tensors, guards, values, signature.texts, write_backs, outside.exceptions,
        module=reader.emit.module, kept=kept, dependencies=dependencies.objects(),
    )  # fmt: skip


def _as_given(
    reader: Reader, signature: inspect.Signature, receiver: Any, arguments: Mapping[str, AbstractValue]
) -> tuple[list[AbstractValue], dict[str, AbstractValue]]:
    """Return the arguments as a decorator's function receives them: positional ones, and keyword arguments."""
    kinds = inspect.Parameter
    positional: list[AbstractValue] = [] if receiver is None else [Known(receiver)]
    named: dict[str, AbstractValue] = {}
    for name, av in arguments.items():
        match signature.parameters[name].kind:
            case kinds.VAR_POSITIONAL:
                positional += reader.iterate(av)
            case kinds.VAR_KEYWORD:
                named |= reader.items_of(av) if has_known_keys(av) else {}
            case kinds.KEYWORD_ONLY:
                named[name] = av
            case _:
                positional.append(av)
    return positional, named


def _run(reader: Reader, frame: Frame) -> None:
    if reader.run(statements_of(frame.source.node)):
        leave_with(reader, Known(None))
