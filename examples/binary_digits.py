"""Train binarized nets on scikit-learn's digits, and classify with bit operations in C.

Weights and activations are -1 or 1: the sign of a float, with a gradient that passes straight through. `--package` builds the
nets ahead of time, and lets a C program classify the held-out third; it needs cmake.

    python examples/binary_digits.py --epochs 25 --package
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import scriptc

LEVELS = 8  # of a pixel: it is encoded as whether it is above each of these
DRIVER = Path(__file__).parent / "digits"


class StraightThroughSign(torch.autograd.Function):
    """-1 or 1, with the gradient of the identity between -1 and 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


def encoded(x: Tensor) -> Tensor:
    """Return for pixels 0 to 16, [N, 64], whether each is above each level: 1 or -1, [N, LEVELS, 8, 8]."""
    levels = 2 * torch.arange(LEVELS).view(LEVELS, 1, 1) + 1
    return torch.where(x.view(-1, 1, 8, 8) > levels, 1.0, -1.0)


class Linear(nn.Linear):
    """A linear without bias. `binary` tells whether weights and inputs are binarized."""

    def __init__(self, inputs: int, outputs: int, binary: bool) -> None:
        super().__init__(inputs, outputs, bias=False)
        self.binary = binary

    def forward(self, x: Tensor) -> Tensor:
        if not self.binary:
            return F.linear(torch.tanh(x), self.weight)
        return F.linear(StraightThroughSign.apply(x), StraightThroughSign.apply(self.weight))


class Conv(nn.Conv2d):
    """A 3 x 3 convolution without bias, binarized likewise."""

    def __init__(self, channels: int, filters: int, binary: bool) -> None:
        super().__init__(channels, filters, 3, padding=1, bias=False)
        self.binary = binary

    def forward(self, x: Tensor) -> Tensor:
        if not self.binary:
            return F.conv2d(torch.tanh(x), self.weight, padding=1)
        return F.conv2d(StraightThroughSign.apply(x), StraightThroughSign.apply(self.weight), padding=1)


def mlp(binary: bool) -> nn.Sequential:
    return nn.Sequential(
        nn.Flatten(), Linear(64 * LEVELS, 512, binary), nn.BatchNorm1d(512), Linear(512, 512, binary), nn.BatchNorm1d(512),
        Linear(512, 10, binary), nn.BatchNorm1d(10),
    )  # fmt: skip


def convolutional(binary: bool) -> nn.Sequential:
    return nn.Sequential(
        Conv(LEVELS, 64, binary), nn.BatchNorm2d(64), Conv(64, 64, binary), nn.MaxPool2d(2), nn.BatchNorm2d(64),
        Conv(64, 128, binary), nn.BatchNorm2d(128), nn.Flatten(), Linear(128 * 16, 10, binary), nn.BatchNorm1d(10),
    )  # fmt: skip


class Digits(nn.Module):
    """A net that classifies images [N, 64]."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(encoded(x))

    def classify(self, x: Tensor) -> Tensor:
        return self(x).argmax(1)


def data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return images and digits to train on, and those of a held-out third."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32), torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    rest, held = order[len(x) // 3 :], order[: len(x) // 3]
    return x[rest], y[rest], x[held], y[held]


class Trainer:
    """A training step as one function: forward, backward, Adam, and masters that stay between -1 and 1."""

    def __init__(self, net: Digits, first: tuple[Tensor, Tensor]) -> None:
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
        self.masters = [layer.weight for layer in net.layers if isinstance(layer, (Linear, Conv))]
        self.train(*first)  # makes the optimizer's state

    def train(self, x: Tensor, y: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for master in self.masters:
                master.clamp_(-1, 1)
        return loss.detach()


def trained(layers: nn.Sequential, x: Tensor, y: Tensor, epochs: int) -> Digits:
    """Return a net in evaluation mode that was trained by a compiled step."""
    net = Digits(layers)
    generator = torch.Generator().manual_seed(1)
    batches = [at for _ in range(epochs) for at in torch.randperm(len(x), generator=generator)[: len(x) // 64 * 64].split(64)]
    trainer = Trainer(net, (x[batches[0]], y[batches[0]]))
    step = scriptc.compile(trainer.train)
    for i, at in enumerate(batches):
        for group in trainer.optimizer.param_groups:
            group["lr"] = 0.003 * (1 - i / len(batches))
        step(x[at], y[at])
    return net.eval()


def in_c(net: Digits, x: Tensor) -> tuple[Tensor, float]:
    """Return the digits that a C program finds, and how much smaller the weights file is than the parameters."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        package = scriptc.build({"classify": (net.classify, (x[:2],))}, out=folder / "digits")
        commands: list[list[Any]] = [
            ["cmake", "-S", DRIVER, "-B", folder / "build", f"-DPACKAGE={package}", "-DCMAKE_BUILD_TYPE=Release"],
            ["cmake", "--build", folder / "build", "--target", "classify"],
        ]
        for command in commands:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        weights, images = package / "digits.safetensors", folder / "images"
        images.write_bytes(x.numpy().tobytes())
        done = subprocess.run([folder / "build" / "classify", weights, images], check=True, capture_output=True, text=True)
        floats = sum(p.numel() for p in net.parameters()) * 4
        return torch.tensor([int(line) for line in done.stdout.split()]), floats / weights.stat().st_size


model = Digits(mlp(binary=True)).eval()
example_args = (torch.zeros(2, 64),)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--package", action="store_true", help="classify in a C program as well; needs cmake")
    options = parser.parse_args()
    x, y, held_x, held_y = data()
    for make in (mlp, convolutional):
        accuracy = {}
        for binary in (False, True):
            torch.manual_seed(0)
            net = trained(make(binary), x, y, options.epochs)
            with torch.no_grad():
                found = scriptc.compile(net, freeze=True)(held_x).argmax(1)
                if not torch.equal(found, net.classify(held_x)):
                    raise SystemExit("eager classifies otherwise")
            accuracy[binary] = (found == held_y).float().mean().item()
        print(f"{make.__name__}: {accuracy[True]:.1%} of a held-out third, {accuracy[False]:.1%} in float; equal to eager")
        if options.package:
            digits, ratio = in_c(net, held_x)
            if not torch.equal(digits, found):
                raise SystemExit("the C program classifies otherwise")
            print(f"in C: equal for all {len(digits)} images; weights file 1 / {ratio:.1f} of the floats")


if __name__ == "__main__":
    main()
