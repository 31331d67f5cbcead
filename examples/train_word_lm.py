"""Train a word-level language model, compiled and in eager side by side, on the documentation that Python ships with.

The model is in the manner of PyTorch's example word_language_model: an embedding, layers of LSTM cells with dropout, a decoder
that shares the weight of the embedding, truncated backpropagation with a state that goes on from chunk to chunk, clipped
gradients, and a learning rate that falls when the loss on validation text stops to fall. The cells are written by hand.

Losses of both are compared at each step. Compiled code draws eager's random numbers for dropout, but rounds in another order,
and training amplifies each difference. At the default of 300 steps, losses agree within 1e-6; in float64, within 1e-14.
Higher learning rates and many more steps may exceed the limit of 1e-4 in float32.

`--package` trains in a C program as well, which has no Python in it (`examples/device`).
"""

from __future__ import annotations

import argparse
import copy
import math
import pydoc_data.topics
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import scriptc

UNITS, LAYERS, BATCH, CHUNK, WORDS, DROPOUT, CLIP, LIMIT = 64, 2, 8, 20, 1500, 0.2, 0.25, 1e-4


class Cell(nn.Module):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.input, self.state = nn.Linear(units, 4 * units), nn.Linear(units, 4 * units, bias=False)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = (self.input(x) + self.state(h)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class WordModel(nn.Module):
    """Predicts the next word. The state of all layers is one tensor (layer, 2, batch, unit)."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, UNITS)
        self.cells = nn.ModuleList([Cell(UNITS) for _ in range(LAYERS)])
        self.drop = nn.Dropout(DROPOUT)
        self.decoder = nn.Linear(UNITS, words)
        self.decoder.weight = self.embedding.weight
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, text: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (step, batch, word) for the words that follow `text` (step, batch), and the new state."""
        inputs, states = self.drop(self.embedding(text)), []
        for layer, cell in enumerate(self.cells):
            h, c = state[layer, 0], state[layer, 1]
            outputs = []
            for x in inputs:
                h, c = cell(x, h, c)
                outputs.append(h)
            inputs = self.drop(torch.stack(outputs))
            states.append(torch.stack([h, c]))
        return self.decoder(inputs), torch.stack(states)

    def first_state(self) -> Tensor:
        return torch.zeros(LAYERS, 2, BATCH, UNITS, dtype=self.decoder.weight.dtype)


def corpus() -> tuple[Tensor, int]:
    """Return the topics of Python's documentation as numbers of words, and how many words there are.

    Rare words are one word.
    """
    topics = pydoc_data.topics.topics
    text = re.findall(r"\w+|[^\w\s]", " ".join(topics[name] for name in sorted(topics)))[:60_000]
    vocabulary = {word: i + 1 for i, (word, _) in enumerate(Counter(text).most_common(WORDS - 1))}
    return torch.tensor([vocabulary.get(word, 0) for word in text]), WORDS


def columns(words: Tensor) -> Tensor:
    """Return a text as columns (step, batch), each a run of the text."""
    length = len(words) // BATCH
    return words[: length * BATCH].view(BATCH, length).t().contiguous()


def chunks(text: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return (words, words that follow), each (step, batch)."""
    return [(text[i : i + CHUNK], text[i + 1 : i + 1 + CHUNK]) for i in range(0, len(text) - CHUNK - 1, CHUNK)]


def loss_of(scores: Tensor, following: Tensor) -> Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())


def evaluate(net: WordModel, forward: Callable[..., Any], text: Tensor) -> float:
    net.eval()
    state, losses = net.first_state(), []
    with torch.no_grad():
        for words, following in chunks(text):
            scores, state = forward(words, state)
            losses.append(loss_of(scores, following).item())
    net.train()
    return sum(losses) / len(losses)


def train(
    net: WordModel, forward: Callable[..., Any], text: Tensor, held_out: Tensor, count: int
) -> tuple[list[float], list[float], float]:
    """Return the loss of each step, the validation loss of each epoch, and the seconds that all steps took."""
    torch.manual_seed(2)  # of dropout
    optimizer = torch.optim.SGD(net.parameters(), lr=5.0)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.25, patience=0)
    losses: list[float] = []
    validation: list[float] = []
    seconds = 0.0
    while len(losses) < count:
        state = net.first_state()
        begin = time.perf_counter()
        for words, following in chunks(text)[: count - len(losses)]:
            optimizer.zero_grad()
            scores, state = forward(words, state.detach())
            loss = loss_of(scores, following)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), CLIP)
            optimizer.step()
            losses.append(loss.item())
        seconds += time.perf_counter() - begin
        validation.append(evaluate(net, forward, held_out))
        schedule.step(validation[-1])
    return losses, validation, seconds


class Trainer:
    """The training as functions for a package. The learning rate is a tensor, so that the schedule can write to it."""

    def __init__(self, net: WordModel) -> None:
        self.net, self.state = net, net.first_state()
        self.still = copy.deepcopy(net, {id(p): p for p in net.parameters()}).eval()  # the same weights, without dropout
        self.optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(5.0, dtype=torch.float64))
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.25, patience=0)

    def begin(self) -> None:
        """Begin a run over a text."""
        self.state = torch.zeros_like(self.state)

    def train(self, words: Tensor, following: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        scores, state = self.net(words, self.state)
        loss = loss_of(scores, following)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), CLIP)
        self.optimizer.step()
        self.state = state.detach()
        return loss.detach()

    def evaluate(self, words: Tensor, following: Tensor) -> Tensor:
        with torch.no_grad():
            scores, self.state = self.still(words, self.state)
            return loss_of(scores, following)

    def finish(self, validation: float) -> None:
        """Finish an epoch with its validation loss."""
        self.schedule.step(validation)


def losses_in_c(net: WordModel, text: Tensor, held_out: Tensor, count: int) -> list[float]:
    """Return the loss of each step, then the validation loss of each epoch, as a C program computes them."""
    from device import BEGIN, EVALUATE, FINISH, TRAIN, Call, train_in_c

    trainer, parts, calls = Trainer(net), chunks(text), list[Call]()
    example = parts[0]
    entries = {
        "begin": (trainer.begin, ()), "train": (trainer.train, example), "evaluate": (trainer.evaluate, example),
        "finish": (trainer.finish, (1.0,)),
    }  # fmt: skip
    done = 0
    while done < count:
        part = parts[: count - done]
        calls += [(BEGIN, ()), *((TRAIN, pair) for pair in part)]
        calls += [(BEGIN, ()), *((EVALUATE, pair) for pair in chunks(held_out)), (FINISH, ())]
        done += len(part)
    losses = train_in_c(entries, calls, seed=2)
    return [*losses["train"], *losses["validation"]]


def made(dtype: torch.dtype = torch.float32) -> WordModel:
    torch.manual_seed(0)
    return WordModel(WORDS).to(dtype)


def example_args() -> tuple[Tensor, Tensor]:
    return chunks(columns(corpus()[0]))[0][0], made().first_state()


model = made().eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--words", type=int, default=25_000, help="length of the training text (default: 25000)")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--package", action="store_true", help="train in a C program as well; needs cmake")
    options = parser.parse_args()
    dtype = getattr(torch, options.dtype)
    words, _ = corpus()
    text, held_out = columns(words[: options.words]), columns(words[-4_000:])
    eager, ours, warm = made(dtype), made(dtype), made(dtype)
    compiled = scriptc.compile(ours)
    train(warm, scriptc.compile(warm), text, held_out, 1)  # compiles, so that the times below are those of training
    wanted, validation, eager_seconds = train(eager, eager, text, held_out, options.steps)
    losses, ours_validation, seconds = train(ours, compiled, text, held_out, options.steps)
    pairs = list(zip([*wanted, *validation], [*losses, *ours_validation], strict=True))
    worst = max(abs(a - b) / a for a, b in pairs)
    print(f"{options.steps} steps, {len(validation)} epochs: perplexity {math.exp(losses[0]):.0f} to "
          f"{math.exp(losses[-1]):.0f}, on validation text {math.exp(ours_validation[-1]):.0f}; losses close to eager's within "
          f"{worst:.1e}")  # fmt: skip
    count = options.steps
    print(f"eager {1e3 * eager_seconds / count:.1f} ms a step, compiled {1e3 * seconds / count:.1f} ms")
    if options.package:
        in_c = losses_in_c(made(dtype), text, held_out, options.steps)
        difference = max(abs(a - b) / a for a, b in zip([*wanted, *validation], in_c, strict=True))
        print(f"in C: losses close to eager's within {difference:.1e}")
        worst = max(worst, difference)
    if not worst <= LIMIT:
        raise SystemExit(f"losses differ from eager's by more than {LIMIT}")


if __name__ == "__main__":
    main()
