"""Fit a formula of the sizes of a call to numbers that calls in other sizes give.

A polynomial is fitted through these points, and calls at other sizes check it. If it does not hold, the number may be that of
one point of the program for small sizes and of another for large ones. The formula is then the larger of two polynomials, or a
polynomial that holds for large sizes alone. A loop that backward runs again in chunks needs the root of a size.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt, prod

QUADRATIC = 3  # with more sizes than these, the polynomial is linear in each
TOLERANCE = 0.01  # the relative error of one polynomial at the sizes that check it
PIECES_TOLERANCE = 0.08  # the relative error of the larger of two polynomials
FAR = (4, 12)  # factors of the sizes at which the second polynomial is fitted
Powers = tuple[Fraction, ...]
Terms = dict[Powers, Fraction]  # a polynomial: coefficients by the powers of the symbols, of which 1/2 is the root rounded up


def text_of(terms: Terms, symbols: Sequence[str]) -> str:
    """Return a polynomial as a Python expression."""
    parts = []
    for powers, factor in sorted(terms.items(), key=lambda term: (-sum(term[0]), term[0])):
        names = [s for s, power in zip(symbols, powers, strict=True) for _ in range(int(power))]
        names += [f"ceil(sqrt({s}))" for s, power in zip(symbols, powers, strict=True) if power % 1]
        number = [] if factor == 1 and names else [str(factor) if factor.denominator == 1 else f"{float(factor):g}"]
        parts.append("*".join([*number, *names]))
    return " + ".join(parts).replace("+ -", "- ") or "0"


def largest(pieces: Sequence[Terms], sizes: Sequence[int]) -> Fraction:
    """Return the largest of some polynomials."""
    return max(
        sum((factor * prod(map(_power, sizes, powers)) for powers, factor in terms.items()), Fraction(0))
        for terms in pieces
    )


def _power(size: int, power: Fraction) -> int:
    whole: int = size ** int(power)
    return whole * (isqrt(size - 1) + 1 if size else 0) if power % 1 else whole


def others(value: int) -> list[int]:
    """Return two sizes near that of the example.

    Kernels may choose other algorithms at other scales.
    """
    return [value + max(1, value // 2), 2 * value + (value == 1)]


class Fitter:
    """Fits the formula of a number. number_at: returns the number at some sizes, None where the call fails there.

    roots: the formula may contain the root of a size.
    """

    def __init__(self, sizes: Sequence[int], number_at: Callable[[Sequence[int]], int | None], *, roots: bool = False):
        self.sizes = sizes
        self.number_at = number_at
        self.roots = roots

    def fitted(self) -> tuple[tuple[Terms, ...], int]:
        """Return the polynomials of the formula, and the factor of the sizes from which it holds."""
        sizes = self.sizes
        whole = self.through(self.grid(sizes))
        if whole is not None and self.holds((whole,), sizes, TOLERANCE):
            return (whole,), 1
        for axis in sorted(range(len(sizes)), key=lambda k: -sizes[k]) if self.roots else ():
            found = self.with_root(axis)
            if found is not None:
                return (found,), 1
        near = self.through([[v, v + max(1, v // 4)] for v in sizes])
        for scale in FAR:
            large = [scale * v for v in sizes]
            far = self.through(self.grid(large))
            if near is None or far is None:
                break
            if all(self.holds((near, far), [k * v for v in sizes], PIECES_TOLERANCE) for k in (1, 2)):
                return (near, far), 1
            if self.holds((far,), large, TOLERANCE):
                return (far,), scale
        return (), 1

    def with_root(self, axis: int) -> Terms | None:
        """Return a polynomial in the root of one size, or None if it does not hold at squares.

        Between two squares, the number is at most that of the larger one.
        """
        root = max(2, isqrt(self.sizes[axis]))
        points = self.grid(self.sizes)
        points[axis] = [root, root + max(1, root // 2), 2 * root]
        found = self.through(points, axis)
        if found is None:
            return None
        terms = {tuple(n / 2 if k == axis else n for k, n in enumerate(powers)): c for powers, c in found.items()}
        squares = [root * root if k == axis else v for k, v in enumerate(self.sizes)]
        return terms if self.holds((terms,), squares, TOLERANCE, axis) else None

    def grid(self, sizes: Sequence[int]) -> list[list[int]]:
        few = len(sizes) <= QUADRATIC
        return [[v, *others(v)] if few else [v, others(v)[1]] for v in sizes]

    def through(self, points: Sequence[Sequence[int]], squared: int = -1) -> Terms | None:
        """Call the function at each point of a grid, and return the polynomial through its numbers; None if a call fails.

        squared: the axis of the grid whose coordinates are the square roots of the sizes, or -1.
        """
        values = {}
        for at in itertools.product(*points):
            number = self.number_at([v * v if k == squared else v for k, v in enumerate(at)])
            if number is None:
                return None
            values[at] = Fraction(number)
        return {powers: factor for powers, factor in _through(points, values).items() if factor}

    def holds(self, pieces: Sequence[Terms], sizes: Sequence[int], tolerance: float, squared: int = -1) -> bool:
        """Return whether a formula holds at other sizes than those that it was fitted to.

        These are between the fitted sizes and beyond them. squared: the axis on which only squares are tried.
        """
        between = [v + max(1, v // 3) if v > 3 else v + 3 for v in sizes]
        for check in between, [3 * v + 1 for v in sizes], [*sizes[:1], *(3 * v for v in sizes[1:])]:
            at = [(isqrt(v - 1) + 1) ** 2 if k == squared else v for k, v in enumerate(check)]
            number = self.number_at(at)
            if number is None or abs(largest(pieces, at) - number) > tolerance * number:
                return False
        return True


def _through(points: Sequence[Sequence[int]], values: dict[tuple[int, ...], Fraction]) -> Terms:
    """Return the polynomial through values on a grid.

    Its degree in a variable is one less than the number of points.
    """
    terms: Terms = {}
    bases = [[_lagrange(axis, i) for i in range(len(axis))] for axis in points]
    for at in itertools.product(*(range(len(axis)) for axis in points)):
        value = values[tuple(axis[i] for axis, i in zip(points, at, strict=True))]
        factors = [basis[i] for basis, i in zip(bases, at, strict=True)]
        for found in itertools.product(*(range(len(factor)) for factor in factors)):
            powers = tuple(map(Fraction, found))
            part = prod((f[p] for f, p in zip(factors, found, strict=True)), start=value)
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
