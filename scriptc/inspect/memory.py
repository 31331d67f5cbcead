"""Find the peak memory of a call as a formula of the sizes of its arguments.

Generated C and kernels decide when buffers are allocated, reused and freed, so the formula is measured. Calls with
arguments of other sizes run in a fresh context, whose allocator counts the peak. A polynomial is fitted through these
points, and calls at other sizes check it. If it does not hold, the peak may be at one point of the program for small
sizes and at another for large ones. The formula is then the larger of two polynomials, or a polynomial that holds for
large sizes alone.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import torch

from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.target import Target
from scriptc.inspect.notebook_html import html_table, print_text
from scriptc.inspect.resized_arguments import ResizedArguments, SizeLocation
from scriptc.inspect.snapshots import copied, undo_writes
from scriptc.runtime import bridge

SECONDS = 60.0  # the most time that calls in other sizes may take
QUADRATIC = 3  # with more sizes than these, the polynomial is linear in each
VARIED = 6  # the most sizes that are symbols of the formula
TOLERANCE = 0.01  # the relative error of one polynomial at the sizes that check it
PIECES_TOLERANCE = 0.08  # the relative error of the larger of two polynomials
FAR = (4, 12)  # factors of the sizes at which the second polynomial is fitted
Powers = tuple[int, ...]
Terms = dict[Powers, Fraction]  # a polynomial: coefficients by the powers of the symbols


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
    """

    name: str
    symbols: dict[str, str]  # the expressions that the symbols of the formula stand for
    sizes: dict[str, int]  # the sizes of the call, by symbol
    pieces: tuple[Terms, ...]
    least: dict[str, int]  # the least sizes for which the formula holds
    predicted: int
    measured: int

    @property
    def formula(self) -> str:
        """Return the formula as a Python expression over the symbols; empty if there is none."""
        texts = [self._text(terms) for terms in self.pieces]
        return f"max({', '.join(texts)})" if len(texts) > 1 else "".join(texts)

    def _text(self, terms: Terms) -> str:
        parts = []
        for powers, factor in sorted(terms.items(), key=lambda term: (-sum(term[0]), term[0])):
            names = [s for s, power in zip(self.symbols, powers, strict=True) for _ in range(power)]
            number = [] if factor == 1 and names else [str(factor) if factor.denominator == 1 else f"{float(factor):g}"]
            parts.append("*".join([*number, *names]))
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def at(self, **sizes: int) -> int:
        """Return the peak at other sizes. Symbols that are not named keep the value that they had in the measured call.

        Raises ValueError for a symbol that the formula does not have, and if there is no formula.
        """
        unknown = sizes.keys() - self.symbols.keys()
        if unknown or not self.pieces:
            raise ValueError(f"the formula has no {', '.join(sorted(unknown))}" if unknown else "there is no formula")
        return round(_largest(self.pieces, [(self.sizes | sizes)[name] for name in self.symbols]))

    def __str__(self) -> str:
        head = [f"{self.name}: peak memory of a call, in bytes", f"  {self._holds()}"]
        head += [f"  {name} = {meaning}" for name, meaning in self.symbols.items()]
        return "\n".join([*head, f"at {self._call()}: {self.predicted}; measured {self.measured}"])

    def _repr_html_(self) -> str:
        rows = [("formula", self._holds()), *self.symbols.items()]
        rows += [(f"at {self._call()}", str(self.predicted)), ("measured", str(self.measured))]
        return html_table((self.name, "peak memory of a call, in bytes"), rows)

    _repr_pretty_ = print_text

    def _holds(self) -> str:
        """Return the formula, and the least sizes for which it holds."""
        formula = self.formula or "does not follow from the sizes alone"
        least = ", ".join(f"{name}={value}" for name, value in self.least.items())
        return f"{formula}  from {least} on" if least else formula

    def _call(self) -> str:
        return ", ".join(f"{name}={self.sizes[name]}" for name in self.symbols) or "these arguments"


