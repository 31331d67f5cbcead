"""Derivatives of special functions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives

_ROOT_OF_PI = math.sqrt(math.pi)
_ROOT_OF_2_PI = math.sqrt(2 * math.pi)


@derives("lgamma", "self")
def lgamma(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.digamma(self)


@derives("digamma", "self")
def digamma(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.polygamma(1, self)


@derives("erfinv", "self")
def erfinv(grad: Tensor, result: Tensor) -> Tensor:
    return 0.5 * _ROOT_OF_PI * torch.exp(result * result) * grad


@derives("erfc", "self")
def erfc(grad: Tensor, self: Tensor) -> Tensor:
    return -2 / _ROOT_OF_PI * torch.exp(-(self * self)) * grad


@derives("erfcx", "self")
def erfcx(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return (2 * self * result - 2 / _ROOT_OF_PI) * grad


@derives("ndtr", "self")
def ndtr(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.exp(-(self * self) / 2) / _ROOT_OF_2_PI


@derives("ndtri", "self")
def ndtri(grad: Tensor, result: Tensor) -> Tensor:
    return grad * _ROOT_OF_2_PI * torch.exp(result * result / 2)


@derives("log_ndtr", "self")
def log_ndtr(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad / _ROOT_OF_2_PI * torch.exp(-(result + self * self / 2))


@derives("i0", "self")
def i0(grad: Tensor, self: Tensor) -> Tensor:
    return grad * torch.special.i1(self)


@derives("i0e", "self")
def i0e(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * (torch.special.i1e(self) - torch.sgn(self) * result)


@derives("i1", "self")
def i1(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    tiny = torch.finfo(self.dtype).eps
    far = torch.abs(self) > tiny
    safe = torch.where(far, self, tiny)
    return grad * torch.where(far, torch.i0(safe) - result * torch.reciprocal(safe), 0.5)


@derives("i1e", "self")
def i1e(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    tiny = torch.finfo(self.dtype).eps
    far = torch.abs(self) > tiny
    safe = torch.where(far, self, tiny)
    slope = torch.special.i0e(safe) - result * (torch.sgn(safe) + torch.reciprocal(safe))
    return grad * torch.where(far, slope, 0.5)


@derives("zeta", "other")
def zeta_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * -self * torch.special.zeta(self + 1.0, other)


def _gamma_density(self: Tensor, other: Tensor) -> Tensor:
    shape = self if isinstance(self, Tensor) else torch.full((), self, dtype=other.dtype)
    return torch.exp((shape - 1) * torch.log(other) - other - torch.lgamma(shape))


@derives("igamma", "other")
def igamma_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * _gamma_density(self, other)


@derives("igammac", "other")
def igammac_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return -grad * _gamma_density(self, other)
