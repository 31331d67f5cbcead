"""Train a character-level recurrent net, compiled and in eager side by side, on the license that Python ships with.

The net is a hand-written LSTM cell in a Python loop, which eager runs op by op. Losses of both are compared at each step.
Compiled code rounds in another order than eager, and training amplifies each difference. In float64, the default, losses agree
over 300 steps (`--steps 300`). In float32 they agree over some 100 steps, then exceed the limit of 1e-4.

`--package` trains in a C program as well, which has no Python in it (`examples/device`).
"""

from __future__ import annotations

import argparse
import builtins
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import scriptc

UNITS, EMBEDDED, BATCH, STEPS = 64, 32, 8, 50


class CharRNN(nn.Module):
    """Predicts the next character: an embedding, an LSTM cell in a loop, a linear layer."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, EMBEDDED)
        self.input = nn.Linear(EMBEDDED, 4 * UNITS)
        self.state = nn.Linear(UNITS, 4 * UNITS, bias=False)
        self.output = nn.Linear(UNITS, characters)

    def forward(self, text: Tensor) -> Tensor:
        """Return scores (step, batch, character) for the characters that follow `text` (step, batch)."""
        h = c = torch.zeros(text.shape[1], UNITS, dtype=self.output.weight.dtype)
        scores = []
        for t in range(text.shape[0]):
            i, f, g, o = (self.input(self.embedding(text[t])) + self.state(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            scores.append(self.output(h))
        return torch.stack(scores)


def corpus() -> tuple[Tensor, int]:
    """Return the text of Python's license as numbers of characters, and how many characters there are."""
    license = builtins.license  # type: ignore[attr-defined]  # site provides it
    license._Printer__setup()
    text = "\n".join(license._Printer__lines)
    alphabet = {c: i for i, c in enumerate(sorted(set(text)))}
    return torch.tensor([alphabet[c] for c in text]), len(alphabet)


def batches(text: Tensor, count: int) -> list[tuple[Tensor, Tensor]]:
    """Return `count` batches of (characters, characters that follow), each (step, batch)."""
    generator = torch.Generator().manual_seed(1)
    starts = torch.randint(0, len(text) - STEPS - 1, (count, BATCH), generator=generator)
    at = starts.unsqueeze(1) + torch.arange(STEPS).unsqueeze(1)
    return [(text[i], text[i + 1]) for i in at]


def train(net: CharRNN, forward: Callable[[Tensor], Tensor], data: list[tuple[Tensor, Tensor]]) -> tuple[list[float], float]:
    """Return the loss of each step, and the seconds that all steps took."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    begin = time.perf_counter()
    for text, following in data:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(forward(text).flatten(0, 1), following.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, time.perf_counter() - begin


class Trainer:
    """A training step as one function. The first one makes the optimizer's state, so it is made in Python."""

    def __init__(self, net: CharRNN, first: tuple[Tensor, Tensor]) -> None:
        self.net, self.optimizer = net, torch.optim.Adam(net.parameters(), lr=0.01)
        self.first = self.train(*first).item()

    def train(self, text: Tensor, following: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(text).flatten(0, 1), following.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def losses_in_c(net: CharRNN, data: list[tuple[Tensor, Tensor]]) -> list[float]:
    """Return the loss of each step, of which a C program makes all but the first."""
    from device import TRAIN, train_in_c

    trainer = Trainer(net, data[0])
    entries = {"train": (trainer.train, data[0]), "predict": (net, data[0][:1])}
    return [trainer.first, *train_in_c(entries, [(TRAIN, pair) for pair in data[1:]])["train"]]


def example_args() -> tuple[Tensor]:
    return (batches(corpus()[0], 1)[0][0],)


def made(dtype: torch.dtype = torch.float32) -> CharRNN:
    torch.manual_seed(0)
    return CharRNN(corpus()[1]).to(dtype)


model = made()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--package", action="store_true", help="train in a C program as well; needs cmake")
    options = parser.parse_args()
    count, dtype = options.steps, getattr(torch, options.dtype)
    data = batches(corpus()[0], count)
    eager, ours, warm = made(dtype), made(dtype), made(dtype)
    compiled = scriptc.compile(ours)
    train(warm, scriptc.compile(warm), data[:1])  # compiles, so that the times below are those of training
    wanted, eager_seconds = train(eager, eager, data)
    losses, seconds = train(ours, compiled, data)
    worst = max(abs(a - b) / a for a, b in zip(wanted, losses, strict=True))
    print(f"{count} steps: loss {losses[0]:.3f} to {losses[-1]:.3f}, close to eager's within {worst:.1e}")
    print(f"eager {1000 * eager_seconds / count:.1f} ms a step, compiled {1000 * seconds / count:.1f} ms")
    if options.package:
        in_c = max(abs(a - b) / a for a, b in zip(wanted, losses_in_c(made(dtype), data), strict=True))
        print(f"in C, close to eager's within {in_c:.1e}")
        worst = max(worst, in_c)
    if not worst <= 1e-4:
        raise SystemExit("losses differ")


if __name__ == "__main__":
    main()
