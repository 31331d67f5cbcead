"""Tensors seen as elements of another dtype."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from compiled_program import assert_no_warnings
from statements import agree
from three_ways import Args, call

from scriptc.driver.options import Options
from scriptc.driver.pipeline import run_passes
from scriptc.driver.target import target_of
from scriptc.frontend.entry import read

X = torch.tensor([[1.0, 2.0, -1.0, 7.0], [0.0, 3.0, 1.0, -2.0]])
OTHERS = (torch.linspace(-1, 1, 10).view(2, 5), torch.arange(32.0).view(4, 8)[1:, 2:6], torch.zeros(0, 4))
CALLS = [call(x) for x in (X, *OTHERS)]
PROGRAMS: list[tuple[Callable[..., Any], list[Args]]] = []


def cases(*calls: Args) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        PROGRAMS.append((function, [*calls]))
        return function

    return add


@cases(*CALLS)
def signs_by_their_bits(x):
    return (x.view(torch.int32) & 0x7FFFFFFF).view(torch.float32), x.view(dtype=torch.int32) >> 31


@cases(*CALLS)
def smaller_elements(x):
    return x.view(torch.uint8), x[:, 1:].view(torch.int16), x[0, :0].view(torch.bfloat16).shape


@cases(*CALLS)
def larger_elements(x):
    try:
        return x.view(torch.float64), x.view(torch.complex64)
    except RuntimeError:
        return x[:, :2].contiguous().view(torch.int64)


@cases(*CALLS)
def strides_that_do_not_fit(x):
    return x.t().view(torch.int32), x.t().view(torch.uint8)


@cases(*CALLS[:2])
def without_dims(x):
    return x[0, 0].view(torch.int32), x.sum().view(torch.uint8)


@cases(*CALLS)
def the_dtype_it_has(x):
    return x.view(torch.float32), x[:, ::2].view(torch.int32)


@cases(*CALLS)
def writes_are_seen_in_both(x):
    bits = x.view(torch.int32)
    x.mul_(2)
    first = bits + 1
    bits[:1] = 1065353216
    x.add_(1)
    return first, bits * 2, x.clone()


@cases(*CALLS)
def several_views_of_a_result(x):
    y = x * 2
    bits = y.view(torch.int32)
    return y, bits, bits[1:], y.view(torch.int8)


@pytest.mark.compiled_together
@pytest.mark.parametrize("optimize", [0, 3])
@pytest.mark.parametrize("function, calls", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_three_ways_agree(function: Callable[..., Any], calls: list[Args], optimize: int) -> None:
    agree(function, calls, optimize)


def test_c_has_no_warnings(tmp_path: Path) -> None:
    target = target_of(writes_are_seen_in_both)
    module = read(target.func, target.receiver, target.bind((X,), {})).module
    run_passes(module, Options(optimize=3))
    assert_no_warnings(module, tmp_path)
