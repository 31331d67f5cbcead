"""Functions of Python's floats that runtimes lack for doubles, from those that they have: to a few units in the last place.

Domain errors are NaN.
"""

from __future__ import annotations

import math

from scriptc.onnx.writing.operators.rows import Call, row

_LARGE = 1e18  # its arc tangent is pi / 2


def _number(c: Call, value: float) -> str:
    return c.graph.constant(value, "f64")


def _signed(c: Call, size: str, x: str) -> str:
    """Return a size with the sign of x, that of zero as well."""
    zero = _number(c, 0.0)
    negative = c("Or", c("Less", x, zero), c("And", c("Equal", x, zero), c("Less", c("Reciprocal", x), zero)))
    return c("Where", negative, c("Neg", size), size)


def _expm1(c: Call, x: str) -> str:
    """Return exp(x) - 1. The error of the exponential, u, is taken back by its logarithm."""
    one = _number(c, 1.0)
    u = c("Exp", x)
    difference = c("Sub", u, one)
    exact = c("Mul", difference, c("Div", x, c("Log", u)))
    near = c("Less", c("Abs", x), one)
    chosen = c("Where", near, exact, difference)
    return c("Where", c("Equal", u, one), x, chosen)


def _log1p(c: Call, x: str) -> str:
    """Return log(1 + x). What the sum u rounds away is taken back by the factor x / (u - 1)."""
    one = _number(c, 1.0)
    u = c("Add", one, x)
    logarithm, difference = c("Log", u), c("Sub", u, one)
    chosen = c("Where", c("Less", x, one), c("Mul", logarithm, c("Div", x, difference)), logarithm)
    return c("Where", c("Equal", u, one), x, c("Where", c("Equal", u, _number(c, 0.0)), logarithm, chosen))


def _atan(c: Call, x: str) -> str:
    """Return the arc tangent of float32, y, and the tangent of the rest."""
    bounded = c("Min", c("Max", x, _number(c, -_LARGE)), _number(c, _LARGE))
    y = c.graph.cast(c("Atan", c.graph.cast(bounded, "f32")), "f64")
    sine, cosine = c("Sin", y), c("Cos", y)
    rest = c("Div", c("Sub", c("Mul", bounded, cosine), sine), c("Add", cosine, c("Mul", bounded, sine)))
    return c("Add", y, rest)


@row("math.expm1")
def expm1(c: Call) -> str:
    return _expm1(c, c[0])


@row("math.log1p")
def log1p(c: Call) -> str:
    return _log1p(c, c[0])


@row("math.sinh")
def sinh(c: Call) -> str:
    """Return (e + e / (e + 1)) / 2 for e = exp(|x|) - 1."""
    e = _expm1(c, c("Abs", c[0]))
    part = c("Div", e, c("Add", e, _number(c, 1.0)))
    whole = c("Where", c("IsInf", e), e, c("Add", e, part))
    return _signed(c, c("Mul", whole, _number(c, 0.5)), c[0])


@row("math.asinh")
def asinh(c: Call) -> str:
    one, size = _number(c, 1.0), c("Abs", c[0])
    square = c("Mul", size, size)
    small = _log1p(c, c("Add", size, c("Div", square, c("Add", one, c("Sqrt", c("Add", one, square))))))
    large = c("Add", c("Log", size), _number(c, math.log(2.0)))
    return _signed(c, c("Where", c("Less", size, _number(c, 1e8)), small, large), c[0])


@row("math.acosh")
def acosh(c: Call) -> str:
    t = c("Sub", c[0], _number(c, 1.0))
    small = _log1p(c, c("Add", t, c("Sqrt", c("Mul", t, c("Add", t, _number(c, 2.0))))))
    large = c("Add", c("Log", c[0]), _number(c, math.log(2.0)))
    return c("Where", c("Less", c[0], _number(c, 1e8)), small, large)


@row("math.atanh")
def atanh(c: Call) -> str:
    size = c("Abs", c[0])
    ratio = c("Div", c("Add", size, size), c("Sub", _number(c, 1.0), size))
    return _signed(c, c("Mul", _log1p(c, ratio), _number(c, 0.5)), c[0])


@row("math.atan")
def atan(c: Call) -> str:
    return _signed(c, _atan(c, c("Abs", c[0])), c[0])


@row("math.asin")
def asin(c: Call) -> str:
    one, size = _number(c, 1.0), c("Abs", c[0])
    cosine = c("Sqrt", c("Mul", c("Sub", one, size), c("Add", one, size)))
    return _signed(c, _atan(c, c("Div", size, cosine)), c[0])


@row("math.acos")
def acos(c: Call) -> str:
    one, two = _number(c, 1.0), _number(c, 2.0)
    return c("Mul", two, _atan(c, c("Sqrt", c("Div", c("Sub", one, c[0]), c("Add", one, c[0])))))


@row("math.atan2")
def atan2(c: Call) -> str:
    zero, y, x = _number(c, 0.0), c("Abs", c[0]), c("Abs", c[1])
    ratio = c("Where", c("Equal", y, x), _number(c, 1.0), c("Div", y, x))
    angle = c("Where", c("Equal", y, zero), zero, _atan(c, ratio))
    unsure = c("Or", c("IsNaN", c[0]), c("IsNaN", c[1]))
    angle = c("Where", unsure, c("Add", y, x), angle)
    behind = c("Less", _signed(c, _number(c, 1.0), c[1]), zero)
    return _signed(c, c("Where", behind, c("Sub", _number(c, math.pi), angle), angle), c[0])


@row("math.hypot")
def hypot(c: Call) -> str:
    x, y = c("Abs", c[0]), c("Abs", c[1])
    most, least = c("Max", x, y), c("Min", x, y)
    ratio = c("Where", c("Equal", most, _number(c, 0.0)), most, c("Div", least, most))
    length = c("Mul", most, c("Sqrt", c("Add", _number(c, 1.0), c("Mul", ratio, ratio))))
    infinite = c("Or", c("IsInf", c[0]), c("IsInf", c[1]))
    return c("Where", infinite, _number(c, math.inf), length)
