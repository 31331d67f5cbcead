"""Goals `a <= b + c` about integers and lengths, and the rules by which operations on ints reduce them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple

from scriptc.ir.core import Op, Value
from scriptc.ir.ranges import constant_int


@dataclass(frozen=True)
class Length:
    """The length of a list when control reaches the point. Nothing is known about lists that may become shorter."""

    of: Value


Term = Value | Length | None  # None: the number 0


class Goal(NamedTuple):
    """`a <= b + c` whenever `at` is reached."""

    a: Term
    b: Term
    c: int
    at: Op

    def with_a(self, a: Term, more: int = 0) -> Goal:
        return Goal(a, self.b, self.c + more, self.at)

    def with_b(self, b: Term, more: int = 0) -> Goal:
        return Goal(self.a, b, self.c + more, self.at)

    def at_most(self, a: Term, b: Term, c: int = 0) -> Goal:
        """Return another goal at the same point."""
        return Goal(a, b, c, self.at)


Way = list[Goal]  # goals that together imply another goal
Rule = Callable[..., Iterator[Way]]


def without_constants(goal: Goal) -> Goal:
    a, b, c, at = goal
    m = constant_int(a) if isinstance(a, Value) else None
    n = constant_int(b) if isinstance(b, Value) else None
    return Goal(a if m is None else None, b if n is None else None, c - (m or 0) + (n or 0), at)


def _halves(c: int) -> tuple[int, int]:
    return c // 2, c - c // 2


def _sum_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    for one, other in ((x, y), (y, x)):
        k = constant_int(other)
        if k is not None:
            yield [goal.with_a(one, -k)]
            return
    yield [goal.at_most(y, None), goal.with_a(x)]
    yield [goal.at_most(x, None), goal.with_a(y)]
    if goal.b is None:
        less, more = _halves(goal.c)
        yield [goal.at_most(x, None, less), goal.at_most(y, None, more)]


def _sum_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    for one, other in ((x, y), (y, x)):
        k = constant_int(other)
        if k is not None:
            yield [goal.with_b(one, k)]
            return
    yield [goal.at_most(None, y), goal.with_b(x)]
    yield [goal.at_most(None, x), goal.with_b(y)]
    if goal.a is None:
        less, more = _halves(goal.c)
        yield [goal.at_most(None, x, less), goal.at_most(None, y, more)]


def _difference_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    k = constant_int(y)
    if k is not None:
        yield [goal.with_a(x, k)]
        return
    yield [goal.at_most(None, y), goal.with_a(x)]
    if goal.b is None:
        yield [goal.at_most(x, y, goal.c)]


def _difference_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    k = constant_int(y)
    if k is not None:
        yield [goal.with_b(x, -k)]
        return
    yield [goal.at_most(y, None), goal.with_b(x)]
    if goal.a is None:
        yield [goal.at_most(y, x, goal.c)]


def _product_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    if goal.b is None and goal.c >= 0:
        yield _within(goal, isqrt(goal.c), x, y)


def _product_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    if x is y:  # x * x >= x and x * x >= 0 for integers
        yield [goal.with_b(x)]
        yield [goal.with_b(None)]
        return
    yield [goal.at_most(None, x), goal.at_most(None, y), goal.with_b(None)]
    for one, other in ((x, y), (y, x)):
        yield [goal.at_most(None, one), goal.at_most(None, other, -1), goal.with_b(one)]
    if goal.a is None and goal.c >= 0:
        yield _within(goal, isqrt(goal.c), x, y)


def _within(goal: Goal, largest: int, *values: Value) -> Way:
    return [g for v in values for g in (goal.at_most(v, None, largest), goal.at_most(None, v, largest))]


# If there is a result, the divisor is not 0. A divisor of 0 or more is therefore positive.
def _remainder_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    yield [goal.at_most(None, y), goal.with_a(y, 1)]
    yield [goal.at_most(None, y), goal.at_most(None, x), goal.with_a(x)]


def _remainder_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    yield [goal.at_most(None, y), goal.with_b(None)]


def _quotient_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    if constant_int(y) == 2 and (parts := _parts(x)):  # the middle of two ints is at most the larger one
        yield [goal.with_a(part) for part in parts]
    yield [goal.at_most(None, y), goal.at_most(None, x), goal.with_a(x)]


def _quotient_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    if constant_int(y) == 2 and (parts := _parts(x)):
        yield [goal.with_b(part) for part in parts]
    yield [goal.at_most(None, y), goal.at_most(None, x), goal.with_b(None)]


def _parts(x: Value) -> tuple[Value, ...]:
    return x.op.operands if x.op is not None and x.op.name == "int.add" else ()


def _least_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    yield [goal.with_a(x)]
    yield [goal.with_a(y)]


def _least_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    yield [goal.with_b(x), goal.with_b(y)]


def _greatest_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    yield [goal.with_a(x), goal.with_a(y)]


def _greatest_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    yield [goal.with_b(x)]
    yield [goal.with_b(y)]


def _bits_at_most(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    for v in (x, y):  # a & b is at most each operand that is not negative
        yield [goal.at_most(None, v), goal.with_a(v)]


def _bits_at_least(goal: Goal, x: Value, y: Value) -> Iterator[Way]:
    for v in (x, y):
        yield [goal.at_most(None, v), goal.with_b(None)]


def _truth_at_most(goal: Goal, x: Value) -> Iterator[Way]:
    yield [goal.with_a(None, -1)]


def _truth_at_least(goal: Goal, x: Value) -> Iterator[Way]:
    yield [goal.with_b(None)]


def _magnitude_at_least(goal: Goal, x: Value) -> Iterator[Way]:
    yield [goal.with_b(None)]
    yield [goal.with_b(x)]


# The rules for a goal whose `a` (ABOVE) or `b` (BELOW) is the result of an operation.
ABOVE: dict[str, Rule] = {
    "int.add": _sum_at_most, "int.sub": _difference_at_most, "int.mul": _product_at_most, "int.mod": _remainder_at_most,
    "int.floordiv": _quotient_at_most, "int.min": _least_at_most, "int.max": _greatest_at_most,
    "int.and_": _bits_at_most, "bool.to_int": _truth_at_most,
}  # fmt: skip
BELOW: dict[str, Rule] = {
    "int.add": _sum_at_least, "int.sub": _difference_at_least, "int.mul": _product_at_least,
    "int.mod": _remainder_at_least, "int.floordiv": _quotient_at_least, "int.min": _least_at_least,
    "int.max": _greatest_at_least, "int.and_": _bits_at_least, "int.abs": _magnitude_at_least,
    "bool.to_int": _truth_at_least,
}  # fmt: skip
