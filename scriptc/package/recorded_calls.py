"""Record calls in eager for the tests of a package: the example, and calls in other sizes."""

from __future__ import annotations

import copy
import itertools
import random
import time
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from scriptc.backend_c.package.interface import Array, Pair
from scriptc.driver.package_pipeline import EntryTarget, TranslatedPackage
from scriptc.driver.streams import Streamed
from scriptc.frontend.entry import Entry
from scriptc.frontend.environment import specs
from scriptc.inspect.resized_arguments import ResizedArguments, SizeLocation, elements_of
from scriptc.inspect.snapshots import copied_receiver, copied_receivers, forked_generators
from scriptc.ir.analysis import draws_random_numbers
from scriptc.ir.dtypes import FLOATING, FROM_TORCH
from scriptc.package.chunked_calls import ChunkedCalls

MIN_PAIRS, MAX_PAIRS = 5, 8
SECONDS = 15.0  # the most time that calls in other sizes may take
_SIZES = (1, 2, 3, 5, 17, 64)
MAX_ELEMENTS = 1 << 20  # the most elements of all arguments of a call, unless the example has more


def record(package: TranslatedPackage, targets: Sequence[EntryTarget]) -> tuple[Pair, ...]:
    """Return recorded calls: for each entry at least `MIN_PAIRS`, or one sequence if calls keep state.

    The first call of an entry is its example; the others have other sizes if eager accepts them. In a sequence, the sizes
    are those of the example, and the calls of several entries alternate.
    """
    draws = draws_random_numbers(package.module)
    rows = enumerate(zip(targets, package.entries, package.streams, strict=True))
    recorders = [_Recorder(each, entry, i, stream, draws=draws) for i, (each, entry, stream) in rows]
    if package.slots:
        return tuple(_Sequence(recorders).run())
    return tuple(pair for recorder in recorders for pair in recorder.run())


class _Sequence:
    """Calls of all entries that share state, such as: predict, train, train, predict, predict, train, ..."""

    def __init__(self, recorders: Sequence[_Recorder]):
        self.recorders = recorders
        self.alternates = len(recorders) > 1
        # Functions reach their objects by names, so they run on the originals, which are restored.
        self.in_place = any(recorder.target.receiver is None for recorder in recorders)

    def run(self) -> list[Pair]:
        saved = [_SavedState(slot) for slot in self.recorders[0].entry.kept] if self.in_place else []
        found: list[Pair] = []
        for fresh in (True, False):  # the values of the example if eager refuses others
            self.prepare()
            try:
                pairs = self.while_accepted(fresh)
            finally:
                for state in saved:
                    state.restore()
            found = max(found, pairs, key=len)
            if len(found) >= self.wanted:
                break
        return found

    @property
    def wanted(self) -> int:
        """Return the number of calls: each entry has at least three."""
        return max(MAX_PAIRS, 3 * len(self.recorders))

    def prepare(self) -> None:
        """Give the recorders the objects that calls change.

        A second run in float64 would go on from the state of the first, or lack the state of the other entries.
        """
        receivers = [recorder.target.receiver for recorder in self.recorders]
        copies = receivers if self.in_place else copied_receivers(receivers)
        for recorder, receiver in zip(self.recorders, copies, strict=True):
            recorder.receiver, recorder.wide = receiver, _widened(recorder.target.receiver)
            recorder.restart()
            recorder.has_references = not self.in_place and not self.alternates

    def while_accepted(self, fresh: bool) -> list[Pair]:
        """Return recorded calls up to the first that eager refuses.

        That call may have changed the state before it raised.
        """
        pairs = [recorder.call(recorder.resized.make({}, fresh=False)) for recorder in self.recorders]
        forth, back = [*self.recorders], [*reversed(self.recorders)]
        for recorder in itertools.cycle((*back, *forth)):
            if len(pairs) >= self.wanted or not (made := recorder.attempt(recorder.resized.make({}, fresh=fresh))):
                return pairs
            pairs += made
        raise AssertionError("a cycle does not end")


