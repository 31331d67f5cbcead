"""How often a function is read: decompositions of ours must not need a second reading to know what they count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from scriptc.frontend import entry
from scriptc.frontend.entry import EntryReader
from scriptc.frontend.reader.assumptions import Assumptions
from scriptc.ir.errors import CompileError, InternalError

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


def counted_in_many_loops(x: Tensor) -> Tensor:
    for i in range(2):
        x = x.transpose(0, i)
    for i in range(2):
        x = x.transpose(1, i)
    for i, _ in enumerate(range(2)):
        x = x.transpose(2, i)
    return x


def test_reasons_are_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop needs a reading of its own, and the bound is below that."""
    assert readings_of(counted_in_many_loops, monkeypatch) == 4
    monkeypatch.setattr(entry, "_MAX_READINGS", 2)
    with pytest.raises(CompileError) as caught:
        entry.read(counted_in_many_loops, None, {"x": X})
    (found,) = caught.value.diagnostics
    first = counted_in_many_loops.__code__.co_firstlineno
    assert found.loc.line == first + 4
    assert "counted_in_many_loops was read 2 times" in found.message
    assert all(f"must be known at compile time, but it is computed here (line {first + n})" in found.message for n in (2, 4))


def test_a_reading_that_assumes_nothing_new_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the reader's own, which asks for another reading for nothing."""
    monkeypatch.setattr(Assumptions, "unroll", lambda *_: True)
    with pytest.raises(CompileError, match="counted_in_many_loops was read 1 times"):
        entry.read(counted_in_many_loops, None, {"x": X})


class Keeps(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.seen = x
        return torch.relu(x)


def test_a_fault_behind_a_new_slot_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in a reading that is out of date may not in the next; where it does, it is told."""

    def broken(*_: Any) -> Any:
        raise KeyError("broken")

    monkeypatch.setattr(EntryReader, "call", broken)
    with pytest.raises(InternalError, match="KeyError: 'broken'"):
        entry.read(Keeps.forward, Keeps(), {"x": X})
