"""Functions that call torch.utils.checkpoint.checkpoint, whose gradients the tests compare with eager's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def run(function: Any, *args: Any) -> Any:
    return checkpoint(function, *args, use_reentrant=False)


def chain(x: Tensor, w: Tensor) -> Tensor:
    return torch.tanh(torch.tanh(x @ w) @ w)


def once(x: Tensor, w: Tensor) -> Tensor:
    return run(chain, x, w)


def one_behind_the_other(x: Tensor, w: Tensor) -> Tensor:
    y = run(chain, x, w)
    return y * run(chain, y, w)


def in_each_iteration(x: Tensor, w: Tensor) -> Tensor:
    h = x
    for row in x:
        h = run(chain, h, w) + row
    return h


def in_a_branch(x: Tensor, w: Tensor) -> Tensor:
    h = x
    for i in range(4):
        h = run(chain, h, w) if i % 2 == 0 else h * w
    return h


def of_branches(x: Tensor, w: Tensor) -> Tensor:
    def choose(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return torch.tanh(x @ w)
        return torch.sigmoid(x @ w) * x

    return run(choose, x) + run(choose, -x)


def nested(x: Tensor, w: Tensor) -> Tensor:
    def inner(x: Tensor) -> Tensor:
        return run(chain, torch.sin(x), w)

    return run(lambda x: inner(inner(x)), x)


def of_a_loop(x: Tensor, w: Tensor) -> Tensor:
    def steps(x: Tensor) -> tuple[Tensor, Tensor]:
        h, hs = x, []
        for row in x:
            h = torch.tanh(h @ w) + row
            hs.append(h)
        return torch.stack(hs), h

    every, last = run(steps, x)
    return every.sum(0) * last


def of_a_loop_that_ends_early(x: Tensor, w: Tensor) -> Tensor:
    def steps(x: Tensor) -> Tensor:
        while True:
            x = torch.tanh(x @ w) * 0.5
            if x.abs().max() < 0.2:
                return x

    return run(steps, x)


def with_dropout(x: Tensor, w: Tensor) -> Tensor:
    h = x
    for _ in range(3):
        h = run(lambda h: torch.dropout(torch.tanh(h @ w), 0.5, True), h)
        h = torch.dropout(h, 0.3, True)
    return h


def with_dropout_in_a_loop(x: Tensor, w: Tensor) -> Tensor:
    def steps(x: Tensor) -> Tensor:
        for row in x:
            x = torch.dropout(torch.tanh(x @ w), 0.5, True) + row
        return x

    return run(steps, torch.dropout(x, 0.3, True))


def of_writes(x: Tensor, w: Tensor) -> Tensor:
    def rows(x: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        for i in range(x.shape[0]):
            out[i] = torch.tanh(x[i] @ w)
        return out

    return run(rows, x)


def result_is_written(x: Tensor, w: Tensor) -> Tensor:
    y = run(chain, x, w)
    y[0] = 0
    return torch.exp(y)


def of_rows_of_a_matrix(x: Tensor, w: Tensor) -> Tensor:
    y = x * 2
    return run(lambda i: torch.tanh(y[i]) * y[i + 1], 0) + y[2]


def of_a_list_that_grows_later(x: Tensor, w: Tensor) -> Tensor:
    hs = [x]
    for _ in range(x.shape[0]):
        hs.append(torch.tanh(hs[-1] @ w))

    def product(hs: list[Tensor]) -> Tensor:
        total = hs[0]
        for h in hs:
            total = total * torch.sin(h)
        return total

    y = run(product, hs)
    hs.append(y)
    return y


def of_an_argument_by_name(x: Tensor, w: Tensor) -> Tensor:
    return checkpoint(chain, x, w=w, use_reentrant=False, preserve_rng_state=False, determinism_check="none")


def without_grad(x: Tensor, w: Tensor) -> Tensor:
    with torch.no_grad():
        y = run(chain, x, w)
    return y * x


FUNCTIONS = [
    once, one_behind_the_other, in_each_iteration, in_a_branch, of_branches, nested, of_a_loop, of_a_loop_that_ends_early,
    with_dropout, with_dropout_in_a_loop, of_writes, result_is_written, of_rows_of_a_matrix, of_a_list_that_grows_later,
    of_an_argument_by_name, without_grad,
]  # fmt: skip


class Deep(nn.Module):
    """Layers, each of which is checkpointed."""

    def __init__(self, depth: int, checkpoints: bool):
        super().__init__()
        layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.2), nn.LayerNorm(8)) for _ in range(depth)]
        self.layers = nn.ModuleList(layers)
        self.checkpoints = checkpoints

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = run(layer, x) if self.checkpoints else layer(x)
        return x


# ---- loops that are cut into chunks ----


def in_nested_loops(x: Tensor, w: Tensor) -> Tensor:
    total = x * 0
    for i in range(9):
        h = x
        for j in range(i, 1, -1):
            h = torch.tanh(h @ w) * j
        total = total + h
    return total


def stacks_of_nested_loops(x: Tensor, w: Tensor) -> Tensor:
    outer = []
    for _ in range(6):
        inner = []
        for j in range(5):
            x = torch.tanh(x @ w) + j
            inner.append(x)
        outer.append(torch.stack(inner, 1))
    return torch.stack(outer, 1)


def drops_out(x: Tensor, w: Tensor) -> Tensor:
    for _ in range(10):
        x = torch.dropout(torch.tanh(x @ w), 0.3, True)
    return x


def writes_items(x: Tensor, w: Tensor) -> Tensor:
    out = torch.zeros(7, 3, dtype=x.dtype)
    h = x[0]
    for i in range(7):
        h = torch.tanh(h @ w)
        out[i] = h
    return out


def prints_steps(x: Tensor, w: Tensor) -> Tensor:
    for i in range(6):
        x = torch.tanh(x @ w)
        print("step", i)
    return x


def reads_what_it_writes(x: Tensor, w: Tensor) -> Tensor:
    h = x * 1
    for _ in range(6):
        h += torch.tanh(h.clone() @ w)
    return h


def checkpoints_each_step(x: Tensor, w: Tensor) -> Tensor:
    for _ in range(6):
        x = run(chain, x, w) + x
    return x


LOOPS = [
    in_nested_loops, stacks_of_nested_loops, drops_out, writes_items, prints_steps, reads_what_it_writes, checkpoints_each_step,
]  # fmt: skip


class Recurrent(nn.Module):
    """A recurrent net of one layer. every: all states are returned."""

    def __init__(self, every: bool, dropout: float = 0.0):
        super().__init__()
        self.input, self.state, self.dropout = nn.Linear(8, 16), nn.Linear(16, 16), nn.Dropout(dropout)
        self.every = every

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.shape[1], 16, dtype=xs.dtype)
        out = []
        for x in xs:
            h = torch.tanh(self.input(x) + self.dropout(self.state(h)))
            if self.every:
                out.append(h)
        return torch.stack(out) if self.every else h
