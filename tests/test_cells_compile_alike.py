"""What the passes make of a cell does not depend on names, nor on the order in which its gates are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from scriptc.driver.options import Options
from scriptc.driver.pipeline import translate
from scriptc.driver.target import target_of

IN, H, T = 3, 4, 5


class Gates(nn.Module):
    """Eight products, one for each gate and input."""

    def __init__(self) -> None:
        super().__init__()
        self.xi, self.xf, self.xg, self.xo = (nn.Linear(IN, H) for _ in range(4))
        self.hi, self.hf, self.hg, self.ho = (nn.Linear(H, H) for _ in range(4))

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Tensor:
        for t in range(x.size(0)):
            i = torch.sigmoid(self.xi(x[t]) + self.hi(h))
            f = torch.sigmoid(self.xf(x[t]) + self.hf(h))
            g = torch.tanh(self.xg(x[t]) + self.hg(h))
            o = torch.sigmoid(self.xo(x[t]) + self.ho(h))
            c = f * c + i * g
            h = o * torch.tanh(c)
        return h


class Renamed(nn.Module):
    """The same with other names, the gates in another order, and sums the other way round."""

    def __init__(self) -> None:
        super().__init__()
        self.out_x, self.new_x, self.keep_x, self.take_x = (nn.Linear(IN, H) for _ in range(4))
        self.out_h, self.new_h, self.keep_h, self.take_h = (nn.Linear(H, H) for _ in range(4))

    def forward(self, words: Tensor, state: Tensor, memory: Tensor) -> Tensor:
        for step in range(words.size(0)):
            word = words[step]
            out = torch.sigmoid(self.out_h(state) + self.out_x(word))
            take = torch.sigmoid(self.take_x(word) + self.take_h(state))
            new = torch.tanh(self.new_h(state) + self.new_x(word))
            keep = torch.sigmoid(self.keep_x(word) + self.keep_h(state))
            memory = take * new + keep * memory
            state = torch.tanh(memory) * out
        return state


class Elman(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(IN, H), nn.Linear(H, H)

    def forward(self, x: list[Tensor], h: Tensor) -> Tensor:
        for step in x:
            h = torch.sigmoid(self.a(step) + self.b(h))
        return h


class ElmanRenamed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.recur, self.enter = nn.Linear(H, H), nn.Linear(IN, H)

    def forward(self, tokens: list[Tensor], hidden: Tensor) -> Tensor:
        for token in tokens:
            kept = self.recur(hidden)
            hidden = torch.sigmoid(kept + self.enter(token))
        return hidden


def ops(model: nn.Module, *args: Any) -> Counter[str]:
    """How often each op stands in the IR behind the passes."""
    names = model.forward.__code__.co_varnames[1 : 1 + len(args)]
    translated = translate(target_of(model), dict(zip(names, args, strict=True)), Options())
    return Counter(op.name for op in translated.entry.module.walk())


def sequence() -> tuple[Tensor, ...]:
    return torch.zeros(T, 2, IN), torch.zeros(2, H), torch.zeros(2, H)


@pytest.mark.parametrize("model", [Gates, Renamed])
def test_gates_become_one_product_for_each_input(model: Callable[[], nn.Module]) -> None:
    found = ops(model(), *sequence())
    assert (found["linear_rows"], found["linear_add"], found["linear_packed"], found["fuse"]) == (1, 1, 0, 1)


@pytest.mark.parametrize("model", [Elman, ElmanRenamed])
def test_inputs_leave_the_loop_in_windows(model: Callable[[], nn.Module]) -> None:
    found = ops(model(), [torch.zeros(2, IN)] * T, torch.zeros(2, H))
    assert (found["linear_rows"], found["linear_add"], found["linear_packed"], found["sigmoid"]) == (1, 1, 0, 1)


def test_names_and_order_do_not_matter() -> None:
    different = {"const", "select", "size", "check"}  # these follow the order of terms
    first, second = (ops(model(), *sequence()) for model in (Gates, Renamed))
    assert {k: n for k, n in first.items() if k not in different} == {
        k: n for k, n in second.items() if k not in different
    }
