"""Search for nets that read digits well and fast: accuracy against the latency of the compiled C.

Regularized evolution (Real and others, 2019): a new candidate is the best of some of the population with one gene changed, and
the oldest leaves. The score weighs accuracy by latency as MnasNet does (Tan and others, 2019). Every candidate is trained by a
compiled step. Results are kept in a file as they come, and a search that was stopped goes on from there.

    python examples/search.py --candidates 30 --plot front.png
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from binary_digits import StraightThroughSign, data
from torch import Tensor, nn

import scriptc

POPULATION, TOURNAMENT = 8, 4
TARGET = 30e-6  # seconds of a call
WEIGHT = -0.07  # of the logarithm of the latency in the score
VALIDATION = 300  # images that choose among candidates; the held-out third is looked at in the end
KINDS = ("conv", "separable", "residual", "binary")
WIDTHS = (8, 16, 32, 64)
ACTIVATIONS = ("relu", "hardswish", "tanh")


@dataclass(frozen=True)
class Genes:
    """A net: its cells in order, the width of each, where it halves the image, and the activation."""

    kinds: tuple[str, ...]
    widths: tuple[int, ...]
    pools: tuple[bool, ...]
    activation: str

    def __str__(self) -> str:
        cells = (f"{k}{w}{'/2' if p else ''}" for k, w, p in zip(self.kinds, self.widths, self.pools, strict=True))
        return f"{' '.join(cells)}, {self.activation}"


def random_genes(rng: random.Random) -> Genes:
    count = rng.randint(1, 3)
    return Genes(
        tuple(rng.choice(KINDS) for _ in range(count)), tuple(rng.choice(WIDTHS) for _ in range(count)),
        tuple(rng.random() < 0.5 for _ in range(count)), rng.choice(ACTIVATIONS),
    )  # fmt: skip


def mutated(genes: Genes, rng: random.Random) -> Genes:
    """Change one gene: a kind, a width, a pool, the activation, or the number of cells."""
    count, at = len(genes.kinds), rng.randrange(len(genes.kinds))

    def with_item(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
        return (*items[:at], item, *items[at + 1 :])

    while True:
        gene = rng.choice(("kind", "width", "pool", "activation", "longer", "shorter"))
        made = genes
        if gene == "kind":
            made = replace(genes, kinds=with_item(genes.kinds, rng.choice(KINDS)))
        elif gene == "width":
            made = replace(genes, widths=with_item(genes.widths, rng.choice(WIDTHS)))
        elif gene == "pool":
            made = replace(genes, pools=with_item(genes.pools, not genes.pools[at]))
        elif gene == "activation":
            made = replace(genes, activation=rng.choice(ACTIVATIONS))
        elif gene == "longer" and count < 4:
            more = random_genes(rng)
            made = Genes(
                (*genes.kinds, more.kinds[0]), (*genes.widths, more.widths[0]), (*genes.pools, more.pools[0]), genes.activation
            )
        elif gene == "shorter" and count > 1:
            made = Genes(genes.kinds[:-1], genes.widths[:-1], genes.pools[:-1], genes.activation)
        if made != genes:
            return made


class Cell(nn.Module):
    """A convolution of one kind with a norm, and a pool if `pool`."""

    def __init__(self, kind: str, inputs: int, width: int, pool: bool, activation: str) -> None:
        super().__init__()
        self.kind, self.pool, self.activation = kind, pool, activation
        groups = inputs if kind == "separable" else 1
        self.conv = nn.Conv2d(inputs, inputs if groups > 1 else width, 3, padding=1, groups=groups, bias=False)
        self.point = nn.Conv2d(inputs, width, 1, bias=False) if groups > 1 else nn.Identity()
        self.norm = nn.BatchNorm2d(width)
        self.center = nn.BatchNorm2d(inputs) if kind == "binary" else nn.Identity()  # so that both signs occur
        self.skips = kind == "residual" and inputs == width

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "binary":
            weight = StraightThroughSign.apply(self.conv.weight)
            y = self.norm(F.conv2d(StraightThroughSign.apply(self.center(x)), weight, padding=1))
        else:
            y = self.norm(self.point(self.conv(x)))
        if self.skips:
            y = y + x
        if self.activation == "relu":
            y = F.relu(y)
        elif self.activation == "hardswish":
            y = F.hardswish(y)
        else:
            y = torch.tanh(y)
        return F.max_pool2d(y, 2) if self.pool and y.shape[2] > 1 else y


class Net(nn.Module):
    """Classifies images [N, 64] with pixels 0 to 16."""

    def __init__(self, genes: Genes) -> None:
        super().__init__()
        cells, inputs = [], 1
        for kind, width, pool in zip(genes.kinds, genes.widths, genes.pools, strict=True):
            cells.append(Cell(kind, inputs, width, pool, genes.activation))
            inputs = width
        self.cells = nn.Sequential(*cells)
        self.head = nn.Linear(inputs * (8 >> min(sum(genes.pools), 3)) ** 2, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.cells(x.view(-1, 1, 8, 8) / 8 - 1).flatten(1))


class Trainer:
    """A training step as one function."""

    def __init__(self, net: Net, first: tuple[Tensor, Tensor]) -> None:
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=0.004)
        self.train(*first)  # makes the optimizer's state

    def train(self, x: Tensor, y: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def trained(genes: Genes, x: Tensor, y: Tensor, epochs: int) -> Net:
    """Return a net in evaluation mode, trained by a compiled step."""
    torch.manual_seed(0)
    net = Net(genes)
    batches = [at for _ in range(epochs) for at in torch.randperm(len(x))[: len(x) // 64 * 64].split(64)]
    trainer = Trainer(net, (x[batches[0]], y[batches[0]]))
    step = scriptc.compile(trainer.train, optimize=1)
    for i, at in enumerate(batches):
        for group in trainer.optimizer.param_groups:
            group["lr"] = 0.004 * (1 - i / len(batches))
        step(x[at], y[at])
    return net.eval()


@dataclass(frozen=True)
class Result:
    """A candidate: accuracy on the images that choose, accuracy on the held-out third, and the time of one image."""

    genes: Genes
    accuracy: float
    held_out: float
    latency: float

    @property
    def score(self) -> float:
        return self.accuracy * float((self.latency / TARGET) ** WEIGHT)


def result_of(genes: Genes, epochs: int) -> Result:
    x, y, held_x, held_y = data()
    net = trained(genes, x[VALIDATION:], y[VALIDATION:], epochs)
    compiled = scriptc.compile(net, freeze=True)

    def accuracy(images: Tensor, digits: Tensor) -> float:
        scores = compiled(images)
        torch.testing.assert_close(scores, net(images), rtol=1e-3, atol=1e-3)
        return (scores.argmax(1) == digits).float().mean().item()

    with torch.no_grad():
        chosen, held_out = accuracy(x[:VALIDATION], y[:VALIDATION]), accuracy(held_x, held_y)
        return Result(genes, chosen, held_out, scriptc.latency(compiled, x[:1], samples=31).median)


def read_results(path: Path) -> list[Result]:
    """Return the results of a file. A last line that was cut off while it was written is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            fields = json.loads(line)
        except json.JSONDecodeError:
            break
        genes = Genes(*(tuple(v) if isinstance(v, list) else v for v in fields.pop("genes").values()))
        found.append(Result(genes, **fields))
    return found


