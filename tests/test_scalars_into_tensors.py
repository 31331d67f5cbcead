"""Numbers at the edges of what dtypes hold, put into tensors in every way that eager has: values, dtypes and errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from expressions import agree_on, trying
from settings import sweep
from statements import module_of, statements
from three_ways import Args, assert_same, compile_at, compiled, eager

import scriptc

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
DTYPES = ["uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
T = torch.tensor([[0, 1], [2, 100], [3, 7]])
GIVEN = {"x": torch.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0], [2.5, 0.0, 1.5]]), "n": 3, "w": 1e300}


@pytest.mark.parametrize("dtype", sweep(DTYPES, "float32"))
def test_numbers(dtype: str, lasting_path: Path) -> None:
    pairs = [(way, number) for number in NUMBERS for way in statements(WAYS)]
    # Of floats at run time the index is looked at first.
    expressions = [
        way.replace("N", f"({number})") for way, number in pairs
        if not ("w" in number and ("[7]" in way or "[False]" in way))
    ]
    given = {"T": T.to(getattr(torch, dtype)), "n": 3, "w": 1e300}
    agree_on(expressions, given, lasting_path)


@pytest.mark.parametrize("optimize", sweep([0, 2], 0))
def test_computed(optimize: int, lasting_path: Path) -> None:
    given = GIVEN | {"h": torch.ones(3, 3).half(), "u": torch.arange(9, dtype=torch.uint8).reshape(3, 3)}
    agree_on([*statements(COMPUTED), *statements(SPACED)], given, lasting_path, optimize=optimize)

# Functions that convert N to the dtype in which they compute, or say themselves which numbers they take.
TAKING = """
    T.clamp(N) | T.clamp(max=N) | T.clip(N, 5.5) | torch.clamp_min(T, N) | y = T.clone(); y.clamp_(max=N); y
    torch.clamp(T, N, 7.5)
    F.softshrink(T, N) | F.hardshrink(T, N) | F.celu(T, N) | F.rrelu(T, N, N) | F.hardtanh(T, N, N) | F.threshold(T, 1, N)
    torch.nan_to_num(T / 1, N, N, N) | torch.lerp(T, T * 2, N) | torch.logit(T / 8, N) | torch.special.logit(T, eps=N)
    torch.add(T, T, alpha=N) | torch.add(T, 2.5, alpha=N) | torch.add(T, N, alpha=2) | torch.sub(T, T, alpha=N)
    torch.sub(T, N, alpha=2) | torch.rsub(T, T, alpha=N) | y = T.clone(); y.sub_(T, alpha=N); y | T - N | N - T
    T // N | T % N | torch.fmod(T, N) | torch.div(T, N, rounding_mode="trunc") | y = T.clone(); y %= N; y | T ** N | N ** T
    y = T.clone(); y **= N; y | T >> N | N >> T | T << N | y = T.clone(); y &= N; y | y = T.clone(); y <<= N; y | T & N
    torch.norm(T, N) | torch.dist(T, T * 2, N) | torch.renorm(T.reshape(1, -1), 2, 0, N)
    T.isclose(T, N) | T.isclose(T, atol=N)
    T.scatter(0, torch.tensor([0]), N, reduce="add") | T.scatter(0, torch.tensor([0]), N, reduce="multiply")
    F.huber_loss(T, T * 2, delta=N) | F.smooth_l1_loss(T, T * 2, beta=N) | F.hinge_embedding_loss(T, T, margin=N)
    F.cosine_similarity(T, T, dim=0, eps=N) | torch.histc(T, 3, N, 5) | torch.isin(T, N) | torch.bucketize(N, T)
    torch.searchsorted(T, N) | max(T[0], N) | min(N, T[0])
"""
# A number and a dtype that a function does not take: which of the two errors comes depends on the function.
TWICE_WRONG = ("celu", "huber", "histc", "rrelu", "smooth_l1")
KNOWN_NUMBERS = ["2**31", "300", "-1", "1e300", "math.nan", "-2.5", "True"]
RUN_TIME_NUMBERS: list[list[Any]] = [
    [-(2**63), 2**63 - 1, 300, -300, 65536, -1, 0, 3], [1e300, float("nan"), float("-inf"), 65520.0, -2.5, 0.0, 0.1], [True],
]  # fmt: skip


def taking(dtype: str) -> list[str]:
    ways = statements(TAKING)
    return ways if dtype.startswith("float") else [way for way in ways if not any(f"{n}" in way for n in TWICE_WRONG)]


@pytest.mark.parametrize("dtype", sweep(["uint8", "int32", "float16", "float32"], "float16"))
@pytest.mark.parametrize("numbers", RUN_TIME_NUMBERS, ids=["int", "float", "bool"])
def test_numbers_of_run_time(numbers: list[Any], dtype: str, lasting_path: Path) -> None:
    given = torch.tensor([0, 1, 2, 7, 120]).to(getattr(torch, dtype))
    function = module_of(trying(taking(dtype), ("T", "N"), messages=False), lasting_path).tried
    made = compile_at(function, 0)
    for number in numbers:
        call = Args((given, number))
        assert_same(eager(function, call), compiled(made, call))


@pytest.mark.parametrize("dtype", sweep(["uint8", "float16"], "uint8"))
@pytest.mark.parametrize("number", sweep(KNOWN_NUMBERS, "2**31", "math.nan", "-2.5"))
def test_known_numbers(number: str, dtype: str, lasting_path: Path) -> None:
    expressions = [re.sub(r"\bN\b", f"({number})", way) for way in taking(dtype)]
    agree_on(expressions, {"T": torch.tensor([0, 1, 2, 7, 120]).to(getattr(torch, dtype))}, lasting_path)


FILLED = """
    torch.full_like(T, N) | T.clone().fill_(N) | torch.fill(T, N) | T.clone().fill_(torch.tensor(N)) | T.masked_fill(T < 9, N)
    torch.full_like(T, N, dtype=torch.float32) | y = T.clone(); y[:1].fill_(N); y | T.new_full(T.shape, N)
