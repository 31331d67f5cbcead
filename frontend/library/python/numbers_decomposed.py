"""Functions of the math module in terms of arithmetic."""

from __future__ import annotations

import math
from typing import Any

from scriptc.frontend.library.registry import decomposes


@decomposes("math.gcd")
def gcd(*numbers: int) -> int:
    result = 0
    for n in numbers:
        a, b = result, n
        while b:
            a, b = b, a % b
        result = abs(a)
    return result


@decomposes("math.lcm")
def lcm(*numbers: int) -> int:
    result = 1
    for n in numbers:
        result = 0 if n == 0 or result == 0 else abs(result // gcd(result, n) * n)
    return result


@decomposes("math.factorial")
def factorial(n: int) -> int:
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result


def _check_counts(n: int, k: int) -> None:
    for name, count in (("n", n), ("k", k)):
        if count < 0:
            raise ValueError(f"{name} must be a non-negative integer")


@decomposes("math.perm")
def perm(n: int, k: int | None = None) -> int:
    if k is None:
        return factorial(n)
    _check_counts(n, k)
    result = 1
    for i in range(k if k <= n else 0):
        result *= n - i
    return result if k <= n else 0


@decomposes("math.comb")
def comb(n: int, k: int) -> int:
    _check_counts(n, k)
    if k > n:
        return 0
    result = 1
    for i in range(min(k, n - k)):
        shared = gcd(result, i + 1)
        result = result // shared * ((n - i) // ((i + 1) // shared))
    return result


@decomposes("math.isqrt")
def isqrt(n: int) -> int:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(float(n) ** 0.5)
    while root > 3037000499 or root * root > n:
        root -= 1
    while root < 3037000499 and (root + 1) * (root + 1) <= n:
        root += 1
    return root


@decomposes("math.degrees")
def degrees(x: float) -> float:
    return float(x) * (180.0 / 3.141592653589793)


@decomposes("math.radians")
def radians(x: float) -> float:
    return float(x) * (3.141592653589793 / 180.0)


@decomposes("math.isclose")
def isclose(a: float, b: float, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    x, y = float(a), float(b)
    if x == y:
        return True
    if abs(x) == float("inf") or abs(y) == float("inf"):
        return False
    difference = abs(y - x)
    return difference <= abs(rel_tol * y) or difference <= abs(rel_tol * x) or difference <= abs_tol


@decomposes("math.modf")
def modf(x: float, /) -> tuple[float, float]:
    number = float(x)
    if math.isinf(number):
        return math.copysign(0.0, number), number
    fraction = math.fmod(number, 1.0)
    return math.copysign(fraction, number), math.copysign(number - fraction, number)


@decomposes("math.frexp")
def frexp(x: float, /) -> tuple[float, int]:
    number = float(x)
    if number == 0.0 or not math.isfinite(number):
        return number, 0
    exponent = math.floor(math.log2(abs(number))) + 1  # or one off
    mantissa = math.ldexp(number, -exponent) if exponent > -1000 else math.ldexp(number * 2.0**100, -exponent - 100)
    if abs(mantissa) >= 1.0:
        return mantissa * 0.5, exponent + 1
    if abs(mantissa) < 0.5:
        return mantissa * 2.0, exponent - 1
    return mantissa, exponent


@decomposes("math.ulp")
def ulp(x: float, /) -> float:
    number = abs(float(x))
    if not math.isfinite(number):
        return number
    following = math.nextafter(number, math.inf)
    return number - math.nextafter(number, 0.0) if math.isinf(following) else following - number


@decomposes("math.dist")
def dist(p: Any, q: Any, /) -> float:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return norm_of([float(p[i]) - float(q[i]) for i in range(len(p))])


def norm_of(coordinates: Any) -> float:
    """Return the length of a vector, rounded about as well as CPython does: squares are summed with their rounding errors."""
    largest = 0.0
    has_nan = False
    for x in coordinates:
        if math.isinf(x):
            return math.inf
        has_nan = has_nan or math.isnan(x)
        largest = max(largest, abs(x))
    if has_nan:
        return math.nan
    if largest == 0.0:
        return 0.0
    exponent = frexp(largest)[1]
    high, low = 0.0, 0.0
    for x in coordinates:
        scaled = math.ldexp(x, -exponent) if exponent > -1000 else math.ldexp(x * 2.0**100, -exponent - 100)
        square, error = _squared(scaled)
        total = high + square
        low += error + (square - (total - high) if high >= square else high - (total - square))
        high = total
    root = math.sqrt(high + low)
    square, error = _squared(root)
    root += (high - square + low - error) / (2.0 * root)
    return math.ldexp(root, exponent)


def _squared(x: float) -> tuple[float, float]:
    """Return the square of a number and the rounding error of it (Dekker, 1971)."""
    product = x * 134217729.0
    high = product - (product - x)
    low = x - high
    square = x * x
    return square, high * high - square + 2.0 * high * low + low * low


@decomposes("math.prod")
def prod(xs: Any, *, start: Any = 1) -> Any:
    result = start
    for x in xs:
        result = result * x
    return result


@decomposes("math.fsum")
def fsum(seq: Any) -> float:
    """Return a sum that is rounded once.

    As in CPython, floats whose bits do not overlap hold the running sum exactly.
    """
    partials: list[float] = []  # in ascending order of magnitude
    special, infinite = 0.0, 0.0
    for item in seq:
        if isinstance(item, str):
            raise TypeError("must be real number, not str")
        number = x = float(item)
        count = 0
        for i in range(len(partials)):
            y = partials[i]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials[count] = low
                count += 1
            x = high
        del partials[count:]
        if not math.isfinite(number):
            special += number
            infinite += number if math.isinf(number) else 0.0
            partials.clear()
        elif not math.isfinite(x):
            raise OverflowError("intermediate overflow in fsum")
        elif x != 0.0:
            partials.append(x)
    if special != 0.0:
        if math.isnan(infinite):
            raise ValueError("-inf + inf in fsum")
        return special
    return _rounded(partials)


def _rounded(partials: list[float]) -> float:
    """Return the float that is nearest to the sum of floats whose bits do not overlap."""
    n = len(partials) - 1
    if n < 0:
        return 0.0
    high, low = partials[n], 0.0
    while n > 0 and low == 0.0:
        n -= 1
        x, y = high, partials[n]
        high = x + y
        low = y - (high - x)
    if n > 0 and (low < 0.0) == (partials[n - 1] < 0.0):  # a tie, unless smaller parts decide it
        x = high + low * 2.0
        if low * 2.0 == x - high:
            high = x
    return high


def inverse_modulo(base: int, modulus: int) -> int:
    """Return the inverse of `base` modulo a positive number, by Euclid's algorithm."""
    divisor, rest, found, following = modulus, base % modulus, 0, 1
    while rest:
        times = divisor // rest
        divisor, rest = rest, divisor - times * rest
        found, following = following, found - times * following
    if divisor != 1:
        raise ValueError("base is not invertible for the given modulus")
    return found


def power_modulo(base: int, exponent: int, modulus: int) -> int:
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    if exponent < 0:
        base, exponent = inverse_modulo(base, abs(modulus)), -exponent
    result = 1 % modulus
    base = base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent //= 2
    return result


def round_int(n: int, digits: int) -> int:
    if digits >= 0:
        return int(n)
    unit = 10 ** (-digits)
    rest = n % unit
    low = n - rest
    if 2 * rest > unit or (2 * rest == unit and low // unit % 2 == 1):
        return low + unit
    return low


@decomposes("int.bit_length")
def bit_length(self: int) -> int:
    if self == -(2**63):
        return 64
    rest, bits = abs(self), 0
    while rest:
        rest >>= 1
        bits += 1
    return bits


@decomposes("int.bit_count")
def bit_count(self: int) -> int:
    if self == -(2**63):
        return 1
    rest, bits = abs(self), 0
    while rest:
        bits += rest & 1
        rest >>= 1
    return bits


@decomposes("float.is_integer")
def is_integer(self: float) -> bool:
    return math.isfinite(self) and self == math.floor(self) if abs(self) < 2.0**53 else math.isfinite(self)