class _Recorder:
    def __init__(self, call: EntryTarget, entry: Entry, index: int, stream: Streamed | None, *, draws: bool):
        self.target, self.entry, self.index = call.target, entry, index
        self.example = dict(call.arguments)
        self.resized = ResizedArguments(entry, self.example, lambda varied: bool(self.attempt(varied)))
        self.receiver = copied_receiver(self.target.receiver)
        self.wide = _widened(self.target.receiver)
        self.has_references = True
        self.in_grad_mode = any(g.kind == "GRAD_MODE_IS" and g.expected for g in entry.guards)
        self.stream = stream
        self.chunks: ChunkedCalls | None = None
        self.draws = draws  # in float64 torch draws other numbers
        self.deadline = time.monotonic() + SECONDS

    def restart(self) -> None:
        """Begin the sequence of chunks anew."""
        self.chunks = ChunkedCalls(self.stream) if self.stream is not None else None

    def run(self) -> list[Pair]:
        pairs = [self.call(self.resized.make({}, fresh=False))]
        groups = self.resized.groups(_candidates)
        seen: set[tuple[tuple[SizeLocation, int], ...]] = {()}
        for k in range(4 * MAX_PAIRS):
            if len(pairs) == MAX_PAIRS or self.late():
                break
            sizes = {p: choices[(k + i) % len(choices)] for i, (places, choices) in enumerate(groups) for p in places}
            key = tuple(sorted(sizes.items()))
            if key not in seen:
                seen.add(key)
                pairs += self.attempt(self.resized.make(sizes))
        while len(pairs) < MIN_PAIRS:  # other values in the sizes of the example, or the example again
            pairs += self.attempt(self.resized.make({})) or [self.call(self.resized.make({}, fresh=False))]
        return pairs

    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def attempt(self, arguments: dict[str, Any]) -> list[Pair]:
        """Return the recorded pair of a call in a list, which is empty if eager refuses the call."""
        if self.late() or elements_of(arguments) > max(MAX_ELEMENTS, elements_of(self.example)):
            return []
        try:
            return [self.call(arguments)]
        except Exception:
            return []

    # ---- calls ----

    def call(self, arguments: dict[str, Any]) -> Pair:
        if self.chunks is not None:
            return self.call_of_chunk(self.chunks, arguments)
        # The arguments are recorded first, because the call may write to them.
        given = [_recorded(leaf) for arg in self.entry.args for leaf in specs.values_of(arg.spec, arguments[arg.name])]
        wide = _wide(arguments)
        expected = list(specs.values_of(self.entry.result, self.eager(self.receiver, arguments)))
        return Pair(self.index, given, [_recorded(leaf) for leaf in expected], self.references(wide, expected))

    def call_of_chunk(self, chunks: ChunkedCalls, arguments: dict[str, Any]) -> Pair:
        chunk = chunks.chunk(arguments)
        given = [_recorded(leaf) for arg in self.entry.args for leaf in specs.values_of(arg.spec, chunk[arg.name])]
        results = self.eager(copied_receiver(self.target.receiver), chunks.whole(chunk))
        expected = chunks.part(list(specs.values_of(self.entry.result, results)))
        return Pair(self.index, given, [_recorded(leaf) for leaf in expected], [None] * len(expected))

    def eager(self, receiver: Any, arguments: dict[str, Any]) -> Any:
        bound = self.target.signature.bind_partial()
        bound.arguments.update(arguments)
        first = [] if self.target.receiver is None else [receiver]
        with torch.set_grad_enabled(self.in_grad_mode), warnings.catch_warnings(), forked_generators():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)  # the test driver does the same before each call
            random.seed(0)
            np.random.seed(0)
            return self.target.func(*first, *bound.args, **bound.kwargs)

    def references(self, arguments: dict[str, Any], expected: list[Any]) -> list[Any]:
        """Return the results in float64 from float64 arguments, None where there is no reference."""
        nothing = [None] * len(expected)
        if not self.has_references or self.draws or not any(map(_wants_reference, expected)):
            return nothing
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            wide = list(specs.values_of(self.entry.result, self.eager(self.wide, arguments)))
        except Exception:  # the call may work only in the model's dtype
            return nothing
        finally:
            torch.set_default_dtype(default)
        return [_reference(w, e) for w, e in zip(wide, expected, strict=True)]


def _candidates(value: int) -> list[int]:
    return [*_SIZES, value + 1, value // 2]


class _SavedState:
    """The value of a state slot and its content, to be restored."""

    def __init__(self, slot: specs.Kept):
        self.slot = slot
        container = slot.container
        self.exists = slot.key in container if isinstance(container, dict) else True
        self.value = container[slot.key] if self.exists else None
        self.content: Any = self.value.clone() if isinstance(self.value, torch.Tensor) else copy.copy(self.value)

    def restore(self) -> None:
        container, key = self.slot.container, self.slot.key
        if not self.exists:
            container.pop(key, None)
            return
        if isinstance(self.value, torch.Tensor):
            with torch.no_grad():
                self.value.copy_(self.content)
        elif isinstance(self.value, list):
            self.value[:] = self.content
        elif isinstance(self.value, deque):
            self.value.clear()
            self.value.extend(self.content)
        elif isinstance(self.value, dict):
            self.value.clear()
            self.value.update(self.content)
        container[key] = self.value


def _recorded(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        flat = value.detach().contiguous().reshape(-1).view(torch.uint8)
        dtype = FROM_TORCH[str(value.dtype).removeprefix("torch.")]
        return Array(dtype, tuple(value.shape), value.stride(), flat.numpy().tobytes())
    return [_recorded(item) for item in value] if isinstance(value, list) else value


def _wants_reference(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_wants_reference, value))
    return isinstance(value, torch.Tensor) and FROM_TORCH[str(value.dtype).removeprefix("torch.")] in FLOATING - {"f64"}


def _reference(wide: Any, expected: Any) -> Any:
    if isinstance(expected, list):
        same = isinstance(wide, list) and len(wide) == len(expected)
        return [_reference(w, e) for w, e in zip(wide, expected, strict=True)] if same else None
    if not _wants_reference(expected) or wide.shape != expected.shape or wide.dtype != torch.float64:
        return None
    return _recorded(wide)


def _wide(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype.is_floating_point else value.clone()
    if isinstance(value, dict):
        return {k: _wide(v) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_wide, value))
    return type(value)(map(_wide, value)) if isinstance(value, (list, tuple)) else value


def _widened(receiver: Any) -> Any:
    copied = copied_receiver(receiver)
    return copied.double() if isinstance(copied, torch.nn.Module) else copied