def search(path: Path, count: int, epochs: int, seed: int) -> list[Result]:
    """Return the results of `count` candidates, those in the file first."""
    results = read_results(path)
    path.write_text("".join(json.dumps(asdict(result)) + "\n" for result in results))
    population = deque(results[-POPULATION:], maxlen=POPULATION)
    begin = time.perf_counter()
    for index in range(len(results), count):
        rng = random.Random(f"{seed} {index}")  # a search that goes on makes the same choices
        if index < POPULATION:
            genes = random_genes(rng)
        else:
            genes = mutated(max(rng.sample(list(population), TOURNAMENT), key=lambda r: r.score).genes, rng)
        result = result_of(genes, epochs)
        results.append(result)
        population.append(result)
        with path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        print(
            f"{index + 1:3}/{count}  {result.accuracy:6.1%}  {result.latency * 1e6:7.1f} us  {genes}"
            f"  ({time.perf_counter() - begin:.0f} s)",
            flush=True,
        )
    return results


def front_of(results: list[Result]) -> list[Result]:
    """Return the candidates that no other one beats in both, the fastest first."""
    front: list[Result] = []
    for result in sorted(results, key=lambda r: (r.latency, -r.accuracy)):
        if not front or result.accuracy > front[-1].accuracy:
            front.append(result)
    return front


def plot(results: list[Result], path: Path) -> None:
    """Write accuracy against latency as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    front = front_of(results)
    least = statistics.median(r.accuracy for r in results) - 0.1
    below = sum(r.accuracy < least for r in results)
    figure, axes = plt.subplots(figsize=(7, 4.2), dpi=130)
    points = axes.scatter([r.latency * 1e6 for r in results], [100 * r.accuracy for r in results], c=range(1, len(results) + 1))
    axes.step([r.latency * 1e6 for r in front], [100 * r.accuracy for r in front], where="post", color="0.4", zorder=0)
    axes.set_ylim(100 * least, 100.5)
    axes.set_xlabel("latency of one image, compiled by scriptc, in microseconds")
    axes.set_ylabel("accuracy in per cent" + (f" ({below} below)" if below else ""))
    axes.grid(alpha=0.3)
    figure.colorbar(points, label="candidate")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


torch.manual_seed(0)
model = Net(Genes(("conv", "separable"), (16, 32), (True, False), "relu")).eval()
example_args = (torch.zeros(1, 64),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("search.jsonl"), help="the file that keeps results")
    parser.add_argument("--plot", type=Path, help="a picture of all candidates; needs matplotlib")
    options = parser.parse_args()
    results = search(options.results, options.candidates, options.epochs, options.seed)
    print("no other candidate is faster and better; compiled and eager are close:")
    for result in front_of(results):
        print(f"{result.latency * 1e6:7.1f} us  {result.accuracy:6.1%}, held-out third {result.held_out:6.1%}  {result.genes}")
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
