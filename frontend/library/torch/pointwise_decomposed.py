"""Pointwise functions as formulas of others."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch.lerp", "Tensor.lerp", widens=True)
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """Interpolate from the nearer end, so that weights 0 and 1 give the ends exactly."""
    difference = end - input
    if isinstance(weight, Tensor):
        return torch.where(weight.abs() < 0.5, input + weight * difference, end - difference * (1 - weight))
    part = weight if isinstance(weight, complex) else float(weight)
    if abs(part) < 0.5:
        return input + part * difference
    return (input - end) * (1 - part) + end  # the first operand, the input, gives the strides


@decomposes("torch.addcmul", "Tensor.addcmul", widens=True, promotes=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    return input + (tensor1 * tensor2 if value == 1 else value * tensor1 * tensor2)


@decomposes("torch.addcdiv", "Tensor.addcdiv", widens=True, promotes=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    return input + (tensor1 / tensor2 if value == 1 else value * tensor1 / tensor2)


def inexact(input: Tensor) -> Tensor:
    """Return a tensor of integers in the default dtype, and other tensors as they are."""
    return input if input.is_floating_point() or input.is_complex() else input.to(torch.get_default_dtype())


def root(x: Tensor) -> Tensor:
    """Return the square root of a sum of squares, whose gradient at 0 is 0, as that of a norm is."""
    return torch.sqrt(torch.where(x == 0, 0.0, x))


@decomposes("torch.nan_to_num", "Tensor.nan_to_num")
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    if input.is_complex():
        parts = torch.view_as_real(input)
        return torch.view_as_complex(torch.nan_to_num(parts, nan, posinf, neginf).contiguous())
    if not input.is_floating_point():
        return input.clone()
    info = torch.finfo(input.dtype)
    upper = info.max if posinf is None else _rounded(posinf, info.max)
    lower = info.min if neginf is None else _rounded(neginf, info.max)
    whole = torch.where(input == math.inf, upper, torch.where(input == -math.inf, lower, input))
    return torch.where(torch.isnan(input), 0.0 if nan is None else _rounded(nan, info.max), whole)


def _rounded(number: float, largest: float) -> float:
    """Return infinity for a number beyond what a dtype holds, as C's conversions do."""
    given = float(number)
    return math.copysign(math.inf, given) if abs(given) > largest else given


@decomposes("torch.logit", "Tensor.logit", "torch.special.logit", widens=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    x = inexact(input)
    if eps is not None and not eps < 0:
        x = torch.where(x < eps, eps, torch.where(x > 1 - eps, 1 - eps, x))
    return torch.log(x / (1 - x))


@decomposes("torch.ldexp", "Tensor.ldexp")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    return input * torch.pow(2.0, other)


def _in_double(x: Tensor | float) -> Tensor | float:
    if not isinstance(x, Tensor):
        return x if isinstance(x, complex) else float(x)
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


@decomposes("torch.float_power", "Tensor.float_power")
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    return torch.pow(_in_double(input), _in_double(exponent))


@decomposes("torch.positive", "Tensor.positive")
def positive(input: Tensor) -> Tensor:
    if input.dtype == torch.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@decomposes("torch.isclose", "Tensor.isclose")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    close = input == other
    if equal_nan:
        close = close | (torch.isnan(input) & torch.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    allowed = atol + torch.abs(rtol * other)
    difference = input ^ other if input.dtype == torch.bool else torch.abs(input - other)
    return close | (torch.isfinite(difference) & (difference <= allowed))


@decomposes("torch.allclose", "Tensor.allclose")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(torch.all(torch.isclose(input, other, rtol, atol, equal_nan)))


@decomposes("torch.mvlgamma", "Tensor.mvlgamma", "torch.special.multigammaln")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    result = torch.lgamma(input)
    for j in range(1, p):
        result = result + torch.lgamma(input - j / 2)
    return result + p * (p - 1) / 4 * math.log(math.pi)


@decomposes("torch.polygamma", "torch.special.polygamma", widens=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    x = inexact(input)
    if n == 0:
        return torch.digamma(x)
    if n == 1:  # reflection below 1/2
        sine = torch.sin(math.pi * x)
        reflected = math.pi * math.pi / (sine * sine) - torch.special.zeta(2, 1 - x)
        return torch.where(x < 0.5, reflected, torch.special.zeta(2, torch.where(x < 0.5, 1.0, x)))
    return (-1.0) ** (n + 1) * math.gamma(n + 1) * torch.special.zeta(n + 1, x)


@decomposes("Tensor.polygamma")
def polygamma_method(input: Tensor, n: int) -> Tensor:
    return torch.polygamma(n, input)


@decomposes("torch.special.entr", widens=True)
def entr(input: Tensor) -> Tensor:
    x = inexact(input)
    return torch.where(x > 0, -x * torch.log(x), torch.where(x == 0, 0.0, torch.where(x < 0, -math.inf, x)))


@decomposes("torch.special.spherical_bessel_j0")
def spherical_bessel_j0(x: Tensor) -> Tensor:
    value = torch.sin(x) / x
    return torch.where(x == 0, 1.0, torch.where(torch.isinf(x), 0.0, value))


def _shifted(name: str, function: object) -> None:
    @decomposes(f"torch.special.shifted_chebyshev_polynomial_{name}")
    def polynomial(input: Tensor | float, n: Tensor | int) -> Tensor:
        return function(2 * input - 1, n)  # type: ignore[operator]


_shifted("t", torch.special.chebyshev_polynomial_t)
_shifted("u", torch.special.chebyshev_polynomial_u)
_shifted("v", torch.special.chebyshev_polynomial_v)
_shifted("w", torch.special.chebyshev_polynomial_w)
