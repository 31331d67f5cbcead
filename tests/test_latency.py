"""scriptc.latency: samples of calls, models that take turns, and estimates for other machines. No test asserts a time."""

from __future__ import annotations

import os

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc
from scriptc.inspect.latency import _estimated, quartiles
from scriptc.inspect.profile import Row


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, xs: list[Tensor]) -> Tensor:
        self.calls.add_(1)
        xs.append(xs[0] * 2)
        return xs[-1].sum()


def test_measured_calls_leave_no_trace() -> None:
    model, xs = Counting(), [torch.ones(3)]
    before, grad = torch.get_num_threads(), torch.is_grad_enabled()
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    found = scriptc.latency(scriptc.compile(model, optimize=OPTIMIZE), xs, samples=3)
    assert len(xs) == 1 and model.calls == 0
    assert torch.get_num_threads() == before and torch.is_grad_enabled() == grad
    assert affinity is None or os.sched_getaffinity(0) == affinity
    assert len(found.samples) == 3 and found.threads == 1 and found.calls >= 1
    assert 0 < found.low <= found.median <= found.high
    assert str(found).startswith("Counting: ") and "3 samples of" in str(found)


def test_several_models_take_turns() -> None:
    models = {"double": lambda x: x * 2, "half": lambda x: x / 2}
    found = scriptc.latency(models, torch.ones(3), samples=2)
    assert list(found) == ["double", "half"]
    assert {len(each.samples) for each in found.values()} == {2}


def test_what_a_call_raises() -> None:
    def fails(x: Tensor) -> Tensor:
        raise ValueError("no such size")

    with pytest.raises(ValueError, match="no such size"):
        scriptc.latency(scriptc.compile(fails, optimize=OPTIMIZE), torch.ones(3))
    for wrong in ({"samples": 0}, {"threads": 0}):
        with pytest.raises(ValueError, match="at least one sample and one thread"):
            scriptc.latency(fails, torch.ones(3), **wrong)
    with pytest.raises(ValueError, match="flops > 0"):
        scriptc.Machine("a board", 0.0, 1e9, 0)


HERE = scriptc.Machine("here", 100e9, 20e9, 32 * 2**20)
SLOW = scriptc.Machine("a board", 10e9, 2e9, 2**20)


def row(seconds: float, flops: float, moved: float) -> Row:
    return Row("net.py", 1, "", "kernel", 1.0, seconds, flops, moved)


def test_the_cost_model() -> None:
    in_cache, in_memory = 2**19, 2**30
    assert _estimated(row(1e-6, 0, 0), HERE, SLOW, in_cache) == pytest.approx(1e-5), "by the clock where nothing is counted"
    assert _estimated(row(1e-6, 5e4, 1e3), HERE, SLOW, in_cache) == pytest.approx(1e-5), "in both caches"
    assert _estimated(row(1e-6, 5e4, 1e5), HERE, SLOW, 2**22) == pytest.approx(5e-5), "in the cache here alone"
    assert _estimated(row(1e-3, 1e6, 1e7), HERE, SLOW, in_memory) == pytest.approx(1e-2), "bound by memory on both"
    assert _estimated(row(2e-3, 1e6, 1e7), HERE, SLOW, in_memory) == pytest.approx(2e-2), "at half of the bound, as here"
    assert _estimated(row(1e-3, 1e6, 1e7), HERE, HERE, in_memory) == pytest.approx(1e-3)
    assert quartiles([3.0]) == (3.0, 3.0, 3.0) and quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)


def test_a_call_that_computes_nothing_is_estimated() -> None:
    def same(x: Tensor) -> Tensor:
        return x

    assert scriptc.latency(same, torch.ones(2), machine=SLOW).median > 0


def test_an_estimate_for_this_machine_is_what_was_measured() -> None:
    net, x = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)), torch.randn(8, 64)
    here = scriptc.Machine.here()
    found = scriptc.latency(net, x, machine=here)
    assert found.machine is here and not found.samples and found.core is None
    assert "estimated for this machine" in str(found)
    slower = scriptc.Machine("a board", here.flops / 10, here.bytes / 10, here.cache)
    assert scriptc.latency(net, x, machine=slower).median > 3 * found.median
