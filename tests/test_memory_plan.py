"""compiled.memory: the formula predicts the peak at other sizes; and loops allocate nothing while their shapes stay."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import scriptc
from scriptc.inspect.snapshots import copied


class Elman(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.i2h, self.h2h, self.hidden = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden), hidden

    def forward(self, xs: list[torch.Tensor]) -> torch.Tensor:
        h = torch.zeros(xs[0].shape[0], self.hidden)
        outs = []
        for x in xs:
            h = torch.tanh(self.i2h(x) + self.h2h(h))
            outs.append(h)
        return torch.stack(outs)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64), nn.Softmax(1))


def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.transpose(1, 2) / 8, -1)


def measured(model, options: dict, args: tuple) -> int:
    """The peak of one call in a fresh context."""
    made = scriptc.compile(model, **options)
    with torch.no_grad():
        made(*copied(args))
        made._dispatcher.callable.count_allocations()
        made(*args)
    return made._dispatcher.callable.peak_bytes


def steps(n: int, batch: int, width: int) -> list[torch.Tensor]:
    return [torch.randn(batch, width) for _ in range(n)]


CASES = {  # model, how arguments of given sizes are made, an example, and other sizes
    "elman": (Elman(64, 128), lambda n, b: (steps(n, b, 64),), (12, 8), [(50, 8), (20, 30), (100, 17)]),
    "small elman": (Elman(16, 96), lambda n, b: (steps(n, b, 16),), (9, 3), [(60, 20), (110, 40)]),
    "lstm": (nn.LSTM(32, 80), lambda n, b: (torch.randn(n, b, 32),), (12, 5), [(40, 5), (17, 30)]),
    "mlp": (mlp(), lambda n: (torch.randn(n, 256),), (40,), [(33,), (100,), (700,)]),
    "scores": (
        scores,
        lambda b, n, w, m: (torch.randn(b, n, w), torch.randn(b, m, w)),
        (3, 120, 64, 130),
        [(5, 170, 64, 190), (2, 200, 96, 161)],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("freeze", [False, True], ids=["live", "frozen"])
def test_the_formula_predicts_the_peak(name: str, freeze: bool) -> None:
    model, make, example, others = CASES[name]
    made = scriptc.compile(model, freeze=freeze)
    found = made.memory(*make(*example))
    assert found.pieces, str(found)
    assert made.memory() is found
    assert tuple(found.sizes.values()) == example
    assert found.predicted == pytest.approx(found.measured, rel=0.1)
    for sizes in others:
        named = {s: max(n, found.least.get(s, 0)) for s, n in zip(found.symbols, sizes, strict=True)}
        peak = measured(model, {"freeze": freeze}, make(*named.values()))
        assert found.at(**named) == pytest.approx(peak, rel=0.1), (str(found), named)
        assert eval(found.formula, dict(named)) == pytest.approx(found.at(**named), abs=2)


def test_symbols_are_named_after_arguments() -> None:
    found = scriptc.compile(scores).memory(torch.randn(3, 20, 64), torch.randn(3, 30, 64))
    assert found.symbols == {
        "q_0": "q.size(0) = k.size(0)",
        "q_1": "q.size(1)",
        "q_2": "q.size(2) = k.size(2)",
        "k_1": "k.size(1)",
    }
    assert "q_0*q_1*k_1" in found.formula


def test_sizes_that_depend_on_data_have_no_formula() -> None:
    def picks(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].exp()

    torch.manual_seed(0)
    found = scriptc.compile(picks).memory(torch.randn(4, 5))
    assert not found.pieces and found.measured > 0
    assert "does not follow" in str(found)
    with pytest.raises(ValueError, match="no formula"):
        found.at(x_0=3)


def test_arguments_are_needed_once() -> None:
    with pytest.raises(RuntimeError, match="arguments"):
        scriptc.compile(scores).memory()


# ---- allocations in loops ----


def updates(x: torch.Tensor, n: int) -> torch.Tensor:
    h = x
    for i in range(n):
        h = torch.tanh(h * 0.5 + i) @ x
        h = h / (1 + h.abs().sum(1, keepdim=True))
        h[0] = h[1]
    return h


def decays(x: torch.Tensor, n: int) -> torch.Tensor:
    k = 0
    while k < n and bool((x.abs() < 10).all()):
        x = torch.softmax(torch.cat([x[:, 1:], x[:, :1]], 1), 1) + x.mean()
        k += 1
    return x


class LastState(Elman):
    def forward(self, xs: list[torch.Tensor]) -> torch.Tensor:
        return super().forward(xs)[-1]


@pytest.mark.parametrize("function", [updates, decays])
@pytest.mark.parametrize("optimize", [0, 3])
def test_loops_allocate_nothing(function, optimize: int) -> None:
    made = scriptc.compile(function, optimize=optimize)
    counts = []
    for n in (10, 1000):
        made._dispatcher.callable.count_allocations()
        before = made._dispatcher.callable.counts()["allocations"]
        made(torch.randn(6, 6), n)
        counts.append(made._dispatcher.callable.counts()["allocations"] - before)
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
@torch.no_grad()
def test_recurrent_layers_allocate_only_results(layer: type[nn.Module]) -> None:
    """What a call allocates does not depend on its steps, but for doubling what holds the results."""
    made = scriptc.compile(layer(20, 30))
    counts = []
    for n in (300, 301, 401):
        made._dispatcher.callable.count_allocations()
        before = made._dispatcher.callable.counts()["allocations"]
        made(torch.randn(n, 4, 20))
        counts.append(made._dispatcher.callable.counts()["allocations"] - before)
    assert counts[1] - counts[0] <= 2 and counts[2] - counts[0] <= 2
