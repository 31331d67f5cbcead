"""How often a function is read: decompositions of ours must not need a second reading to know what they count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from scriptc.frontend import entry

ROWS, COLUMNS, X = torch.tensor([0, 1]), torch.tensor([1, 1]), torch.rand(3, 4, 5)


def masked(x: Tensor) -> Tensor:
    x[x != x] = 0
    return x


def picked(x: Tensor) -> Tensor:
    return x[ROWS, :, COLUMNS]


def placed(x: Tensor) -> Tensor:
    x[ROWS, COLUMNS] = x[0, 0]
    return x


def compared(x: Tensor) -> bool:
    return torch.equal(x, x + 1)


def added(x: Tensor) -> Tensor:
    return x.index_add(1, ROWS, x[:, :2])


def contracted(x: Tensor) -> Tensor:
    return torch.einsum("abc,abd,aac->db", x[:, :3], x[:, :3], x[:, :3])


def found(x: Tensor) -> Tensor:
    return x.transpose(0, (2, 1, 0).index(x.dim() - 2))


class Layers(torch.nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth
        self.layers = torch.nn.ModuleList(torch.nn.Linear(5, 5) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(self.depth):
            x = self.layers[i](x)
        return x


STACKS = [Layers(n) for n in (3, 2, 4, 3)]


def stacked(x: Tensor) -> Tensor:
    """The second reading, which unrolls the first loop, unrolls those that other calls of its text run."""
    for stack in STACKS:
        x = stack(x)
    return x


def filtered(x: Tensor) -> Tensor:
    return x.sum([i for i in range(x.dim()) if i != 1])


def readings_of(program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    readings, read_once = [0], entry._read_once

    def counted(*args: Any) -> entry.Entry:
        readings[0] += 1
        return read_once(*args)

    monkeypatch.setattr(entry, "_read_once", counted)
    entry.read(program, None, {"x": X})
    return readings[0]


@pytest.mark.parametrize("program", [masked, picked, placed, compared, added, contracted, found])
def test_read_once(program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert readings_of(program, monkeypatch) == 1


@pytest.mark.parametrize("program", [stacked, filtered])
def test_read_twice(program: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert readings_of(program, monkeypatch) == 2
