"""Signs of zeros that a C compiler would lose."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import scriptc


def numbers_from_zero(n: int, a: float) -> Any:
    of_floats = 0.0 - n, 0.0 - float(n), 0.0 - abs(a), -0.0 - abs(a), 0.0 - (n > 0), 0.0 - n * n, abs(-0.0) - n
    return *of_floats, 0 - float(n), 0 - abs(a), False - float(n), n - 0.0, -0.0 + n


def tensors_from_zero(x: torch.Tensor, n: torch.Tensor) -> Any:
    of_ints = 0.0 - n.float(), 0 - n.double(), 0 - (n > 0).float(), torch.rsub(n, 0.0)
    return *of_ints, 0 - x.abs(), 0.0 - x.abs().double(), torch.rsub(x.abs(), 0.0), -0.0 - x.abs(), torch.zeros(3) - x.abs()


def signs(values: Any) -> list[Any]:
    return [torch.signbit(v).tolist() if isinstance(v, torch.Tensor) else math.copysign(1, v) for v in values]


@pytest.mark.parametrize("optimize", [0, 1, 3])
def test_differences_from_zero(optimize: int) -> None:
    """GCC takes 0 - x for -x where it sees that x is an int converted, or an absolute value."""
    made = scriptc.compile(numbers_from_zero, optimize=optimize)
    for call in ((0, 0.0), (0, -0.0), (2, 1.5)):
        assert signs(made(*call)) == signs(numbers_from_zero(*call))
    of_tensors = scriptc.compile(tensors_from_zero, optimize=optimize)
    x, n = torch.tensor([0.0, -0.0, 1.0]), torch.tensor([0, 1, -1])
    assert signs(of_tensors(x, n)) == signs(tensors_from_zero(x, n))
