"""Derivatives of pointwise ops. Gradients have the shape of the result; those of broadcast operands are summed up later.

An operand that is annotated as a number may be one; other operands are tensors wherever it matters.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives


def conj(x: Tensor) -> Tensor:
    """Return the conjugate of a complex tensor or number, and a real one as it is."""
    if isinstance(x, Tensor):
        return torch.conj_physical(x) if x.is_complex() else x
    return x.conjugate() if isinstance(x, complex) else x


# ---- arithmetic ----


@derives("add", "self", "other")
@derives("sub", "self")
@derives("cast", "self")
@derives("clone", "self")
@derives("frac", "self")
@derives("remainder", "self")
@derives("fmod", "self")
def identity(grad: Tensor) -> Tensor:
    return grad


@derives("neg", "self")
@derives("sub", "other")
def negated(grad: Tensor) -> Tensor:
    return -grad


@derives("mul", "self")
def mul_self(grad: Tensor, other: Tensor) -> Tensor:
    return grad * conj(other)


@derives("mul", "other")
def mul_other(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(self)


@derives("div", "self")
def div_self(grad: Tensor, other: Tensor) -> Tensor:
    return grad / conj(other)


@derives("div", "other")
def div_other(grad: Tensor, result: Tensor, other: Tensor) -> Tensor:
    return -grad * conj(result / other)


@derives("reciprocal", "self")
def reciprocal(grad: Tensor, result: Tensor) -> Tensor:
    return -grad * conj(result * result)


@derives("remainder", "other")
def remainder_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return -grad * torch.div(self, other, rounding_mode="floor")


@derives("fmod", "other")
def fmod_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return -grad * torch.div(self, other, rounding_mode="trunc")


@derives("deg2rad", "self")
def deg2rad(grad: Tensor) -> Tensor:
    return grad * (math.pi / 180)


@derives("rad2deg", "self")
def rad2deg(grad: Tensor) -> Tensor:
    return grad * (180 / math.pi)


# ---- exponentials, logarithms and powers ----


@derives("exp", "self")
def exp(grad: Tensor, result: Tensor) -> Tensor:
    return grad * conj(result)


@derives("exp2", "self")
def exp2(grad: Tensor, result: Tensor) -> Tensor:
    return grad * conj(result) * math.log(2)


@derives("expm1", "self")
def expm1(grad: Tensor, result: Tensor) -> Tensor:
    return grad * (conj(result) + 1)


@derives("log", "self")
def log(grad: Tensor, self: Tensor) -> Tensor:
    return grad / conj(self)


@derives("log2", "self")
def log2(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (conj(self) * math.log(2))


@derives("log10", "self")
def log10(grad: Tensor, self: Tensor) -> Tensor:
    return grad / (conj(self) * math.log(10))


@derives("log1p", "self")
def log1p(grad: Tensor, self: Tensor) -> Tensor:
    return grad / conj(self + 1)


@derives("sqrt", "self")
def sqrt(grad: Tensor, result: Tensor) -> Tensor:
    return grad / (2 * conj(result))


@derives("rsqrt", "self")
def rsqrt(grad: Tensor, result: Tensor) -> Tensor:
    return -0.5 * grad * conj(result * result * result)


@derives("pow", "self")
def pow_self(grad: Tensor, self: Tensor, other: Tensor | float) -> Tensor:
    if isinstance(other, Tensor):
        return torch.where(other == 0, 0, grad * conj(other * torch.pow(self, other - 1)))
    return pow_number(grad, self, other)


@derives("pow.number", "self")
def pow_number(grad: Tensor, self: Tensor, exponent: float) -> Tensor:
    if exponent == 0:
        return torch.zeros_like(grad)
    return grad * conj(exponent * torch.pow(self, exponent - 1))


@derives("pow", "other")
def pow_other(grad: Tensor, self: Tensor | float, other: Tensor, result: Tensor) -> Tensor:
    base = self if isinstance(self, Tensor) else torch.full((), self, dtype=result.dtype)
    slope = grad * conj(result * torch.log(base))
    power = other.real if other.is_complex() else other
    flat = (power >= 0) & (other.imag == 0) if other.is_complex() else power >= 0
    return torch.where((base == 0) & flat, 0, slope)


@derives("logaddexp", "self")
def logaddexp_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp(other - self))


@derives("logaddexp", "other")
def logaddexp_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp(self - other))


@derives("logaddexp2", "self")
def logaddexp2_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp2(other - self))


@derives("logaddexp2", "other")
def logaddexp2_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad / (1 + torch.exp2(self - other))


@derives("xlogy", "self")
def xlogy_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where((self == 0) & (other <= 0), 0, torch.xlogy(grad, other))


@derives("xlogy", "other")
def xlogy_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * self / other


@derives("xlog1py", "self")
def xlog1py_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where((self == 0) & (other <= -1), 0, torch.special.xlog1py(grad, other))


@derives("xlog1py", "other")
def xlog1py_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * self / (other + 1)


# ---- trigonometric and hyperbolic functions ----


@derives("sin", "self")
def sin(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(torch.cos(self))


@derives("cos", "self")
def cos(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(-torch.sin(self))


@derives("tan", "self")
def tan(grad: Tensor, result: Tensor) -> Tensor:
    return grad * conj(1 + result * result)


@derives("asin", "self")
def asin(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(torch.rsqrt(1 - self * self))


@derives("acos", "self")
def acos(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(-torch.rsqrt(1 - self * self))


@derives("atan", "self")
def atan(grad: Tensor, self: Tensor) -> Tensor:
    return grad / conj(self * self + 1)


@derives("sinh", "self")
def sinh(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(torch.cosh(self))


@derives("cosh", "self")
def cosh(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(torch.sinh(self))


@derives("tanh", "self")
def tanh(grad: Tensor, result: Tensor) -> Tensor:
    return grad * conj(1 - result * result)


@derives("asinh", "self")
def asinh(grad: Tensor, self: Tensor) -> Tensor:
    return grad * conj(torch.rsqrt(self * self + 1))


@derives("acosh", "self")
def acosh(grad: Tensor, self: Tensor) -> Tensor:
    if self.is_complex():
        return grad * conj(torch.rsqrt(self + 1) * torch.rsqrt(self - 1))
    return grad * torch.rsqrt(self * self - 1)


@derives("atanh", "self")
def atanh(grad: Tensor, self: Tensor) -> Tensor:
    return grad / conj(1 - self * self)


@derives("sigmoid", "self")
def sigmoid(grad: Tensor, result: Tensor) -> Tensor:
    return grad * conj((1 - result) * result)


@derives("erf", "self")
def erf(grad: Tensor, self: Tensor) -> Tensor:
    return 2 / math.sqrt(math.pi) * torch.exp(-(self * self)) * grad


@derives("sinc", "self")
def sinc(grad: Tensor, self: Tensor) -> Tensor:
    scaled, square = self * math.pi, self * self * math.pi
    return torch.where(square == 0, 0, grad * conj((scaled * torch.cos(scaled) - torch.sin(scaled)) / square))


@derives("atan2", "self")
def atan2_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    square = self * self + other * other
    return torch.where(square == 0, 0, grad * other / square)


@derives("atan2", "other")
def atan2_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    square = self * self + other * other
    return torch.where(square == 0, 0, grad * -self / square)


@derives("hypot", "self")
def hypot_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * self / result


@derives("hypot", "other")
def hypot_other(grad: Tensor, other: Tensor, result: Tensor) -> Tensor:
    return grad * other / result


# ---- signs, choices and parts ----


@derives("abs", "self")
def abs(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.sgn(self)


@derives("sgn", "self")
def sgn(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    length = torch.abs(self)
    return torch.where(length == 0, 0, grad / length - torch.real(grad / result) * result / length)


@derives("angle", "self")
def angle(grad: Tensor, self: Tensor) -> Tensor:
    if not self.is_complex():
        return torch.zeros_like(grad)
    length = torch.abs(self)
    return torch.where(self == 0, 0, grad * self / (length * length) * 1j)


@derives("conj", "self")
@derives("conj_physical", "self")
def conjugate(grad: Tensor) -> Tensor:
    return torch.conj_physical(grad)


@derives("complex", "self")
def complex_self(grad: Tensor) -> Tensor:
    return torch.real(grad)


@derives("complex", "other")
def complex_other(grad: Tensor) -> Tensor:
    return torch.imag(grad)


@derives("relu", "self")
def relu(grad: Tensor, result: Tensor) -> Tensor:
    return torch.where(result <= 0, 0, grad)


@derives("copysign", "self")
def copysign_self(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * torch.where(self == 0, 0, result / self)


@derives("copysign", "other")
@derives("nextafter", "other")
def nothing(grad: Tensor) -> Tensor:
    return torch.zeros_like(grad)


@derives("nextafter", "self")
def nextafter_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self != other, grad, 0)


@derives("frexp.mantissa", "self")
def frexp_mantissa(grad: Tensor, self: Tensor) -> Tensor:
    return grad / torch.exp2(torch.frexp(self)[1])


@derives("maximum", "self")
@derives("minimum", "other")
def larger_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self < other, 0, torch.where(self == other, grad / 2, grad))


@derives("maximum", "other")
@derives("minimum", "self")
def larger_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self > other, 0, torch.where(self == other, grad / 2, grad))


@derives("clamp.min", "self")
def clamp_min_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self >= other, grad, 0)


@derives("clamp.min", "other")
def clamp_min_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self < other, grad, 0)


@derives("clamp.max", "self")
def clamp_max_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self <= other, grad, 0)


@derives("clamp.max", "other")
def clamp_max_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where(self > other, grad, 0)


@derives("fmax", "self")
def fmax_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where((self >= other) | (other != other), grad, 0)


@derives("fmax", "other")
def fmax_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where((self >= other) | (other != other), 0, grad)


@derives("fmin", "self")
def fmin_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where((self <= other) | (other != other), grad, 0)


@derives("fmin", "other")
def fmin_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return torch.where((self <= other) | (other != other), 0, grad)


@derives("where", "self")
def where_self(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, grad, 0)


@derives("where", "other")
def where_other(grad: Tensor, condition: Tensor) -> Tensor:
    return torch.where(condition, 0, grad)