def memory(dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Memory:
    """Find the formula from a call, and from calls with random arguments in other sizes.

    Writes to the module are undone. Raises what the call raises.
    """
    receiver = dispatcher.target.receiver
    with torch.no_grad(), undo_writes(receiver if isinstance(receiver, torch.nn.Module) else None):
        found = _last[dispatcher] = _Finder(dispatcher, args, kwargs).run()
    return found


def last_memory(dispatcher: Dispatcher) -> Memory | None:
    """Return what `memory` found for the latest call of a dispatcher, or None."""
    return _last.get(dispatcher)


_last: WeakKeyDictionary[Dispatcher, Memory] = WeakKeyDictionary()


class _Finder:
    def __init__(self, dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]):
        own = Dispatcher(dispatcher.obj, dispatcher.options)
        example, named = copied((args, kwargs))
        own.call(*example, **named)
        self.target: Target = own.target
        variant = own.variants[-1]
        self.callable = bridge.Callable(_refuse)
        self.callable.add_variant(own.spec(variant))
        self.example = self.target.bind(args, kwargs)
        self.resized = ResizedArguments(variant.contract, self.example, self.works)
        self.deadline = time.monotonic() + SECONDS

    def run(self) -> Memory:
        asked = self.peak(copied(self.example))
        measured = self.callable.peak_bytes
        groups = [locations for locations, choices in self.resized.groups(_others) if len(choices) == 2][:VARIED]
        sizes = [self.size(locations[0]) for locations in groups]
        pieces, scale = self.fitted(groups, sizes)
        symbols = {_symbol(locations[0], self.example): _meaning(locations, self.example) for locations in groups}
        predicted = round(_largest(pieces, sizes)) if pieces and scale == 1 else asked
        at = dict(zip(symbols, sizes, strict=True))
        least = {name: scale * value for name, value in at.items()} if scale > 1 else {}
        return Memory(self.target.name, symbols, at, pieces, least, predicted, measured)

    def size(self, location: SizeLocation) -> int:
        return next(value for p, value in self.resized.sizes() if p == location)

    def fitted(self, groups: Sequence[list[SizeLocation]], sizes: Sequence[int]) -> tuple[tuple[Terms, ...], int]:
        """Return the polynomials of the formula, and the factor of the sizes from which it holds."""
        whole = self.through(groups, self.grid(sizes))
        if whole is not None and self.holds((whole,), groups, sizes, TOLERANCE):
            return (whole,), 1
        near = self.through(groups, [[v, v + max(1, v // 4)] for v in sizes])
        for scale in FAR:
            large = [scale * v for v in sizes]
            far = self.through(groups, self.grid(large))
            if near is None or far is None:
                break
            if all(self.holds((near, far), groups, [k * v for v in sizes], PIECES_TOLERANCE) for k in (1, 2)):
                return (near, far), 1
            if self.holds((far,), groups, large, TOLERANCE):
                return (far,), scale
        return (), 1

    def grid(self, sizes: Sequence[int]) -> list[list[int]]:
        few = len(sizes) <= QUADRATIC
        return [[v, *_others(v)] if few else [v, _others(v)[1]] for v in sizes]

    def through(self, groups: Sequence[list[SizeLocation]], points: Sequence[Sequence[int]]) -> Terms | None:
        """Return the polynomial through the peaks at a grid of sizes, or None if a call fails."""
        values = {}
        for at in itertools.product(*points):
            peak = self.peak_at(groups, at)
            if peak is None:
                return None
            values[at] = Fraction(peak)
        return {powers: factor for powers, factor in _through(points, values).items() if factor}

    def holds(
        self, pieces: Sequence[Terms], groups: Sequence[list[SizeLocation]], sizes: Sequence[int], tolerance: float
    ) -> bool:
        """Return whether a formula holds at other sizes than those that it was fitted to.

        These are between the fitted sizes and beyond them.
        """
        between = [v + max(1, v // 3) if v > 3 else v + 3 for v in sizes]
        for check in between, [3 * v + 1 for v in sizes], [*sizes[:1], *(3 * v for v in sizes[1:])]:
            peak = self.peak_at(groups, check)
            if peak is None or abs(_largest(pieces, check) - peak) > tolerance * peak:
                return False
        return True

    def peak_at(self, groups: Sequence[list[SizeLocation]], sizes: Sequence[int]) -> int | None:
        if time.monotonic() > self.deadline:
            return None
        chosen = {location: n for locations, n in zip(groups, sizes, strict=True) for location in locations}
        try:
            return self.peak(self.resized.make(chosen))
        except Exception:  # the function may refuse a combination of sizes
            return None

    def works(self, arguments: dict[str, Any]) -> bool:
        if time.monotonic() > self.deadline:
            return False
        try:
            self.peak(arguments)
        except Exception:  # the function may raise anything for sizes that do not fit
            return False
        return True

    def peak(self, arguments: dict[str, Any]) -> int:
        """Return the bytes that are allocated at the peak of a call in a fresh context."""
        bound = self.target.signature.bind_partial()
        bound.arguments.update(arguments)
        self.callable.count_allocations()
        self.callable.call(*bound.args, **bound.kwargs)
        return self.callable.asked_bytes


def _refuse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise _OtherVariant


def _others(value: int) -> list[int]:
    """Return two sizes near that of the example.

    Kernels may choose other algorithms at other scales.
    """
    return [value + max(1, value // 2), 2 * value + (value == 1)]


def _through(points: Sequence[Sequence[int]], values: dict[tuple[int, ...], Fraction]) -> Terms:
    """Return the polynomial through values on a grid.

    Its degree in a variable is one less than the number of points.
    """
    terms: Terms = {}
    bases = [[_lagrange(axis, i) for i in range(len(axis))] for axis in points]
    for at in itertools.product(*(range(len(axis)) for axis in points)):
        value = values[tuple(axis[i] for axis, i in zip(points, at, strict=True))]
        factors = [basis[i] for basis, i in zip(bases, at, strict=True)]
        for powers in itertools.product(*(range(len(factor)) for factor in factors)):
            part = prod((f[p] for f, p in zip(factors, powers, strict=True)), start=value)
            terms[powers] = terms.get(powers, Fraction(0)) + part
    return terms


def _lagrange(points: Sequence[int], i: int) -> list[Fraction]:
    """Return the coefficients of the polynomial that is 1 at points[i] and 0 at the others.

    They begin with the constant.
    """
    result = [Fraction(1)]
    for j, x in enumerate(points):
        if j != i:
            scale = Fraction(1, points[i] - x)
            shifted, kept_ = [Fraction(0), *result], [*result, Fraction(0)]
            result = [(s - x * k) * scale for s, k in zip(shifted, kept_, strict=True)]
    return result


def _largest(pieces: Sequence[Terms], sizes: Sequence[int]) -> Fraction:
    return max(
        sum((factor * prod(map(pow, sizes, powers)) for powers, factor in terms.items()), Fraction(0))
        for terms in pieces
    )


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
