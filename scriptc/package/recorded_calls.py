"""Recording calls of the original for the tests of a package: the example, and variations of it that eager accepts."""

from __future__ import annotations

import copy
import random
import time
import warnings
from collections import deque
from typing import Any

import torch

from scriptc.backend_c.package.interface import Array, Pair
from scriptc.driver.target import Target
from scriptc.frontend.entry import Entry
from scriptc.frontend.environment import specs
from scriptc.inspect.resized_arguments import Place, Variations, elements_of
from scriptc.inspect.snapshots import copied_receiver, forked_generators
from scriptc.ir.analysis import draws_random_numbers
from scriptc.ir.dtypes import FLOATING, FROM_TORCH

MIN_PAIRS, MAX_PAIRS = 5, 8
SECONDS = 15.0  # that trying variations may take
_SIZES = (1, 2, 3, 5, 17, 64)
MAX_ELEMENTS = 1 << 20  # of a variation's arguments together, unless the example has more


def record(target: Target, arguments: dict[str, Any], entry: Entry, index: int) -> list[Pair]:
    """At least five calls with different sizes, where eager accepts such; the example first. Where calls keep state, they
    are a sequence, and in the sizes of the example."""
    recorder = _Recorder(target, arguments, entry, index)
    return recorder.sequence() if entry.kept else recorder.run()


class _Recorder:
    def __init__(self, target: Target, arguments: dict[str, Any], entry: Entry, index: int):
        self.target, self.entry, self.index = target, entry, index
        self.example = arguments
        self.variations = Variations(entry, arguments, lambda varied: bool(self.attempt(varied)))
        self.receiver = copied_receiver(target.receiver)
        self.wide = _widened(target.receiver)
        self.draws = draws_random_numbers(entry.module)  # in float64 they are others
        self.deadline = time.monotonic() + SECONDS

    def run(self) -> list[Pair]:
        pairs = [self.call(self.variations.make({}, fresh=False))]
        groups = self.variations.groups(_candidates)
        seen: set[tuple[tuple[Place, int], ...]] = {()}
        for k in range(4 * MAX_PAIRS):
            if len(pairs) == MAX_PAIRS or self.late():
                break
            sizes = {p: choices[(k + i) % len(choices)] for i, (places, choices) in enumerate(groups) for p in places}
            key = tuple(sorted(sizes.items()))
            if key not in seen:
                seen.add(key)
                pairs += self.attempt(self.variations.make(sizes))
        while len(pairs) < MIN_PAIRS:  # other values in the sizes of the example, or its own once more
            pairs += self.attempt(self.variations.make({})) or [self.call(self.variations.make({}, fresh=False))]
        return pairs

    def sequence(self) -> list[Pair]:
        """Calls one after the other. Those of a plain function change the very objects that it knows, which are put back."""
        saved = [_Saved(place) for place in self.entry.kept] if self.receiver is None else []
        found: list[Pair] = []
        for fresh in (True, False):  # values of the example's where eager does not take others
            self.receiver, self.wide = copied_receiver(self.target.receiver), _widened(self.target.receiver)
            try:
                pairs = self.while_accepted(fresh)
            finally:
                for place in saved:
                    place.put_back()
            found = max(found, pairs, key=len)
            if len(found) == MAX_PAIRS:
                break
        return found

    def while_accepted(self, fresh: bool) -> list[Pair]:
        """Calls up to the first that eager refuses, whose state is no longer that of calls that return. The example's works."""
        pairs = [self.call(self.variations.make({}, fresh=False))]
        while len(pairs) < MAX_PAIRS and (made := self.attempt(self.variations.make({}, fresh=fresh))):
            pairs += made
        return pairs

    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def attempt(self, arguments: dict[str, Any]) -> list[Pair]:
        """One pair, or none where eager refuses."""
        if self.late() or elements_of(arguments) > max(MAX_ELEMENTS, elements_of(self.example)):
            return []
        try:
            return [self.call(arguments)]
        except Exception:
            return []

    # ---- calls ----

    def call(self, arguments: dict[str, Any]) -> Pair:
        # Before the call, which may write to its arguments.
        given = [_recorded(leaf) for arg in self.entry.args for leaf in specs.values_of(arg.spec, arguments[arg.name])]
        wide = _wide(arguments)
        expected = list(specs.values_of(self.entry.result, self.eager(self.receiver, arguments)))
        return Pair(self.index, given, [_recorded(leaf) for leaf in expected], self.references(wide, expected))

    def eager(self, receiver: Any, arguments: dict[str, Any]) -> Any:
        bound = self.target.signature.bind_partial()
        bound.arguments.update(arguments)
        first = [] if self.target.receiver is None else [receiver]
        with torch.no_grad(), warnings.catch_warnings(), forked_generators():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)  # as the test driver does before each call
            random.seed(0)
            return self.target.func(*first, *bound.args, **bound.kwargs)

    def references(self, arguments: dict[str, Any], expected: list[Any]) -> list[Any]:
        """The results computed in float64 from float64 arguments, None for those that have no such."""
        nothing = [None] * len(expected)
        alone = self.receiver is None and self.entry.kept  # there is one state, which goes on with each call
        if alone or self.draws or not any(map(_wants_reference, expected)):
            return nothing
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            wide = list(specs.values_of(self.entry.result, self.eager(self.wide, arguments)))
        except Exception:  # what works in the model's dtype alone has no reference
            return nothing
        finally:
            torch.set_default_dtype(default)
        return [_reference(w, e) for w, e in zip(wide, expected, strict=True)]


def _candidates(value: int) -> list[int]:
    return [*_SIZES, value + 1, value // 2]


class _Saved:
    """What a place outside holds, to be put back there."""

    def __init__(self, place: specs.Kept):
        self.place = place
        held = place.container
        self.there = place.key in held if isinstance(held, dict) else True
        self.value = held[place.key] if self.there else None
        self.content: Any = self.value.clone() if isinstance(self.value, torch.Tensor) else copy.copy(self.value)

    def put_back(self) -> None:
        container, key = self.place.container, self.place.key
        if not self.there:
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
