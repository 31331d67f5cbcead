"""Arithmetic on uint64 elements, whose bits int64 tensors carry."""

from __future__ import annotations

import torch
from torch import Tensor


def flip_uint64(x: Tensor) -> Tensor:
    """Flip the top bit, so that the order of the int64 is the order of the uint64."""
    return x ^ -0x8000000000000000


def max_uint64(a: Tensor, b: Tensor) -> Tensor:
    return flip_uint64(torch.maximum(flip_uint64(a), flip_uint64(b)))


def min_uint64(a: Tensor, b: Tensor) -> Tensor:
    return flip_uint64(torch.minimum(flip_uint64(a), flip_uint64(b)))


def top_k_uint64(x: Tensor, k: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    values, indices = torch.topk(flip_uint64(x), k, axis, largest)
    return flip_uint64(values), indices


def div_uint64(a: Tensor, b: Tensor) -> Tensor:
    """Return the quotient of uint64 elements. A zero in `b` raises, as for the other integers."""
    above = flip_uint64(a) >= flip_uint64(b)
    divisor = torch.where(b < 0, torch.ones_like(b), b)  # a divisor of 2**63 or more goes into `a` at most once
    half = torch.div((a >> 1) & 0x7FFFFFFFFFFFFFFF, divisor, rounding_mode="trunc") << 1
    rest = a - half * divisor
    quotient = half + (flip_uint64(rest) >= flip_uint64(divisor)).to(torch.int64)
    return torch.where(b < 0, above.to(torch.int64), quotient)


def mod_uint64(a: Tensor, b: Tensor) -> Tensor:
    return a - div_uint64(a, b) * b


def from_uint64(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return uint64 elements as floats, rounded once."""
    half = ((x >> 1) & 0x7FFFFFFFFFFFFFFF) | (x & 1)  # the last bit stays set, so that halving rounds no tie
    return torch.where(x < 0, half.to(dtype) * 2, x.to(dtype))


def to_uint64(x: Tensor) -> Tensor:
    """Return floats as uint64 elements, rounded toward zero."""
    wide = x.to(torch.float64)
    large = wide >= 9223372036854775808.0
    small = torch.where(large, wide - 9223372036854775808.0, wide).to(torch.int64)
    return torch.where(large, flip_uint64(small), small)
