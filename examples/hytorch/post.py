"""The HyTorch post from end to end: `python post.py`. It needs the packages hy and scikit-learn, and cmake for the last part.

A recurrent network over a list of tensors, its compiled form as Python, the same network and the MNIST network in Hy, a
binarized network that is trained, and C without LibTorch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import scriptc

HERE = Path(__file__).parent
BATCH, INPUTS, HIDDEN = 4, 16, 32


class TestModel(nn.Module):
    """The motivating example."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hid_init = nn.Parameter(torch.zeros(1, hidden_dim))
        self.in_to_hid = nn.Linear(input_dim, hidden_dim)
        self.hid_to_hid = nn.Linear(hidden_dim, hidden_dim)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        hid: Tensor = self.hid_init.repeat(inputs[0].shape[0], 1)
        for x in inputs:
            hid = torch.sigmoid(self.hid_to_hid(hid) + self.in_to_hid(x))
        return hid


def steps(count: int) -> list[Tensor]:
    return [torch.randn(BATCH, INPUTS) for _ in range(count)]


def check(compiled: Any, model: Any, *args: Any) -> None:
    torch.testing.assert_close(compiled(*args), model(*args))


@torch.no_grad()
def motivating_example() -> None:
    model = TestModel(INPUTS, HIDDEN)
    compiled: Any = scriptc.compile(model)
    for count in (10, 9, 1):  # one compiled form for all lengths
        check(compiled, model, steps(count))
    print(compiled.code)
    code = compiled.code.function()
    inputs = steps(9)
    torch.testing.assert_close(code(model, inputs), compiled(inputs))
    print(f"compiled for {compiled.signatures()}: equal for 10, 9 and 1 steps, and so is its Python\n")


@torch.no_grad()
def in_lisp() -> None:
    import nets

    model = nets.TestModel(INPUTS, HIDDEN)
    check(scriptc.compile(model), model, steps(7))
    net = nets.Net().eval()
    compiled: Any = scriptc.compile(net)
    check(compiled, net, torch.randn(2, 1, 28, 28))
    print(compiled.code)
    print("both networks in Hy: equal\n")


def binarized(epochs: int) -> Any:
    """Return a trained network with its accuracy on a held-out third, and the images of that third."""
    import binary
    from binary_digits import data

    x, y, held_x, held_y = data()
    torch.manual_seed(0)
    net = binary.BinaryNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    masters = [net.first.weight, net.second.weight, net.last.weight]

    def train(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for master in masters:
                master.clamp_(-1, 1)
        return loss.detach()

    train(x[:64], y[:64])  # makes the optimizer's state
    step = scriptc.compile(train)
    for _ in range(epochs):
        for at in torch.randperm(len(x))[: len(x) // 64 * 64].split(64):
            step(x[at], y[at])
    net.eval()
    with torch.no_grad():
        compiled = scriptc.compile(net, freeze=True)
        found = compiled(held_x).argmax(1)
        check(compiled, net, held_x)
        floats = nn.Sequential(nn.Linear(512, 512), nn.Linear(512, 512), nn.Linear(512, 10))
        of_floats = scriptc.compile(floats, freeze=True)
        bits = scriptc.latency(compiled, held_x[:1]).median
        reals = scriptc.latency(of_floats, torch.randn(1, 512)).median
    accuracy = (found == held_y).float().mean().item()
    print(f"binarized network in Hy: {accuracy:.1%} of a held-out third; {bits * 1e6:.1f} us an image, "
          f"its linears alone in float {reals * 1e6:.1f} us; equal\n")  # fmt: skip
    return net, held_x


def without_libtorch(net: Any, images: Tensor) -> None:
    """Build both networks ahead of time, and run them in a C program."""
    model = TestModel(INPUTS, HIDDEN)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        scriptc.build(model, steps(10), out=folder / "recurrent")
        scriptc.build({"classify": (net.classify, (images[:2],))}, out=folder / "digits")
        for command in (
            ["cmake", "-S", HERE, "-B", folder / "build", f"-DPACKAGES={folder}", "-DCMAKE_BUILD_TYPE=Release"],
            ["cmake", "--build", folder / "build"],
        ):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (folder / "images").write_bytes(images.numpy().tobytes())
        program = folder / "build" / "hytorch"
        done = subprocess.run([program, folder, folder / "images"], check=True, capture_output=True, text=True)
        first, *digits = done.stdout.split()
        with torch.no_grad():
            wanted = model([torch.ones(2, INPUTS)] * 3)[0, 0].item()
            equal = torch.equal(torch.tensor([int(digit) for digit in digits]), net.classify(images))
        if abs(float(first) - wanted) > 1e-5 or not equal:
            raise SystemExit("the C program computes other results")
        linked = subprocess.run(["ldd", program], capture_output=True, text=True)
        libraries = [line.split()[0] for line in linked.stdout.splitlines()]
        print(f"in C: equal for the recurrent network and all {len(digits)} images; libraries: {', '.join(libraries)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--no-c", action="store_true", help="leave out the C program, which needs cmake")
    options = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    __import__("hy")  # lets Python import files of Hy
    torch.manual_seed(0)
    motivating_example()
    in_lisp()
    net, images = binarized(options.epochs)
    if not options.no_c:
        without_libtorch(net, images)


if __name__ == "__main__":
    main()
