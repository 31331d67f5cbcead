"""Floats of 8 and 4 bits, which wider floats carry: each cast rounds to the values of the small type."""

from __future__ import annotations

import torch
from torch import Tensor


def rounded(x: Tensor, mantissa: int, least: int) -> Tensor:
    """Round to the nearest, ties to even, with `mantissa` bits and exponents of at least `least`."""
    wide = x if x.dtype == torch.float64 else x.to(torch.float32)
    _, exponent = torch.frexp(wide)  # the fraction is in [0.5, 1)
    unit = torch.pow(2.0, (torch.clamp(exponent - 1, min=least) - mantissa).to(torch.float32))
    return torch.where(torch.isfinite(wide), torch.round(wide / unit) * unit, wide)


def limited(x: Tensor, most: float, saturate: bool, infinite: bool) -> Tensor:
    """Return values beyond `most` as `most`, as infinity or as NaN."""
    beyond = torch.abs(x) > most
    if saturate:
        return torch.where(beyond, torch.copysign(torch.full_like(x, most), x), x).to(torch.float32)
    replaced = torch.copysign(torch.full_like(x, float("inf") if infinite else float("nan")), x)
    return torch.where(beyond, replaced, x).to(torch.float32)


def to_float8e4m3fn(x: Tensor, saturate: bool) -> Tensor:
    return limited(rounded(x, 3, -6), 448.0, saturate, False)


def to_float8e5m2(x: Tensor, saturate: bool) -> Tensor:
    return limited(rounded(x, 2, -14), 57344.0, saturate, True)


def without_negative_zero(x: Tensor) -> Tensor:
    return torch.where(x == 0, torch.zeros_like(x), x)


def to_float8e4m3fnuz(x: Tensor, saturate: bool) -> Tensor:
    return without_negative_zero(limited(rounded(x, 3, -7), 240.0, saturate, False))


def to_float8e5m2fnuz(x: Tensor, saturate: bool) -> Tensor:
    return without_negative_zero(limited(rounded(x, 2, -15), 57344.0, saturate, False))


def to_float4e2m1(x: Tensor, saturate: bool) -> Tensor:
    """Round to one of 0, 0.5, 1, 1.5, 2, 3, 4 and 6; NaN is -0, as in tensors that onnx makes."""
    made = limited(rounded(x, 1, 0), 6.0, True, False)
    return torch.where(torch.isnan(made), torch.full_like(made, -0.0), made)


def to_float8e8m0(x: Tensor, mode: str) -> Tensor:
    """Round to a power of 2 from 2**-127 to 2**127: up, down, or to the nearest."""
    wide = torch.abs(x.to(torch.float32))
    fraction, exponent = torch.frexp(wide)
    power = exponent - 1
    if mode == "up":
        power = torch.where(fraction > 0.5, power + 1, power)
    elif mode == "nearest":
        power = torch.where(fraction >= 0.75, power + 1, power)
    made = torch.pow(2.0, torch.clamp(power, -127, 127).to(torch.float64)).to(torch.float32)
    made = torch.where(wide == 0, torch.full_like(made, 2.0**-127), made)
    return torch.where(torch.isfinite(wide), made, torch.full_like(made, float("nan")))
