"""Training holds memory flat, errors in forward and backward leak nothing, and threads do not change gradients."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import gradient_programs as programs
import pytest
import torch
from settings import OPTIMIZE, without_asan
from torch import Tensor, nn

import scriptc
from scriptc.runtime import bridge

MiB = 1 << 20
SLACK = 8 * MiB
PERIOD = 30  # steps after which lengths and backwards come again in the same order


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Entries:
    """The callables of the compiled functions that a test makes: forward without gradients, forward, and backward."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # a test calls `alive` a hundred times, which then visits the test's own objects alone
        self.before = set(bridge._callables)

    def all(self) -> list[bridge.Callable]:
        return [c for c in bridge._callables if c not in self.before]

    def total(self, name: str) -> int:
        return sum(c.counts()[name] for c in self.all())

    def alive(self) -> tuple[int, int]:
        """Return the objects that contexts lost, and the storages that Python holds."""
        torch.ones(1, requires_grad=True).sum().backward()  # torch drops what is left of a backward that raised
        gc.collect()
        return self.total("objects"), self.total("exported")


@pytest.fixture
def entries() -> Iterator[Entries]:
    made = Entries()
    yield made
    for each in made.all():
        each.count_allocations(0)


@pytest.mark.parametrize("steps", [10 * PERIOD, pytest.param(334 * PERIOD, marks=pytest.mark.slow)])
@without_asan
def test_training_leaves_memory_flat(steps: int, entries: Entries) -> None:
    torch.manual_seed(0)
    net = programs.Lstm(8)
    compiled = scriptc.compile(net, optimize=OPTIMIZE)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    inputs = torch.randn(6, 4, 4)

    def train(count: int) -> None:
        for i in range(count):
            optimizer.zero_grad()
            loss = compiled(inputs[: 1 + i % 6]).square().mean()
            if i % 5 == 0:
                loss.backward(retain_graph=True)
            if i % 3:  # some calls have no backward
                loss.backward()
            optimizer.step()
        optimizer.zero_grad()

    train(PERIOD)
    for each in entries.all():
        each.count_allocations()
    train(PERIOD)
    before, blocks, cached, alive = resident(), entries.total("blocks"), entries.total("cached"), entries.alive()
    train(steps)
    assert resident() - before < SLACK
    assert (entries.alive(), entries.total("blocks"), entries.total("cached")) == (alive, blocks, cached)
    assert alive == (0, 0)


# ---- errors ----


