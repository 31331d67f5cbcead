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


@decomposes("math.perm")
def perm(n: int, k: int | None = None) -> int:
    if k is None:
        return factorial(n)
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
    result = 1
    for i in range(k if k <= n else 0):
        result *= n - i
    return result if k <= n else 0


@decomposes("math.comb")
def comb(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
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
