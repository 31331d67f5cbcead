"""Measure the difference between two tensors: the largest absolute, relative and ulp distances."""

from __future__ import annotations

from dataclasses import dataclass

import torch

# (rtol, atol): the defaults of torch.testing.assert_close. Tensors of other dtypes are compared exactly.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
_SIGN = -(2**63)


@dataclass(frozen=True)
class Difference:
    """The distances between two tensors.

    where: the index of the element that exceeds the tolerance most, None if all elements are equal. close: whether all
    elements are within the tolerance.
    """

    max_abs: float
    max_rel: float
    max_ulp: int | None  # None if the dtype is not floating, or one of two elements alone is NaN
    where: tuple[int, ...] | None
    close: bool


def tolerance(dtype: torch.dtype) -> tuple[float, float]:
    """Return (rtol, atol) for tensors of a dtype."""
    return TOLERANCES.get(dtype, (0.0, 0.0))


def difference(actual: torch.Tensor, expected: torch.Tensor) -> Difference:
    """Return the difference between two tensors of one dtype and shape. NaN equals NaN."""
    rtol, atol = tolerance(expected.dtype)
    if expected.is_complex():
        actual, expected = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    same = (actual == expected) | (actual.isnan() & expected.isnan())
    if bool(same.all()):
        return Difference(0.0, 0.0, 0 if expected.dtype in _BITS else None, None, True)
    if not expected.is_floating_point():
        a, b = actual.to(torch.int64), expected.to(torch.int64)
        apart, index = _largest(a, b)
        magnitude = abs(int(b.flatten()[index]))
        return Difference(apart, apart / magnitude if magnitude else float("inf"), None, _at(index, b), False)
    a, b = actual.double(), expected.double()
    off = torch.where(same, 0.0, (a - b).abs()).nan_to_num(nan=float("inf"), posinf=float("inf"))
    allowed = torch.where(b.isfinite(), atol + rtol * b.abs(), 0.0)
    excess = off - allowed
    worst = int(excess.argmax())
    rel = torch.where(same, 0.0, off / b.abs()).nan_to_num(nan=float("inf"), posinf=float("inf"))
    close = float(excess.flatten()[worst]) <= 0
    return Difference(float(off.max()), float(rel.max()), max_ulp(actual, expected), _at(worst, b), close)


def max_ulp(actual: torch.Tensor, expected: torch.Tensor) -> int | None:
    """Return the largest distance of elements in adjacent floats, or None (see `Difference`)."""
    nan = actual.isnan() | expected.isnan()
    if expected.dtype not in _BITS or not bool((actual.isnan() == expected.isnan()).all()):
        return None
    a, b = (torch.where(nan, 0, _ordered(t)) for t in (actual, expected))
    return _largest(a, b)[0]


def error_against(values: torch.Tensor, reference: torch.Tensor) -> float:
    """Return the largest distance from a float64 reference.

    It is infinite if one of two elements alone is NaN or infinite.
    """
    a, r = values.double(), reference.double()
    same = (a == r) | (a.isnan() & r.isnan())
    return float(torch.where(same, 0.0, (a - r).abs()).nan_to_num(nan=float("inf")).max()) if a.numel() else 0.0


def _ordered(x: torch.Tensor) -> torch.Tensor:
    """Map floats to integers in the same order.

    Adjacent floats differ by one, and both zeros are 0.
    """
    integer = _BITS[x.dtype]
    bits = x.contiguous().view(integer).to(torch.int64)
    return torch.where(bits < 0, torch.iinfo(integer).min - bits, bits)


def _largest(a: torch.Tensor, b: torch.Tensor) -> tuple[int, int]:
    """Return the largest |a - b| of int64 elements, and its flat index.

    A difference that wraps is taken as unsigned.
    """
    apart = torch.maximum(a, b) - torch.minimum(a, b)
    index = int((apart ^ _SIGN).argmax())
    return int(apart.flatten()[index]) % 2**64, index


def _at(flat: int, like: torch.Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), like.shape))