"""


@pytest.mark.parametrize("dtype", sweep(["float16", "bfloat16"], "float16"))
@pytest.mark.parametrize("number", ["w", "-n * w", "65519.0", "70000 * n", "1e300", "math.nan"])
def test_one_element_of_a_half_type_is_filled_without_a_check(number: str, dtype: str, lasting_path: Path) -> None:
    expressions = [way.replace("N", f"({number})") for way in statements(FILLED)]
    for size in (0, 1, 2):
        agree_on(expressions, {"T": torch.zeros(size, dtype=getattr(torch, dtype)), "n": 3, "w": 1e300}, lasting_path)


@pytest.mark.parametrize("number", ["w", "-w", "2.0**63", "-(2.0**63)", "n * w", "9.3e18"])
def test_the_float_beyond_int64_wraps(number: str, lasting_path: Path) -> None:
    more = ["F.pad(T, (1, 1), value=N)", "F.threshold(T, 5, N)", "F.hardtanh(T, -1, N)", "y = T.clone(); y[0] = N; y"]
    expressions = [way.replace("N", f"({number})") for way in statements(FILLED) + more]
    agree_on(expressions, {"T": torch.arange(3), "n": 3, "w": 2.0**63}, lasting_path)


# One bound that is NaN gives NaN, and eager does not look at the other. Bounds are not rounded to float32 on their way.
BOUNDED = """
    F.hardtanh(T, 0, N) | F.hardtanh(T, N, 1e300) | F.hardtanh(T, -1e300, N) | F.hardtanh(T, 2**31, N) | F.hardtanh(T, -0.1, N)
    T.clamp(N, 2**31) | T.clamp(1e300, N) | y = T.clone(); y.clamp_(N, 1e300); y | F.hardtanh(T, -0.1, 0.1)
"""


@pytest.mark.parametrize("dtype", sweep(["uint8", "float16", "float64"], "uint8", "float16"))
def test_bounds(dtype: str, lasting_path: Path) -> None:
    known = [way.replace("N", number) for way in statements(BOUNDED) for number in ("math.nan", "0.1", "1e300")]
    agree_on(known, {"T": torch.arange(3).to(getattr(torch, dtype))}, lasting_path, messages=True)
    for w in (float("nan"), 0.1, 1e300, float("inf")):
        given = {"T": torch.arange(3).to(getattr(torch, dtype)), "w": w}
        agree_on([way.replace("N", "w") for way in statements(BOUNDED)], given, lasting_path, messages=True)


# Products of operands of other dtypes than the result's: eager makes them in the dtype of the result.
SCALED = """
    torch.add(T, U, alpha=256) | torch.sub(T, U, alpha=3) | torch.rsub(U, T, alpha=100) | T.clone().add_(U, alpha=256)
    torch.addcmul(T, U, U) | torch.addcmul(T, U, U, value=2) | torch.addcdiv(T, U, T) | torch.addcdiv(T, T, U, value=2)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_products_are_made_in_the_dtype_of_the_result(dtype: str, lasting_path: Path) -> None:
    result = torch.tensor([1, 2, 5]).to(getattr(torch, dtype))
    for other in (torch.tensor(2**62), torch.tensor([200, 3, 7], dtype=torch.uint8), torch.tensor(300, dtype=torch.float16)):
        agree_on(statements(SCALED), {"T": result, "U": other}, lasting_path)


def test_shifts_of_bytes() -> None:
    def shifted(x, n):
        return x >> n, x << n, n >> x

    made, x = scriptc.compile(shifted, optimize=0), torch.tensor([0, 1, 7, 8, 100, 200, 255], dtype=torch.uint8)
    for n in (0, 1, 7, 8, 9, 64, 255):
        for found, expected in zip(made(x, n), shifted(x, n), strict=True):
            torch.testing.assert_close(found, expected)


class float32:  # noqa: N801
    """A class of a user, which has the name of NumPy's scalars and a value as a float."""

    def __float__(self) -> float:
        return 2.0


OWN, NUMPYS = float32(), np.float32(2.0)


def test_scalars_of_numpy_are_told_by_their_class() -> None:
    def with_numpy(x):
        return x * NUMPYS, torch.add(x, NUMPYS)

    def with_own(x):
        return x * OWN

    x = torch.ones(2)
    assert_same(eager(with_numpy, Args((x,))), compiled(compile_at(with_numpy, 0), Args((x,))))
    for call in (with_own, scriptc.compile(with_own, optimize=0)):
        with pytest.raises(TypeError, match="float32"):
            call(x)
