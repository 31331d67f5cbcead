"""Decoders of frozen weights: products that are looked up, largest elements of estimates, and results of the last step."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


def same_as_eager(module: nn.Module, *calls: tuple[Any, ...]) -> str:
    """Compare calls of a frozen module with eager's results and errors. Return the optimized IR of the last signature."""
    compiled = scriptc.compile(module, freeze=True)
    for args in calls:
        with torch.no_grad():
            expected, raised = outcome(module, args)
            for _ in range(2):  # the second call finds what the first kept
                found, error = outcome(compiled, args)
                assert error == raised
                torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, equal_nan=True)
    return compiled.ir()


def outcome(call: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, tuple[type, str] | None]:
    try:
        return call(*args), None
    except Exception as e:
        return None, (type(e), str(e).splitlines()[0])


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8, padding_idx=3)
        self.linear = nn.Linear(8, 6)

    def forward(self, words: Tensor) -> Tensor:
        return self.linear(self.embed(words))


def test_embedded_words() -> None:
    shapes: list[Any] = [3, [1, 2, 3], [[1, 2], [3, 4]], [50], [-1], [[0, 51]]]
    words = [(torch.tensor(shape),) for shape in shapes]
    ir = same_as_eager(Embedded(), (torch.empty(0, dtype=torch.long),), *words)
    assert "f32[50, 6]" in ir  # the product of the table


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.inner = nn.Embedding(50, 8), nn.Embedding(7, 3), nn.Linear(5, 5)
        self.linear = nn.Linear(16, 6, bias=False)

    def forward(self, i: Tensor, x: Tensor, j: Tensor) -> Tensor:
        return self.linear(torch.cat([self.first(i), self.inner(x), self.second(j)], -1)).relu()


def test_joined_features() -> None:
    """Errors of the join and of both tables come in eager's order."""
    i, x = torch.tensor([1, 2, 3]), torch.randn(3, 5)
    ir = same_as_eager(
        Joined(), (i, x, i), (i, x[:2], i), (i, x, i[:1]), (i, x[:1], torch.tensor([1, 9, 2])),
        (torch.tensor([50, 1, 2]), x[:1], torch.tensor([1, 9, 2])),
    )  # fmt: skip
    assert "f32[50, 6]" in ir and "f32[7, 6]" in ir


class ByMatrix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.weight = nn.Parameter(torch.randn(8, 6))

    def forward(self, words: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        return self.embed(words) @ self.weight, F.linear(self.embed(words), self.weight.t(), bias)


def test_a_matrix_and_a_bias_that_is_not_frozen() -> None:
    words = torch.tensor([[1, 2, 3]])
    assert "f32[50, 6]" in same_as_eager(ByMatrix(), (words, torch.randn(6)), (words, torch.randn(5)))


class Changed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.linear = nn.Embedding(50, 8), nn.Linear(8, 6)

    def forward(self, words: Tensor) -> list[Tensor]:
        out = []
        for k in range(3):
            y = self.linear(self.embed(words))
            y.add_(k)
            out.append(y)
        return out


def test_results_may_be_changed() -> None:
    same_as_eager(Changed(), (torch.tensor([1, 2]),))


class Greedy(nn.Module):
    """Word 3 ends a sentence."""

    def __init__(self, words: int = 600, hidden: int = 128) -> None:
        super().__init__()
        self.embed, self.cell, self.score = nn.Embedding(words, hidden), nn.GRUCell(hidden, hidden), nn.Linear(hidden, words)

    def forward(self, h: Tensor, longest: int) -> tuple[Tensor, list[Tensor]]:
        word = torch.zeros(h.size(0), dtype=torch.long)
        scores = torch.zeros(1)
        said = []
        for _ in range(longest):
            h = self.cell(self.embed(word), h)
            scores = self.score(h)
            word = scores.argmax(-1)
            said.append(word)
            if int(word[0]) == 3:
                break
        return scores, said


def test_greedy_decoding() -> None:
    """The scores of the last step alone are computed; those of no step are the initial ones."""
    torch.manual_seed(0)
    h = torch.randn(1, 128)
    wide = [(torch.randn(n, 128), 5) for n in (4, 7)]
    bad = [(torch.randn(2, 128) * bad, 3) for bad in (0.0, float("nan"), float("inf"), 1e-39)]
    ir = same_as_eager(Greedy(), (h, 0), (h, -1), (h, 1), (h, 9), *wide, *bad)
    assert "linear_argmax" in ir and "f32[600, 384]" in ir


def test_an_early_end() -> None:
    model = Greedy()
    with torch.no_grad():
        model.score.bias[3] = 100.0
    same_as_eager(model, (torch.randn(2, 128), 9))


class Largest(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(128, 600)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.linear(x).argmax(-1, keepdim=True), self.linear(2 * x).argmax(dim=1)


def ties(w: Tensor, b: Tensor) -> None:
    w[300:], b[300:] = w[:300].clone(), b[:300].clone()


def zeros(w: Tensor, b: Tensor) -> None:
    w.zero_(), b.zero_()


def nan(w: Tensor, b: Tensor) -> None:
    w[17, 3] = float("nan")


def infinite(w: Tensor, b: Tensor) -> None:
    w[17, 3], b[40] = float("inf"), float("-inf")


def lowest(w: Tensor, b: Tensor) -> None:
    b.fill_(float("-inf"))


def two_infinite(w: Tensor, b: Tensor) -> None:
    b[9] = b[7] = float("inf")


@pytest.mark.parametrize("change", [ties, zeros, nan, infinite, lowest, two_infinite])
def test_the_first_of_the_largest(change: Callable[[Tensor, Tensor], None]) -> None:
    torch.manual_seed(1)
    model = Largest()
    with torch.no_grad():
        change(model.linear.weight, model.linear.bias)
    x = torch.randn(5, 128)
    ir = same_as_eager(model, *((x[:n] * by,) for n, by in itertools.product((1, 2, 4, 5), (1, 1e-30, 1e20, 0))))
    assert "linear_argmax" in ir


class PartsOfWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(40, 24))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.linear(x, self.weight[:, :16]) + F.linear(y, self.weight[:, 16:]) + x @ (2 * self.weight[:, 8:].t())


def test_kept_parts_of_weights_outlive_the_call() -> None:
    """They are packed when they are kept, though a product could read them as they lie."""
    x, y = torch.randn(1, 16), torch.randn(1, 8)
    same_as_eager(PartsOfWeights(), *[(x, y), (y @ torch.ones(8, 16), y), (x[:0], y[:0])] * 4)
