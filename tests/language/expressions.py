"""Expressions, builtins and functions of numbers."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import statistics
from collections import deque

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)
NAN, INF = float("nan"), float("inf")


@cases((7, 2), (-7, 2), (7, -2), (7.5, 2), (7, 0), (-7.5, -2.0), (1.0, 0.0))
def divmods(a, b):
    return divmod(a, b), a // b, a % b


@cases((7, 0), (7.0, 0), (1, -0.0), (True, 0.0), (7, 2))
def divmods_by_zero(a, b):
    try:
        return divmod(a, b)
    except ZeroDivisionError as e:
        return str(e)


@cases((2, 3), (2, -1), (0, -1), (-3, 3), (2.0, 0.5), (10, 18))
def powers(a, b):
    return pow(a, b), a**b, functools.partial(pow, exp=b)(a)


@cases((3, 200, 7), (3, 0, 1), (3, 5, 0), (-2, 3, 5), (2, -1, 7), (5, -3, -12), (4, -1, 6), (0, -2, 1), (-3, -5, 10))
def modular_powers(a, b, m):
    return pow(a, b, m)


@cases((2, 3, 7), (2.0, 3, 7), (2, 3.0, 7), (True, 3, 2), (2, 3, "m"), (X, 2, 3), (2, X, 3), (2, 3, 7.5))
def remainders_of_integers_alone(a, b, m):
    return pow(a, b, m)


@cases(0.5, 1.5, 2.5, -0.5, 2.675, 1e15, NAN, INF, 7)
def rounding(x):
    return round(x)


@cases((2.675, 2), (0.125, 2), (-1.55, 1), (1234.5, -2), (1e20, 3), (1250.0, -2))
@cases((15, -1), (25, -1), (35, -1), (-15, -1), (7, 2))
def rounding_to_digits(x, n):
    return round(x, n)


@cases((1, 2.5), (3, 2.5), (2.0, 2), (2, 2.0), (-1, 1))
def mixed_extremes(a, b):
    return max(a, b), min(a, b), max(a, b, 2), min((a, b), key=abs)


@cases(0.5, 0.0, -0.5, 2.0, -1.0, 1.0, NAN, INF, -INF, 1e308, -3.0, 171.5)
def math_functions(x):
    tan = math.tan(x) if abs(x) < 1e9 else 0.0
    return tan, math.fabs(x), math.isnan(x), math.isinf(x), math.isfinite(x), math.erf(x), math.atan(x)


MATH = (
    "sqrt exp log log2 log10 log1p expm1 asin acos sinh cosh asinh acosh atanh erfc gamma lgamma trunc floor ceil tan"
).split()


def _one(name):
    def program(x):
        return function(x)

    function = getattr(math, name)
    program.__name__ = f"math_{name}"
    huge = () if name in ("trunc", "floor", "ceil") else (1e308,)
    cases(0.5, 0.0, -0.5, 2.0, -1.0, 1.0, NAN, INF, -INF, *huge, -3.0, 1000.0, 3)(program)


for _name in MATH:
    _one(_name)


@cases((1.0, 2.0), (-1.0, 0.5), (0.0, -1.0), (INF, 1.0), (5.5, 0.0), (2.0, 2000.0), (NAN, 0.0))
def math_of_two(a, b):
    return math.atan2(a, b), math.copysign(a, b), math.hypot(a, b), math.pow(a, b)


@cases((5.5, 2.0), (5.5, 0.0), (-5.5, 2.0), (INF, 2.0), (2.0, INF))
def math_fmod(a, b):
    return math.fmod(a, b)


@cases((5.5, 2.0), (-5.0, 3.0), (5.0, 0.0), (INF, 2.0), (2.0, -INF), (NAN, 0.0))
def math_remainder(a, b):
    return math.remainder(a, b)


@cases(0.75, -0.5, 0.0, -0.0, 8.0, 1e-310, -5e-324, 1e308, INF, -INF, NAN, 3)
def math_parts_of_floats(x):
    return math.frexp(x), math.modf(x), math.ulp(x), math.nextafter(x, 0.0), math.ldexp(x, -3)


@cases((1.0, 3), (0.7, -1080), (1.0, 1024), (INF, 5), (0.0, 2**40), (1.0, -(2**40)))
def math_ldexp(x, n):
    return math.ldexp(x, n)


@cases(0.1, -3.0, 0.0, 1e200, 5e-324, INF, NAN)
def math_norms(x):
    return math.hypot(), math.hypot(x), math.hypot(x, 0.2, -0.7), math.hypot(x, INF, x), math.dist((x, 0.3), (0.1, 0.2))


@cases(([1.0, 2.0], [4.0, 6.0]), ([0.1, 0.2, 0.3], [0.0, 0.0, 0.0]), ([1.0], [1.0, 2.0]), ([], []))
def math_distances(p, q):
    return math.dist(p, q)


@cases((12, 18), (0, 5), (-4, 6), (0, 0), (5, 2), (10, 3))
def math_of_ints(a, b):
    return math.gcd(a, b), math.lcm(a, b), math.isqrt(a * a + b * b), math.isclose(a, b + 1e-12)


@cases((5, 2), (0, 0), (20, 10), (3, 5), (-1, 2), (1, -2), (-1, -2))
def combinatorics(n, k):
    return math.comb(n, k), math.perm(n, k), math.factorial(n)


@cases((5, 2), (-1, 2), (1, -2))
def permutations_of_counts(n, k):
    return math.perm(n, k)


@cases([2, 3], [])
def math_prod(xs):
    return math.prod(xs), math.prod(xs, start=5)


@cases(
    [0.1] * 10, [1e16, 1.0, 1e-16, -1e16], [1.0, 2.0**-53, 2.0**-106], [1.0, 2.0**-53, -(2.0**-106)], [1e308, 1e308, -1e308],
    [1.0, INF, -1.0], [INF, -INF], [NAN, 1.0], [2.0, -2.0], [-0.0], [],
)  # fmt: skip
def math_sums_rounded_once(xs):
    return math.fsum(xs), math.fsum([1, True, 0.5])


@cases([0.1] * 10, [1.5])
def math_means_rounded_once(xs):
    return statistics.fmean(xs)


@cases((1, 2), (3, 3))
def operators_by_name(a, b):
    quotients = operator.truediv(a, b), operator.floordiv(a, b)
    negated = operator.neg(a), operator.not_(a > b), operator.not_(0)
    return operator.add(a, b), operator.mul(a, 2), operator.lt(a, b), negated, quotients


@cases(([1, 2, 1], {1: 2, 3: 4}, 1), ([], {3: 4}, 3), ([5, 1], {}, 0))
def items_by_operators(xs, d, n):
    found = [operator.countOf(xs, n), operator.concat(xs, [n]), operator.concat("ab", str(n)), operator.inv(n)]
    try:
        operator.setitem(xs, 0, n + 7)
        operator.setitem(d, n, 9)
        operator.delitem(d, 3)
        return found, xs, d, operator.indexOf(xs, n), operator.iconcat(xs, (n,))
    except (KeyError, IndexError, ValueError) as e:
        return found, xs, d, type(e).__name__


@cases(3, [1])
def joined_by_operator(x):
    try:
        return operator.concat(x, x)
    except TypeError as e:
        return str(e)


class Row:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __add__(self, other):
        return Row([self.items[0], other[0]])


class Sum:
    def __add__(self, other):
        return 7


@cases(1, 5)
def own_classes_joined_by_operator(n):
    row = operator.concat(Row([n, 2]), [5, n])
    row = operator.iconcat(row, (7,))
    both = list(operator.concat(deque([n]), deque([2])))
    found = []
    for i in range(3):
        try:
            if i == 0:
                operator.concat(row, n)
            elif i == 1:
                operator.concat(Sum(), [n])
            else:
                operator.concat(range(n), range(n))
        except TypeError as e:
            found.append(str(e))
    return row[0], row[1], both, found


@cases(1, 5)
def partials(n):
    def f(a, b, c=3):
        return a * 100 + b * 10 + c

    g = functools.partial(f, n)
    h = functools.partial(g, c=9)
    return g(2), h(4), functools.reduce(lambda a, b: a + b, [n, 1, 2]), functools.reduce(operator.mul, [n, 2], 10)


@cases(1, 4)
def itertools_of_known(n):
    total = 0
    for a, b in itertools.product((1, 2), (n, 3)):
        total += a * b
    for a in itertools.chain([n], (1, 2)):
        total += a
    sums = list(itertools.accumulate((n, 2, 3)))
    return total, sums, list(itertools.islice((n, 2, 3), 1, 3)), list(itertools.zip_longest((n, 2), (3,)))


@cases((1, 2, 3), (3, 2, 1))
def known_sequences(a, b, c):
    t = (a, b, c)
    mapped = list(map(lambda x: x + 1, t))
    return t[::-1], list(t)[2:0:-1], sorted(t), tuple(reversed(t)), mapped, list(enumerate(t, start=2)), sum(t)


@cases(0, 3, -3)
def boolean_values(n):
    return n or 5, n and 7, not n, (n or None), n and "x"


@cases((1, 0), (0, 1), (2, 2))
def short_circuits(a, b):
    return any(10 // x > 2 for x in (a, b)), [x for x in (a, b) if x]


@cases((3, 2.5, True), (-1, 1e22, False), (0, 1e-7, True), (5, 0.1, False))
@cases((7, 123456789.125, True), (7, NAN, True), (7, -INF, True))
def printed(n, x, b):
    print("n =", n, x, b, f"{x:.3f} {n:5d}", (n, x), [n], sep="|", end="$\n")
    print(f"100% {{}} {x!r} {n}", {"a": n})
    return n


@cases((3, 1.5), (-3, 0.1))
def messages(n, x):
    if n < 0:
        raise ValueError(f"n={n} x={x} {x:.2f} {n > 0}%")
    assert n < 0, "n is " + str(n)
    return n


@cases((torch.arange(3), -2), (torch.arange(3), 3), (torch.arange(3.0), -2))
def powers_of_tensors(x, n):
    return x**n, torch.pow(x, n)


@cases((torch.tensor([1.0, -2.0, INF, NAN]),), (torch.tensor([1.0, -2.0]).half(),))
def numbers_beyond_single_precision(x):
    return 1e300 - x, x * -1e300, x + 3.5e38, x < 1e300
