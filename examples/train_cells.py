"""Train recurrent cells as people write them, compiled and in eager side by side, to add two marked numbers of a sequence.

Losses of both are compared at each step. Compiled code rounds in another order than eager, and training amplifies each
difference. In float64, the default, losses agree within 1e-11 over 300 steps. In float32, differences begin at 1e-7 and grow
at the speed of the cell: `--dtype float32` exceeds the limit of 1e-4 with the layer-norm LSTM, and says so.

`--package` trains in a C program as well, which has no Python in it (`examples/device`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import scriptc

UNITS, BATCH, LENGTH, LIMIT = 32, 16, 30, 1e-4


class LSTM(nn.Module):
    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.input, self.state = nn.Linear(inputs, 4 * units), nn.Linear(units, 4 * units, bias=False)

    def forward(self, xs: Tensor) -> Tensor:
        """Return the last state for a sequence (step, batch, feature)."""
        h = c = torch.zeros(xs.shape[1], self.units, dtype=xs.dtype)
        for x in xs:
            i, f, g, o = (self.input(x) + self.state(h)).chunk(4, 1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class GRU(nn.Module):
    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.gates, self.candidate = nn.Linear(inputs + units, 2 * units), nn.Linear(inputs + units, units)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.shape[1], self.units, dtype=xs.dtype)
        for x in xs:
            update, reset = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
            new = torch.tanh(self.candidate(torch.cat([x, reset * h], 1)))
            h = torch.lerp(h, new, update)
        return h


class LayerNormLSTM(nn.Module):
    """Each product has a layer norm of its own, and so has the cell's state."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.input, self.state = nn.Linear(inputs, 4 * units, bias=False), nn.Linear(units, 4 * units, bias=False)
        self.of_input, self.of_state, self.of_cell = nn.LayerNorm(4 * units), nn.LayerNorm(4 * units), nn.LayerNorm(units)

    def forward(self, xs: Tensor) -> Tensor:
        h = c = torch.zeros(xs.shape[1], self.units, dtype=xs.dtype)
        for t in range(xs.shape[0]):
            gates = self.of_input(self.input(xs[t])) + self.of_state(self.state(h))
            i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.of_cell(c))
        return h


class MinGRU(nn.Module):
    """The gate and the candidate depend on the input alone."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.update, self.candidate = nn.Linear(inputs, units), nn.Linear(inputs, units)

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.shape[1], self.units, dtype=xs.dtype)
        for x in xs:
            z = torch.sigmoid(self.update(x))
            h = (1 - z) * h + z * self.candidate(x)
        return h


CELLS: dict[str, type[nn.Module]] = {"LSTM": LSTM, "GRU": GRU, "layer-norm LSTM": LayerNormLSTM, "minGRU": MinGRU}


class Adder(nn.Module):
    """Reads the sum of the marked numbers off the last state of a cell."""

    def __init__(self, cell: type[nn.Module]) -> None:
        super().__init__()
        self.cell, self.output = cell(2, UNITS), nn.Linear(UNITS, 1)

    def forward(self, xs: Tensor) -> Tensor:
        return self.output(self.cell(xs)).squeeze(1)


def batches(count: int, dtype: torch.dtype) -> list[tuple[Tensor, Tensor]]:
    """Return `count` batches of (sequences of pairs of a number and a mark, sum of the two marked numbers)."""
    generator = torch.Generator().manual_seed(1)
    made = []
    for _ in range(count):
        numbers = torch.rand(LENGTH, BATCH, generator=generator, dtype=torch.float64)
        marks = torch.zeros(LENGTH, BATCH, dtype=torch.float64)
        places = torch.rand(LENGTH, BATCH, generator=generator).topk(2, 0).indices
        marks.scatter_(0, places, 1.0)
        made.append((torch.stack([numbers, marks], 2).to(dtype), (numbers * marks).sum(0).to(dtype)))
    return made


def train(net: nn.Module, forward: Callable[[Tensor], Tensor], data: list[tuple[Tensor, Tensor]]) -> tuple[list[float], float]:
    """Return the loss of each step, and the seconds that all steps took."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    begin = time.perf_counter()
    for xs, sums in data:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(forward(xs), sums)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, time.perf_counter() - begin


class Trainer:
    """A training step as one function. The first one makes the optimizer's state, so it is made in Python."""

    def __init__(self, net: nn.Module, first: tuple[Tensor, Tensor]) -> None:
        self.net, self.optimizer = net, torch.optim.Adam(net.parameters(), lr=0.01)
        self.first = self.train(*first).item()

    def train(self, xs: Tensor, sums: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(xs), sums)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()


def losses_in_c(net: nn.Module, data: list[tuple[Tensor, Tensor]]) -> list[float]:
    """Return the loss of each step, of which a C program makes all but the first."""
    from device import TRAIN, train_in_c

    trainer = Trainer(net, data[0])
    entries = {"train": (trainer.train, data[0]), "predict": (net, data[0][:1])}
    return [trainer.first, *train_in_c(entries, [(TRAIN, pair) for pair in data[1:]])["train"]]


def made(cell: type[nn.Module], dtype: torch.dtype) -> Adder:
    torch.manual_seed(0)
    return Adder(cell).to(dtype)


def example_args() -> tuple[Tensor]:
    return (batches(1, torch.float32)[0][0],)


model = made(LayerNormLSTM, torch.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--cells", nargs="+", choices=list(CELLS), default=list(CELLS), metavar="CELL", help=", ".join(CELLS))
    parser.add_argument("--package", action="store_true", help="train in a C program as well; needs cmake")
    options = parser.parse_args()
    dtype = getattr(torch, options.dtype)
    data = batches(options.steps, dtype)
    differ = []
    for name in options.cells:
        eager, ours = made(CELLS[name], dtype), made(CELLS[name], dtype)
        compiled = scriptc.compile(ours)
        warm = made(CELLS[name], dtype)
        train(warm, scriptc.compile(warm), data[:1])  # compiles, so that the times below are those of training
        wanted, eager_seconds = train(eager, eager, data)
        losses, seconds = train(ours, compiled, data)
        worst = max(abs(a - b) / abs(a) for a, b in zip(wanted, losses, strict=True))
        times = f"eager {1e3 * eager_seconds / len(data):.1f} ms a step, compiled {1e3 * seconds / len(data):.1f} ms"
        print(f"{name}: loss {losses[0]:.3f} to {losses[-1]:.4f}, close to eager's within {worst:.1e}; {times}")
        if options.package:
            in_c = losses_in_c(made(CELLS[name], dtype), data)
            difference = max(abs(a - b) / abs(a) for a, b in zip(wanted, in_c, strict=True))
            print(f"{name} in C: close to eager's within {difference:.1e}")
            worst = max(worst, difference)
        if not worst <= LIMIT:
            differ.append(name)
    if differ:
        raise SystemExit(f"losses of {', '.join(differ)} differ from eager's by more than {LIMIT}")


if __name__ == "__main__":
    main()
