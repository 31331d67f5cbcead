"""Texts of tensors, compared with those that torch writes, under several of its print options."""

from __future__ import annotations

import math
from typing import Any

import torch

import scriptc

NAN, INF = math.nan, math.inf
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"precision": 2, "linewidth": 40}, {"threshold": 5, "edgeitems": 1}, {"threshold": 3, "edgeitems": 0},
    {"sci_mode": True}, {"sci_mode": False, "precision": 8},
)  # fmt: skip


def tensors() -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)

    def normal(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(size, generator=random).to(dtype)

    numbers = (
        [1.0, 2.0, 3.0], [1e10, 1.0], [1e-5, 1.0], [NAN, INF, -INF], [NAN, 1.5, -INF, -0.0], [0.0, NAN], [-0.0, 0.0],
        [1e9, NAN, 2e9], [123456.789, 0.1], [1e38, 1e-38], [99999999.0, 1.0], [1000.5, 1.0], 2.5, 3, True,
        [True, False], [complex(1, -2), complex(NAN, -0.0)],
    )  # fmt: skip
    made = [torch.tensor(n) for n in numbers]
    sizes = ((0,), (0, 3), (2, 0, 1), (3,), (2, 3), (2, 3, 4), (2, 2, 2, 2), (50,), (1001,), (40, 50), (3, 40, 50), (1, 1, 1))
    made += [normal(*size) for size in sizes]
    made += [normal(*size).mul(90).long() for size in ((3,), (2, 3), (50,), (1001,), (40, 50))]
    made += [normal(12, dtype=d) for d in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.bool)]
    made += [torch.zeros(0, dtype=torch.float64), torch.zeros(2, 0, dtype=torch.bool), torch.arange(3000).view(3, 1000)]
    made += [normal(4, 5).t(), normal(3, 1).expand(3, 4), normal(10, 20)[::2, ::3], normal(26, dtype=torch.float64)]
    return made + [torch.complex(normal(3), normal(3)), torch.complex(normal(1200), normal(1200)).to(torch.complex128)]


def text(x: torch.Tensor) -> str:
    return str(x)


def test_texts_are_those_that_torch_writes() -> None:
    compiled = scriptc.compile(text, optimize=0)
    for options in OPTIONS:
        with torch._tensor_str.printoptions(**options):
            for x in tensors() if not options else tensors()[::5]:
                assert compiled(x) == str(x), options


def test_a_compiled_function_follows_the_options() -> None:
    compiled, x = scriptc.compile(text, optimize=0), torch.tensor([0.5, 1 / 3])
    for precision in (4, 2, 8, 3):
        with torch._tensor_str.printoptions(precision=precision):
            assert compiled(x) == str(x)


def test_the_dtype_stands_there_unless_it_is_the_default() -> None:
    compiled, x = scriptc.compile(text, optimize=0), torch.tensor([0.5])
    before = torch.get_default_dtype()
    try:
        for dtype in (torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            assert compiled(x) == str(x)
            assert compiled(x.double()) == str(x.double())
    finally:
        torch.set_default_dtype(before)
