"""Arithmetic on the parts of complex numbers, as Python does it."""

from __future__ import annotations

import math


def added(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    return a + c, b + d


def subtracted(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    return a - c, b - d


def negated(a: float, b: float) -> tuple[float, float]:
    return -a, -b


def product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    return a * c - b * d, a * d + b * c


def quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Divide by the larger part of the divisor first: the square of the divisor may overflow."""
    if abs(c) >= abs(d):
        if c == 0:
            raise ZeroDivisionError("complex division by zero")
        ratio = d / c
        divisor = c + d * ratio
        return (a + b * ratio) / divisor, (b - a * ratio) / divisor
    if abs(d) >= abs(c):
        ratio = c / d
        divisor = c * ratio + d
        return (a * ratio + b) / divisor, (b * ratio - a) / divisor
    return math.nan, math.nan


def power(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Multiply where the exponent is a small whole number, else compute in polar form."""
    if c == 0 and d == 0:
        return 1.0, 0.0
    if d == 0 and c == math.floor(c) and abs(c) <= 100:
        x, y = _whole_power(a, b, int(abs(c)))
        if c < 0:
            x, y = quotient(1.0, 0.0, x, y)
    elif a == 0 and b == 0:
        if d != 0 or c < 0:
            raise ZeroDivisionError("zero to a negative or complex power")
        return 0.0, 0.0
    else:
        size, angle = math.hypot(a, b), math.atan2(b, a)
        length, phase = math.pow(size, c), angle * c
        if d != 0:
            length = length / math.exp(angle * d)
            phase = phase + d * math.log(size)
        x, y = length * math.cos(phase), length * math.sin(phase)
    if (math.isinf(x) or math.isinf(y)) and math.isfinite(a) and math.isfinite(b):
        raise OverflowError("complex exponentiation")
    return x, y


def _whole_power(a: float, b: float, n: int) -> tuple[float, float]:
    x, y = 1.0, 0.0
    mask = 1
    while mask <= n:
        if n & mask:
            x, y = product(x, y, a, b)
        mask = mask * 2
        a, b = product(a, b, a, b)
    return x, y


def magnitude(a: float, b: float) -> float:
    size = math.hypot(a, b)
    if math.isinf(size) and math.isfinite(a) and math.isfinite(b):
        raise OverflowError("absolute value too large")
    return size


def exponential(a: float, b: float) -> tuple[float, float]:
    length = math.exp(a)
    return length * math.cos(b), length * math.sin(b)


def from_polar(r: float, phi: float) -> tuple[float, float]:
    return r * math.cos(phi), r * math.sin(phi)
