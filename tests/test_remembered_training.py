"""A later process takes compiled training steps from the disk cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import scriptc
from tests.test_remembered import World, made, world  # noqa: F401  a fixture

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)
    def forward(self, xs):
        h = torch.zeros(3)
        for x in xs:
            h = torch.tanh(self.cell(x + h))
        return h
"""
WITH_OPTIMIZER = """
def make():
    net = Net()
    optimizer = {optimizer}
    def step(xs):
        optimizer.zero_grad()
        loss = net(xs).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step
"""
STEPS = {
    "by hand": """
def make():
    net = Net()
    def step(xs):
        loss = net(xs).square().sum()
        weights = list(net.parameters())
        with torch.no_grad():
            for weight, grad in zip(weights, torch.autograd.grad(loss, weights)):
                weight.sub_(0.1 * grad)
        return loss.detach()
    return step
""",
    "SGD": WITH_OPTIMIZER.format(optimizer="torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)"),
    "AdamW": WITH_OPTIMIZER.format(optimizer="torch.optim.AdamW(net.parameters(), lr=0.1)"),
}


def losses(step, optimize=0):
    compiled = scriptc.compile(step, optimize=optimize)
    xs = torch.linspace(-1, 1, 12).view(4, 3)
    return [compiled(xs).item() for _ in range(3)]


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_found_without_reading(world: World, name: str) -> None:  # noqa: F811
    first = losses(made(world.load(NET + STEPS[name])))
    again = made(world.load(NET + STEPS[name]))
    assert world.without_reading(lambda: losses(again)) == first


def test_a_step_over_other_objects_is_read_again(world: World) -> None:  # noqa: F811
    source = NET + STEPS["SGD"]
    losses(made(world.load(source)))
    other = made(world.load(source.replace("momentum=0.9", "momentum=0.5")))
    assert losses(other) == losses_of_eager(source.replace("momentum=0.9", "momentum=0.5"), world)


def losses_of_eager(source: str, world: World) -> list[float]:  # noqa: F811
    step = made(world.load(source, "eager_net"))
    xs = torch.linspace(-1, 1, 12).view(4, 3)
    return pytest.approx([step(xs).item() for _ in range(3)], rel=1e-5)  # type: ignore[return-value]


@pytest.mark.slow
def test_a_second_process_reads_no_step(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(f"""
import logging, torch, scriptc
from torch import nn
{NET}
torch.manual_seed(0)
{STEPS["AdamW"]}
logging.basicConfig(level=logging.INFO, format="%(message)s")
step = scriptc.compile(make(), optimize=0)
print([step(torch.linspace(-1, 1, 12).view(4, 3)).item() for _ in range(3)])
""")
    found = [
        subprocess.run([sys.executable, str(program)], check=True, capture_output=True, text=True) for _ in range(2)
    ]
    assert found[0].stdout == found[1].stdout
    assert "compiled make" in found[0].stderr
    assert "compiled" not in found[1].stderr and found[1].stderr.count("from the disk cache") == 2
