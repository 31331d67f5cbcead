"""flush_denormals: denormal numbers count as zero inside compiled calls, and as themselves outside."""

from __future__ import annotations

import contextlib
import io
import platform

import numpy as np
import pytest
import torch

import scriptc

TINY = 1e-39  # denormal in float32
pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no such switch is known here")


def halves(x: torch.Tensor, n: int) -> torch.Tensor:
    for _ in range(n):
        x = x * 0.5
    return x


def fails(x: torch.Tensor) -> torch.Tensor:
    y = x * 0.5
    if bool((y == 0).all()):
        raise ValueError("flushed")
    return y


def prints(x: torch.Tensor) -> torch.Tensor:
    print("printing")
    return x * 0.5


def is_exact() -> bool:
    return float(np.float32(TINY) * np.float32(0.5)) != 0.0


def test_denormals_are_flushed_by_option_alone() -> None:
    x = torch.full((100,), 2e-38)
    assert scriptc.compile(halves)(x, 1).count_nonzero() == 100
    assert scriptc.compile(halves, flush_denormals=True)(x, 1).count_nonzero() == 0
    assert scriptc.compile(halves, flush_denormals=True)(torch.ones(3), 4).tolist() == [0.0625] * 3
    assert is_exact()


def test_arguments_count_as_zero_too() -> None:
    x = torch.full((9,), TINY)
    assert scriptc.compile(lambda x: x * 1e10, flush_denormals=True)(x).count_nonzero() == 0


def test_the_mode_is_restored_after_errors() -> None:
    made = scriptc.compile(fails, flush_denormals=True)
    with pytest.raises(ValueError, match="flushed"):
        made(torch.full((5,), TINY))
    assert is_exact()
    assert torch.full((5,), TINY).mul(0.5).count_nonzero() == 5


def test_python_that_a_call_runs_sees_its_own_mode() -> None:
    seen = []

    class Output(io.StringIO):
        def write(self, text: str) -> int:
            seen.append(is_exact())
            return len(text)

    with contextlib.redirect_stdout(Output()):
        result = scriptc.compile(prints, flush_denormals=True)(torch.full((5,), TINY))
    assert seen and all(seen) and result.count_nonzero() == 0


@torch.no_grad()
def test_helping_threads_flush_too() -> None:
    before = torch.get_num_threads()
    w = torch.full((600, 500), 1e-20)
    layer = torch.nn.Linear(500, 600, bias=False)
    layer.weight.copy_(w)
    x = torch.full((300, 500), 1e-20)
    x[:, 1:] = 0
    try:
        torch.set_num_threads(3)
        made = scriptc.compile(layer, flush_denormals=True)
        for _ in range(30):
            assert made(x).count_nonzero() == 0
        assert scriptc.compile(layer)(x).count_nonzero() == 300 * 600
    finally:
        torch.set_num_threads(before)


def test_a_mode_that_the_user_set_is_kept() -> None:
    if not torch.set_flush_denormal(True):
        pytest.skip("torch cannot set it here")
    try:
        made = scriptc.compile(halves)
        assert made(torch.full((5,), 2e-38), 1).count_nonzero() == 0
        assert not is_exact()
    finally:
        torch.set_flush_denormal(False)
