"""Entries of packages that take a sequence in chunks: rewrite them, and add the slot that holds the state of the loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from scriptc.frontend.entry import Entry
from scriptc.frontend.environment.specs import GIVEN, MISSING, Kept, ListSpec, Spec, TensorSpec, leaves
from scriptc.ir.core import Func, Value
from scriptc.ir.errors import CompileError, Diagnostic
from scriptc.ir.streaming.kinds import NotStreamable
from scriptc.ir.streaming.steps import Stream, stream
from scriptc.ir.types import BOOL, ListType, TensorType, Type

SLOT = "stream"


class StreamRequest(NamedTuple):
    """The argument that a package takes in chunks.

    dim: the time dim of a tensor; None for the dim along which loops run.
    """

    argument: str
    dim: int | None


@dataclass(frozen=True)
class Streamed:
    """An entry that was rewritten for chunks. dim: the time dim of the argument, 0 for a list."""

    argument: str
    dim: int
    stream: Stream


def streamed(
    entries: Sequence[Entry], requests: Sequence[StreamRequest | None]
) -> tuple[list[Entry], list[Streamed | None]]:
    """Rewrite the entries that are requested to take chunks. Raises CompileError at a line that no chunk can compute."""
    made = list(entries)
    found: list[Streamed | None] = [None] * len(made)
    for i, request in enumerate(requests):
        if request is None:
            continue
        entry = made[i]
        func = entry.module.funcs[entry.module.entries[0]]
        target = 1 + max((slot.target for slot in entry.kept if slot.target is not None), default=-1)
        name = f"{SLOT}.{i}" if sum(r is not None for r in requests) > 1 else SLOT
        rewritten = found[i] = _stream(entry, func, request, target, name)
        slot = _slot(name, rewritten.stream.types, target)
        for k, other in enumerate(made):
            if k != i:  # all entries take all slots, until the unused ones are dropped
                body = other.module.funcs[other.module.entries[0]].body
                body.args += [Value(t, body, name) for t in slot.types]
            made[k] = replace(other, kept=[*other.kept, slot if k == i else slot._replace(target=None)])
    return made, found


def _stream(entry: Entry, func: Func, request: StreamRequest, target: int, name: str) -> Streamed:
    specs = {arg.name: arg.spec for arg in entry.args}
    if request.argument not in specs:
        raise ValueError(f"stream={request.argument!r}: the function has no such argument, but {', '.join(specs)}")
    first = 0
    for arg in entry.args:
        if arg.name == request.argument:
            break
        first += sum(1 for _ in leaves(arg.spec))
    failures: list[NotStreamable] = []
    for dim in _dims(specs[request.argument], request):
        try:
            return Streamed(request.argument, dim, stream(func, first, dim, target, name))
        except NotStreamable as failure:
            failures.append(failure)
    # A dim along which a loop runs fails at its own line, any other at the definition of the function.
    told = next((f for f in failures if not f.has_no_loop), failures[0])
    message = f"the sequence '{request.argument}' cannot be streamed: {told.reason}"
    raise CompileError(Diagnostic(told.loc, message, told.hint))


def _dims(spec: Spec, request: StreamRequest) -> Sequence[int]:
    if isinstance(spec, TensorSpec) and request.dim is not None:
        if not -len(spec.sizes) <= request.dim < len(spec.sizes):
            raise ValueError(f"stream={request.argument!r}: the argument has no dim {request.dim}")
        return [request.dim % len(spec.sizes)]
    if isinstance(spec, TensorSpec) and spec.sizes:
        return range(len(spec.sizes))
    if isinstance(spec, ListSpec):
        return [0]
    raise ValueError(f"stream={request.argument!r}: the argument is no tensor with dims, nor a list")


def _slot(name: str, types: Sequence[Type], target: int) -> Kept:
    """Return the slot of the state: absent before the first chunk."""
    first = tuple(False if t == BOOL else None if isinstance(t, TensorType) else _ZEROS.get(str(t), []) for t in types)
    before = (0, *(MISSING if isinstance(t, (TensorType, ListType)) else GIVEN for t in types[1:]))
    after = (1, *(GIVEN for _ in types[1:]))
    return Kept(name, {}, name, tuple(types), first, target, (before, after))


_ZEROS = {"i64": 0, "f64": 0.0, "bool": False, "str": ""}

