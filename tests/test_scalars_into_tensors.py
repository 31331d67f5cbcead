"""Numbers at the edges of what dtypes hold, put into tensors in every way that eager has: values, dtypes and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from expressions import agree_on
from statements import statements

# n is 3 and w is 1e300, which the compiler does not know; N stands for each number.
WAYS = """
    y = T.clone(); y[0] = N; y | y = T.clone(); y[n - 1, 1] = N; y | y = T.clone(); y[T > 1] = N; y
    y = T.clone(); y[[0]] = N; y
    torch.where(T > 1, T, N) | torch.where(T > 1, N, T) | torch.full((1,), N, dtype=T.dtype) | T.new_full((2,), N)
    torch.scalar_tensor(N, dtype=T.dtype) | torch.tensor([N, 1], dtype=T.dtype) | T.masked_fill(T > 1, N)
    torch.full_like(T, N)
    y = T.clone(); y[7] = N; y | y = T.clone(); y[False] = N; y | y = T.clone(); y[T > 1] = torch.tensor(N); y
"""
NUMBERS = ["1e300", "w", "-n * w", "math.inf", "-0.0", "2**31", "n * 2**40", "-1", "-n", "300", "70000.0", "-2.7", "True"]
SPACED = """
    torch.linspace(0, 1e300, 3) | torch.linspace(-1e300, 1e300, 5) | torch.linspace(w, -w, 5) | torch.linspace(0, 1e39, 1)
    torch.linspace(0, 1e300, 3, dtype=torch.float64) | torch.linspace(0, 70000, 5, dtype=torch.half)
    torch.linspace(-60000, 60000, 3, dtype=torch.half) | torch.linspace(0, math.inf, 3) | torch.linspace(0, 3e38, 3)
    torch.linspace(-3e38, 3e38, 3) | torch.linspace(3e38, -3e38, 5, dtype=torch.bfloat16) | torch.linspace(1e300, 0, 1)
    torch.linspace(1e300, 0, 0) | torch.linspace(70000, 0, 1, dtype=torch.half) | torch.linspace(n, n * 40000, 4)
    torch.linspace(n, n * 40000, 4, dtype=torch.half) | torch.linspace(0, 1e300, 3, dtype=torch.complex64)
    torch.logspace(0, 1e300, 3) | torch.logspace(0, 400, 3) | torch.logspace(0, 1, 3, base=1e300)
"""
# Numbers that a float32 does not hold in the C of loops.
COMPUTED = """
    x + 1e300 | x * w | 1e300 - x | x / 1e300 | x == 1e300 | x < -1e300 | x.clamp(-1e39, w) | h.clamp(max=1e300) | h + 1e300
    torch.where(x > 0, x + 1e300, 2.0) | torch.where(x > 0, 1e300, 2.0) | torch.where(x > 0, u, 1e300)
    torch.where(x > 0, x, 2j)
    u[-2, 2] = -2.0; u | u[-2, 5] = -2.0; u | u[-5, 2] = 300; u | u[n, 2] = -2.0; u | u[0, 2] = n * 100; u
    u[x > 0] = torch.tensor([300]); u | x[x > 0] = torch.tensor([1e300], dtype=torch.float64); x
"""
T = torch.tensor([[0, 1], [2, 100], [3, 7]])
GIVEN = {"x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "n": 3, "w": 1e300}


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_numbers(dtype: str, tmp_path: Path) -> None:
    pairs = [(way, number) for number in NUMBERS for way in statements(WAYS)]
    # Of floats at run time the index is looked at first.
    expressions = [
        way.replace("N", f"({number})") for way, number in pairs
        if not ("w" in number and ("[7]" in way or "[False]" in way))
    ]
    given = {"T": T.to(getattr(torch, dtype)), "n": 3, "w": 1e300}
    agree_on(expressions, given, tmp_path)


@pytest.mark.parametrize("optimize", [0, 2])
def test_computed(optimize: int, tmp_path: Path) -> None:
    given = GIVEN | {"h": torch.ones(3, 3).half(), "u": torch.arange(9, dtype=torch.uint8).reshape(3, 3)}
    agree_on([*statements(COMPUTED), *statements(SPACED)], given, tmp_path, optimize=optimize)
