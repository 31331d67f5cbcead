"""The loops of NumPy's ufuncs, as functions of tensors of the dtypes of a loop."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import computes

# ---- arithmetic ----


@computes("add")
def add(a: Tensor, b: Tensor) -> Tensor:
    return torch.logical_or(a, b) if a.dtype == torch.bool else a + b


@computes("subtract")
def subtract(a: Tensor, b: Tensor) -> Tensor:
    return a - b


@computes("multiply")
def multiply(a: Tensor, b: Tensor) -> Tensor:
    return torch.logical_and(a, b) if a.dtype == torch.bool else a * b


@computes("divide")
def divide(a: Tensor, b: Tensor) -> Tensor:
    return a / b


@computes("floor_divide")
def floor_divide(a: Tensor, b: Tensor) -> Tensor:
    """Return the quotient rounded down, and zero for a division of integers by zero."""
    if a.is_floating_point():
        return a // b
    zero = b == 0
    return torch.where(zero, 0, a // torch.where(zero, 1, b))


@computes("remainder")
def remainder(a: Tensor, b: Tensor) -> Tensor:
    """Return the remainder with the sign of the divisor: zero for a division of integers by zero."""
    if a.is_floating_point():
        found = torch.remainder(a, b)
        return torch.where(found == 0, torch.copysign(found, b), found)
    zero = b == 0
    return torch.where(zero, 0, torch.remainder(a, torch.where(zero, 1, b)))


@computes("fmod")
def fmod(a: Tensor, b: Tensor) -> Tensor:
    if a.is_floating_point():
        return torch.fmod(a, b)
    zero = b == 0
    return torch.where(zero, 0, torch.fmod(a, torch.where(zero, 1, b)))


@computes("power")
def power(a: Tensor, b: Tensor) -> Tensor:
    if not a.is_floating_point() and not a.is_complex() and bool((b < 0).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")
    return torch.pow(a, b)


@computes("negative")
def negative(a: Tensor) -> Tensor:
    return -a


@computes("positive")
def positive(a: Tensor) -> Tensor:
    return a.clone()


@computes("square")
def square(a: Tensor) -> Tensor:
    return a * a


@computes("absolute", "fabs")
def absolute(a: Tensor) -> Tensor:
    return a.clone() if a.dtype == torch.bool else torch.abs(a)


@computes("sign")
def sign(a: Tensor) -> Tensor:
    return torch.where(torch.isnan(a), a, torch.sign(a)) if a.is_floating_point() else torch.sign(a)


@computes("maximum")
def maximum(a: Tensor, b: Tensor) -> Tensor:
    return torch.maximum(a, b)


@computes("minimum")
def minimum(a: Tensor, b: Tensor) -> Tensor:
    return torch.minimum(a, b)


@computes("fmax")
def fmax(a: Tensor, b: Tensor) -> Tensor:
    return torch.fmax(a, b)


@computes("fmin")
def fmin(a: Tensor, b: Tensor) -> Tensor:
    return torch.fmin(a, b)


# ---- functions of one real number ----


@computes("sqrt")
def sqrt(a: Tensor) -> Tensor:
    return torch.sqrt(a)


@computes("exp")
def exp(a: Tensor) -> Tensor:
    return torch.exp(a)


@computes("exp2")
def exp2(a: Tensor) -> Tensor:
    return torch.exp2(a)


@computes("expm1")
def expm1(a: Tensor) -> Tensor:
    return torch.expm1(a)


@computes("log")
def log(a: Tensor) -> Tensor:
    return torch.log(a)


@computes("log2")
def log2(a: Tensor) -> Tensor:
    return torch.log2(a)


@computes("log10")
def log10(a: Tensor) -> Tensor:
    return torch.log10(a)


@computes("log1p")
def log1p(a: Tensor) -> Tensor:
    return torch.log1p(a)


@computes("sin")
def sin(a: Tensor) -> Tensor:
    return torch.sin(a)


@computes("cos")
def cos(a: Tensor) -> Tensor:
    return torch.cos(a)


@computes("tan")
def tan(a: Tensor) -> Tensor:
    return torch.tan(a)


@computes("arcsin")
def arcsin(a: Tensor) -> Tensor:
    return torch.asin(a)


@computes("arccos")
def arccos(a: Tensor) -> Tensor:
    return torch.acos(a)


@computes("arctan")
def arctan(a: Tensor) -> Tensor:
    return torch.atan(a)


@computes("arctan2")
def arctan2(a: Tensor, b: Tensor) -> Tensor:
    return torch.atan2(a, b)


@computes("hypot")
def hypot(a: Tensor, b: Tensor) -> Tensor:
    return torch.hypot(a, b)


@computes("sinh")
def sinh(a: Tensor) -> Tensor:
    return torch.sinh(a)


@computes("cosh")
def cosh(a: Tensor) -> Tensor:
    return torch.cosh(a)


@computes("tanh")
def tanh(a: Tensor) -> Tensor:
    return torch.tanh(a)


@computes("floor")
def floor(a: Tensor) -> Tensor:
    return torch.floor(a) if a.is_floating_point() else a.clone()


@computes("ceil")
def ceil(a: Tensor) -> Tensor:
    return torch.ceil(a) if a.is_floating_point() else a.clone()


@computes("trunc")
def trunc(a: Tensor) -> Tensor:
    return torch.trunc(a) if a.is_floating_point() else a.clone()


@computes("rint")
def rint(a: Tensor) -> Tensor:
    return torch.round(a)


@computes("reciprocal")
def reciprocal(a: Tensor) -> Tensor:
    return 1 / a


@computes("deg2rad", "radians")
def radians(a: Tensor) -> Tensor:
    return torch.deg2rad(a)


@computes("rad2deg", "degrees")
def degrees(a: Tensor) -> Tensor:
    return torch.rad2deg(a)


# ---- truths ----


@computes("isnan")
def isnan(a: Tensor) -> Tensor:
    return torch.isnan(a)


@computes("isinf")
def isinf(a: Tensor) -> Tensor:
    return torch.isinf(a)


@computes("isfinite")
def isfinite(a: Tensor) -> Tensor:
    return torch.isfinite(a)


@computes("equal")
def equal(a: Tensor, b: Tensor) -> Tensor:
    return a == b


@computes("not_equal")
def not_equal(a: Tensor, b: Tensor) -> Tensor:
    return a != b


@computes("less")
def less(a: Tensor, b: Tensor) -> Tensor:
    return a < b


@computes("less_equal")
def less_equal(a: Tensor, b: Tensor) -> Tensor:
    return a <= b


@computes("greater")
def greater(a: Tensor, b: Tensor) -> Tensor:
    return a > b


@computes("greater_equal")
def greater_equal(a: Tensor, b: Tensor) -> Tensor:
    return a >= b


@computes("logical_and")
def logical_and(a: Tensor, b: Tensor) -> Tensor:
    return torch.logical_and(a, b)


@computes("logical_or")
def logical_or(a: Tensor, b: Tensor) -> Tensor:
    return torch.logical_or(a, b)


@computes("logical_xor")
def logical_xor(a: Tensor, b: Tensor) -> Tensor:
    return torch.logical_xor(a, b)


@computes("logical_not")
def logical_not(a: Tensor) -> Tensor:
    return torch.logical_not(a)


# ---- bits ----


@computes("bitwise_and")
def bitwise_and(a: Tensor, b: Tensor) -> Tensor:
    return a & b


@computes("bitwise_or")
def bitwise_or(a: Tensor, b: Tensor) -> Tensor:
    return a | b


@computes("left_shift")
def left_shift(a: Tensor, b: Tensor) -> Tensor:
    return a << b


@computes("right_shift")
def right_shift(a: Tensor, b: Tensor) -> Tensor:
    return a >> b


@computes("bitwise_xor")
def bitwise_xor(a: Tensor, b: Tensor) -> Tensor:
    return a ^ b


@computes("invert")
def invert(a: Tensor) -> Tensor:
    return ~a
