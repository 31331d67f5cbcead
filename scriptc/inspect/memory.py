"""Find the peak memory of a call as a formula of the sizes of its arguments.

Generated C and kernels decide when buffers are allocated, reused and freed, so the formula is measured. Calls with
arguments of other sizes run in a fresh context, whose allocator counts the peak (size_formulas.py).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.target import Target
from scriptc.frontend.environment.specs import Contract
from scriptc.inspect.notebook_html import html_table, print_text
from scriptc.inspect.resized_arguments import ResizedArguments, SizeLocation
from scriptc.inspect.size_formulas import Fitter, Terms, largest, others, text_of
from scriptc.inspect.snapshots import copied, undo_writes
from scriptc.inspect.training_steps import Step
from scriptc.runtime import bridge

SECONDS = 60.0  # the most time that calls in other sizes may take
VARIED = 6  # the most sizes that are symbols of the formula


class _OtherVariant(Exception):
    """A call in other sizes needs another variant."""


@dataclass(frozen=True)
class Memory:
    """The peak memory of a call in bytes, as a formula of its sizes. `str(memory)` shows the formula.

    Results, temporaries and packed weights count. Arguments and weights belong to the caller and do not count.

    name: the name of the function.
    symbols: the meaning of each symbol of the formula, such as `x.size(0)`.
    sizes: the value of each symbol in the call that was measured.
    pieces: the polynomials whose largest value is the peak; empty if the peak does not follow from the sizes alone.
    least: the sizes from which on the formula holds; empty if it holds for all.
    predicted: the formula at `sizes`.
    measured: the bytes of all blocks at the peak of that call.
    title: what the bytes are.
    """

    name: str
    symbols: dict[str, str]  # the expressions that the symbols of the formula stand for
    sizes: dict[str, int]  # the sizes of the call, by symbol
    pieces: tuple[Terms, ...]
    least: dict[str, int]  # the least sizes for which the formula holds
    predicted: int
    measured: int
    title: str = "peak memory of a call"

    @property
    def formula(self) -> str:
        """Return the formula as a Python expression over the symbols; empty if there is none."""
        texts = [text_of(terms, list(self.symbols)) for terms in self.pieces]
        return f"max({', '.join(texts)})" if len(texts) > 1 else "".join(texts)

    def at(self, **sizes: int) -> int:
        """Return the peak at other sizes. Symbols that are not named keep the value that they had in the measured call.

        Raises ValueError for a symbol that the formula does not have, and if there is no formula.
        """
        unknown = sizes.keys() - self.symbols.keys()
        if unknown or not self.pieces:
            raise ValueError(f"the formula has no {', '.join(sorted(unknown))}" if unknown else "there is no formula")
        return round(largest(self.pieces, [(self.sizes | sizes)[name] for name in self.symbols]))

    def __str__(self) -> str:
        head = [f"{self.name}: {self.title}, in bytes", f"  {self._holds()}"]
        head += [f"  {name} = {meaning}" for name, meaning in self.symbols.items()]
        return "\n".join([*head, f"at {self._call()}: {self.predicted}; measured {self.measured}"])

    def _repr_html_(self) -> str:
        rows = [("formula", self._holds()), *self.symbols.items()]
        rows += [(f"at {self._call()}", str(self.predicted)), ("measured", str(self.measured))]
        return html_table((self.name, f"{self.title}, in bytes"), rows)

    _repr_pretty_ = print_text

    def _holds(self) -> str:
        """Return the formula, and the least sizes for which it holds."""
        formula = self.formula or "does not follow from the sizes alone"
        least = ", ".join(f"{name}={value}" for name, value in self.least.items())
        return f"{formula}  from {least} on" if least else formula

    def _call(self) -> str:
        return ", ".join(f"{name}={self.sizes[name]}" for name in self.symbols) or "these arguments"


Measured = tuple[int, int]  # the bytes that are asked for, and those of the blocks


def memory(dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Memory:
    """Find the formula from a call, and from calls with random arguments in other sizes.

    What the calls write is undone. Raises what the call raises.
    """
    receiver = dispatcher.target.receiver
    step = Step.of(dispatcher, args, kwargs)
    with step.mode(), undo_writes(receiver if isinstance(receiver, torch.nn.Module) else None):
        own = Dispatcher(dispatcher.obj, dispatcher.options)
        example, named = copied((args, kwargs))
        with step.mode():
            own.call(*example, **named)
        finder = Finder(own.target, own.variants[-1].contract, _Call(own, step), args, kwargs)
        (found,) = finder.find(["peak memory of a call"])
    _last[dispatcher] = found
    return found


def last_memory(dispatcher: Dispatcher) -> Memory | None:
    """Return what `memory` found for the latest call of a dispatcher, or None."""
    return _last.get(dispatcher)


_last: WeakKeyDictionary[Dispatcher, Memory] = WeakKeyDictionary()


class _Call:
    """Runs calls of the latest variant of a dispatcher, in fresh contexts, and counts the bytes at the peak.

    step: puts back what a training step changes, so that the variant fits the next call.
    """

    def __init__(self, dispatcher: Dispatcher, step: Step):
        self.step = step
        self.callable = bridge.Callable(_refuse)
        self.callable.add_variant(dispatcher.spec(dispatcher.variants[-1]))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Measured]:
        self.callable.count_allocations()
        with self.step.mode():
            self.callable.call(*args, **kwargs)
        return [(self.callable.asked_bytes, self.callable.peak_bytes)]


class Finder:
    """Finds the formulas of the numbers that `measure` returns for a call.

    roots: the formulas may contain the root of a size.
    """

    def __init__(
        self, target: Target, contract: Contract, measure: Callable[..., list[Measured]], args: tuple[Any, ...],
        kwargs: dict[str, Any], *, roots: bool = False,
    ):  # fmt: skip
        self.target = target
        self.measure = measure
        self.roots = roots
        self.example = target.bind(args, kwargs)
        self.resized = ResizedArguments(contract, self.example, self.works)
        self.deadline = time.monotonic() + SECONDS
        self.known: dict[tuple[int, ...], list[Measured] | None] = {}

    def find(self, titles: Sequence[str]) -> list[Memory]:
        """Return a formula for each number of a call."""
        example = self.run(copied(self.example))
        groups = [locations for locations, choices in self.resized.groups(others) if len(choices) == 2][:VARIED]
        sizes = [self.size(locations[0]) for locations in groups]
        symbols = {_symbol(locations[0], self.example): _meaning(locations, self.example) for locations in groups}
        at = dict(zip(symbols, sizes, strict=True))
        found = []
        for number, (title, (asked, measured)) in enumerate(zip(titles, example, strict=True)):

            def number_at(sizes: Sequence[int], number: int = number) -> int | None:
                numbers = self.numbers_at(groups, sizes)
                return None if numbers is None else numbers[number][0]

            pieces, scale = Fitter(sizes, number_at, roots=self.roots).fitted()
            predicted = round(largest(pieces, sizes)) if pieces and scale == 1 else asked
            least = {name: scale * value for name, value in at.items()} if scale > 1 else {}
            found.append(Memory(self.target.name, symbols, at, pieces, least, predicted, measured, title))
        return found

    def size(self, location: SizeLocation) -> int:
        return next(value for p, value in self.resized.sizes() if p == location)

    def numbers_at(self, groups: Sequence[list[SizeLocation]], sizes: Sequence[int]) -> list[Measured] | None:
        """Return the numbers of a call at some sizes, None if the call fails."""
        key = tuple(sizes)
        if key not in self.known:
            chosen = {location: n for locations, n in zip(groups, sizes, strict=True) for location in locations}
            self.known[key] = self.tried(lambda: self.resized.make(chosen))
        return self.known[key]

    def tried(self, make: Callable[[], dict[str, Any]]) -> list[Measured] | None:
        if time.monotonic() > self.deadline:
            return None
        try:
            return self.run(make())
        except Exception:  # the function may raise anything for sizes that do not fit
            return None

    def works(self, arguments: dict[str, Any]) -> bool:
        return self.tried(lambda: arguments) is not None

    def run(self, arguments: dict[str, Any]) -> list[Measured]:
        bound = self.target.signature.bind_partial()
        bound.arguments.update(arguments)
        return self.measure(bound.args, bound.kwargs)


def _refuse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise _OtherVariant


def _symbol(location: SizeLocation, example: dict[str, Any]) -> str:
    path, dim = location
    name = re.sub(r"\W+", "_", path).strip("_")
    if dim >= 0:
        return f"{name}_{dim}"
    return name if _is_number(path, example) else f"len_{name}"


def _meaning(locations: Sequence[SizeLocation], example: dict[str, Any]) -> str:
    texts = []
    for path, dim in locations:
        item = path.replace("[]", "[0]")
        texts.append(f"{item}.size({dim})" if dim >= 0 else item if _is_number(path, example) else f"len({item})")
    return " = ".join(texts)


def _is_number(path: str, example: dict[str, Any]) -> bool:
    return isinstance(example.get(path), int)
