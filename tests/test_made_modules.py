"""Modules that compiled code makes draw the random numbers that eager draws, and have gradients beside their own leaves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import nn

import scriptc

X = torch.randn(3, 4)
IMAGES = torch.randn(1, 2, 5, 5)


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, size))
        self.scale = nn.Parameter(torch.empty(size))
        nn.init.trunc_normal_(self.scale, std=0.02)

    def forward(self, x):
        return self.net(x) * self.scale


PROGRAMS = {
    "linear": lambda x: nn.Linear(4, 2)(x),
    "sizes": lambda x: nn.Linear(x.size(1), x.size(0))(x),
    "embedding": lambda x: nn.Embedding(10, 3)(x.long().abs()) + x.sum(),
    "bilinear": lambda x: nn.Bilinear(4, 4, 2)(x, x),
    "cell": lambda x: nn.GRUCell(4, 5)(x),
    "lstm": lambda x: nn.LSTM(4, 3, 2, batch_first=True, dropout=0.5)(x[None])[0],
    "gru": lambda x: nn.GRU(4, 3, bidirectional=True, bias=False)(x[:, None])[1],
    "rnn": lambda x: nn.RNN(4, 3, nonlinearity="relu")(x)[0],
    "projected": lambda x: nn.LSTM(4, 3, proj_size=2)(x)[1][0],
    "attention": lambda x: nn.MultiheadAttention(4, 2)(x, x, x)[0],
    "normalization": lambda x: nn.BatchNorm1d(4)(nn.LayerNorm(4)(x)),
    "block": lambda x: Block(4)(x),
    "loop": lambda x: [x := nn.Linear(4, 4)(x) for _ in range(3)][-1],
}


def found(target: Any, x: torch.Tensor, required: bool) -> list[Any]:
    x = x.clone().requires_grad_(required)
    torch.manual_seed(5)
    result = target(x)
    result.sum().backward()
    return [result.detach(), torch.tensor(result.requires_grad), torch.rand(2), *([x.grad] if required else [])]


@pytest.mark.compiled_together
@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_numbers_and_gradients(name: str, required: bool) -> None:
    compiled = scriptc.compile(PROGRAMS[name], optimize=OPTIMIZE)
    for _ in range(2):
        torch.testing.assert_close(found(compiled, X, required), found(PROGRAMS[name], X, required))


def convolution(x):
    return nn.ConvTranspose2d(4, 2, 3)(nn.Conv2d(2, 4, 3, padding=1, stride=2)(x))


def test_convolutions() -> None:
    compiled = scriptc.compile(convolution, optimize=OPTIMIZE)
    torch.testing.assert_close(found(compiled, IMAGES, True), found(convolution, IMAGES, True))


class Doubles(nn.Module):
    """Replaces its parameter in each call."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        self.weight = nn.Parameter(self.weight * 2)
        return x + 1


class Fixes(nn.Module):
    """Replaces its parameter by one that requires no grad, and uses it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        self.weight = nn.Parameter(self.weight * 2, requires_grad=False)
        return x * self.weight


@pytest.mark.parametrize("cls", [Doubles, Fixes])
def test_parameters_that_are_replaced(cls: type[nn.Module]) -> None:
    module, expected = cls(), cls()
    compiled = scriptc.compile(module, optimize=OPTIMIZE)
    for _ in range(2):
        result, wanted = compiled(X), expected(X)
        torch.testing.assert_close(result, wanted)
        assert result.requires_grad == wanted.requires_grad
        new, old = module.weight, expected.weight
        assert type(new) is nn.Parameter and dict(module.named_parameters())["weight"] is new
        assert (new.requires_grad, new.is_leaf, new.tolist()) == (old.requires_grad, True, old.tolist())
