"""compare, profile and memory of calls that compute gradients themselves: state outside is as it was before."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc

X, Y = torch.linspace(-1, 1, 24).reshape(8, 3), torch.linspace(0, 1, 16).reshape(8, 2)
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1),
}


class Training:
    """A net, its optimizer, and a step that trains them."""

    def __init__(self, kind: str):
        torch.manual_seed(0)
        self.net = nn.Linear(3, 2)
        self.optimizer = OPTIMIZERS[kind](self.net.parameters())
        net, optimizer = self.net, self.optimizer

        def step(x: Tensor, y: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        self.step = step

    def state(self) -> Any:
        gradients = [None if p.grad is None else p.grad.clone() for p in self.net.parameters()]
        return copy.deepcopy((self.net.state_dict(), self.optimizer.state_dict()["state"], gradients))


@pytest.mark.parametrize("steps", [0, 2], ids=["first step", "later step"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_state_outside_is_put_back(kind, steps):
    training = Training(kind)
    compiled = scriptc.compile(training.step, optimize=OPTIMIZE)
    for _ in range(steps):
        compiled(X, Y)
    before = training.state()
    report = scriptc.compare(compiled, X, Y)
    assert report.ok, str(report)
    assert [row.path for row in report.rows][:3] == ["out", "item", "item_1"]
    torch.testing.assert_close(training.state(), before, rtol=0, atol=0)
    found = compiled.memory(X, Y)
    assert found.pieces and found.predicted == pytest.approx(found.measured, rel=0.1), str(found)
    torch.testing.assert_close(training.state(), before, rtol=0, atol=0)
    assert compiled.profile(X, Y).rows
    torch.testing.assert_close(training.state(), before, rtol=0, atol=0)


def test_a_difference_of_weights_is_found(monkeypatch):
    training = Training("SGD")
    compiled = scriptc.compile(training.step, optimize=OPTIMIZE)
    dispatcher, run = compiled._dispatcher, compiled._dispatcher.call

    def wrong(*args: Any) -> Any:
        result = run(*args)
        with torch.no_grad():
            training.net.weight.add_(1)
        return result

    monkeypatch.setattr(type(compiled), "__call__", staticmethod(wrong))
    assert dispatcher is compiled._dispatcher
    report = scriptc.compare(compiled, X, Y)
    assert [row.path for row in report.rows if not row.ok] == ["item"]


def test_the_line_that_differs_is_searched_in_a_step():
    training = Training("Adam")
    before = training.state()
    report = scriptc.compare(scriptc.compile(training.step, optimize=1), X, Y, locate=True)
    assert report.ok and report.located == "no line of the compiled IR differs from the interpreter"
    torch.testing.assert_close(training.state(), before, rtol=0, atol=0)


def test_without_grad_mode_a_step_raises_as_in_eager():
    training = Training("SGD")
    with torch.no_grad():
        report = scriptc.compare(training.step, X, Y)
    (row,) = report.rows
    assert row.path == "raises" and "does not require grad" in row.value


def test_gradients_of_arguments():
    def slope(x: Tensor) -> Tensor:
        return torch.autograd.grad(x.sin().sum(), x)[0]

    x = torch.ones(3, requires_grad=True)
    compiled = scriptc.compile(slope, optimize=OPTIMIZE)
    assert scriptc.compare(compiled, x).ok
    assert compiled.memory(x).formula
    assert compiled.profile(x).rows