class Failing(nn.Module):
    """A recurrent net that raises where its state reaches a limit."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(3, 3)

    def forward(self, xs: Tensor, limit: float) -> Tensor:
        h, outs = torch.zeros(2, 3), []
        for x in xs:
            h = torch.tanh(self.cell(h) + x)
            if h.sum() > limit:
                raise ValueError("limit")
            outs.append(h * h)
        return torch.stack(outs)


def test_an_error_in_forward_leaks_nothing(entries: Entries) -> None:
    net = Failing()
    compiled, xs = scriptc.compile(net, optimize=OPTIMIZE), torch.ones(6, 2, 3)
    compiled(xs, 100.0).sum().backward()
    gradients = [p.grad.clone() for p in net.parameters()]
    assert entries.alive()[0] == 0
    net.zero_grad()
    before = entries.alive()
    for _ in range(20):
        with pytest.raises(ValueError, match="limit"):
            compiled(xs, 4.0)
        assert entries.alive() == before
    compiled(xs, 100.0).sum().backward()
    torch.testing.assert_close([p.grad for p in net.parameters()], gradients)


class HookError(Exception):
    pass


def raises(_: Tensor) -> Tensor:
    raise HookError


@pytest.mark.parametrize("place", ["result", "weight", "input"])
def test_an_error_in_a_hook_of_backward_leaks_nothing(place: str, entries: Entries) -> None:
    net = programs.Lstm()
    compiled, xs = scriptc.compile(net, optimize=OPTIMIZE), torch.randn(5, 2, 4, requires_grad=True)
    compiled(xs).sum().backward()
    before = None
    for _ in range(20):
        net.zero_grad()
        xs.grad = None
        result = compiled(xs)
        handle = {"result": result, "weight": net.u.weight, "input": xs}[place].register_hook(raises)
        with pytest.raises(HookError):
            result.sum().backward()
        handle.remove()
        del result, handle
        net.zero_grad()
        xs.grad = None
        assert before in (None, alive := entries.alive())
        before = alive
    assert before == (0, 0)


def test_an_error_after_forward_leaks_nothing(entries: Entries) -> None:
    """The graph frees the values that forward kept, if backward never runs or refuses a weight that was written."""
    net = programs.Lstm()
    compiled, xs = scriptc.compile(net, optimize=OPTIMIZE), torch.randn(5, 2, 4)
    for _ in range(3):
        compiled(xs)
        result = compiled(xs)
        with torch.no_grad():
            net.u.weight.mul_(0.9)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.sum().backward()
        del result
        net.zero_grad()
        assert entries.alive() == (0, 0)


def nth_allocation_fails(nth: int, entries: Entries, call: Callable[[], Any]) -> bool:
    """Return whether a call raises for want of memory if the nth allocation of each of its entries fails."""
    for each in entries.all():
        each.count_allocations(nth)
    try:
        call()
    except (MemoryError, RuntimeError) as e:  # eager has a RuntimeError for tensors
        assert "allocate memory" in str(e) or type(e) is MemoryError
        return True
    return False


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_a_failed_allocation_raises_and_leaks_nothing(name: str, entries: Entries) -> None:
    torch.manual_seed(0)
    net = programs.Lstm()
    compiled, xs = scriptc.compile(net, optimize=OPTIMIZE), torch.randn(3, 2, 4)

    def forward() -> Tensor:
        return compiled(xs).square().sum()

    forward().backward()
    gradients = [p.grad.clone() for p in net.parameters()]
    failures = 0
    for nth in range(1, 2000):
        net.zero_grad()
        loss = forward() if name == "backward" else None
        failed = nth_allocation_fails(nth, entries, loss.backward if loss is not None else forward)
        for each in entries.all():
            each.count_allocations(0)
        del loss
        if failed:
            assert all(p.grad is None for p in net.parameters())
            failures += 1
        elif nth > failures + 20:
            break
        net.zero_grad()
        assert entries.alive() == (0, 0)
    assert failures > 0
    net.zero_grad()
    forward().backward()
    torch.testing.assert_close([p.grad for p in net.parameters()], gradients)


# ---- threads ----


class Wide(nn.Module):
    """A recurrent net large enough that its products run on several threads."""

    def __init__(self, units: int = 160) -> None:
        super().__init__()
        self.input, self.state, self.units = nn.Linear(units, 4 * units), nn.Linear(units, 4 * units), units
        self.norm = nn.LayerNorm(units)

    def forward(self, xs: Tensor) -> Tensor:
        h = c = torch.zeros(xs.shape[1], self.units)
        outs = []
        for x in xs:
            i, f, g, o = (self.input(x) + self.state(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = self.norm(torch.sigmoid(o) * torch.tanh(c))
            outs.append(h)
        return torch.stack(outs)


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 3, stride=2), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return torch.log_softmax(self.last(x.mean((2, 3))), 1)


@pytest.mark.parametrize(
    ("make", "shape"), [(Wide, (6, 48, 160)), (Image, (8, 3, 40, 40)), (lambda: nn.GRU(160, 160), (6, 48, 160))],
    ids=["lstm", "convolutions", "nn.GRU"],
)  # fmt: skip
def test_gradients_do_not_depend_on_the_number_of_threads(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    net = make()
    compiled, x = scriptc.compile(net), torch.randn(shape, requires_grad=True)
    inputs = [x, *net.parameters()]
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 4):
            torch.set_num_threads(count)
            result = compiled(x)
            result = result if isinstance(result, Tensor) else result[0]
            torch.set_num_threads(1)
            cotangent = torch.cos(torch.arange(result.numel(), dtype=torch.float32)).view(result.shape)
            torch.set_num_threads(count)
            found.append([result.detach(), *torch.autograd.grad(result, inputs, cotangent)])
    finally:
        torch.set_num_threads(threads)
    for each in found[1:]:
        torch.testing.assert_close(each, found[0], rtol=0, atol=0)
