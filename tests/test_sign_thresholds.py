"""Signs of what is computed from sums of signs, by thresholds in integers: exactly eager's results."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

import scriptc
from scriptc.driver.options import Options
from scriptc.driver.pipeline import run_passes
from scriptc.driver.target import target_of
from scriptc.frontend.entry import read
from scriptc.ir.op_references import reference


def binary(x: Tensor) -> Tensor:
    return torch.where(x > 0, 1.0, -1.0)


def at_least(x: Tensor) -> Tensor:
    return torch.where(x >= 0, 1.0, -1.0)


def norm(make: Any, filters: int) -> Any:
    """Return a BatchNorm with scales of both signs, and with numbers that make sums 0, infinite and NaN."""
    made = make(filters).eval()
    with torch.no_grad():
        made.running_mean.copy_(torch.randint(-9, 9, (filters,)))
        made.running_var.uniform_(0.1, 4)
        made.weight.normal_()
        made.bias.normal_()
        made.bias[::2] = 0
        made.weight[:8] = torch.tensor([0.0, -0.0, nan, inf, -inf, 1e38, -1.0, 1.0])
        made.bias[:8] = torch.tensor([0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, nan])
        made.running_mean[5], made.running_var[6] = inf, nan
    return made


class Layers(nn.Module):
    """Chains of two products, with different ops in between."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(70, 5, 3, 3))
        self.second = nn.Parameter(torch.randn(70, 70, 3, 2))
        self.last = nn.Parameter(torch.randn(3, 70, 1, 1))
        self.holes = nn.Parameter(torch.randn(70, 70, 3, 2) * (torch.rand(70, 70, 3, 2) > 0.2))
        self.norm, self.other = norm(nn.BatchNorm2d, 70), norm(nn.BatchNorm2d, 70)
        self.wide, self.narrow = nn.Parameter(torch.randn(70, 40)), nn.Parameter(torch.randn(9, 70))
        self.flat = norm(nn.BatchNorm1d, 70)
        self.bias = nn.Parameter(torch.randint(-3, 3, (70,)).float())
        self.scale = nn.Parameter(torch.randn(70))

    def forward(self, image: Tensor, rows: Tensor) -> list[Tensor]:
        sign: list[Callable[[Tensor], Tensor]] = [torch.sign, at_least]
        x = F.conv2d(binary(image), self.first.sign(), padding=1)
        out = []
        for way in sign:
            bits = way(self.norm(F.conv2d(way(image), self.first.sign(), padding=(1, 0))))
            bits = way(self.other(F.conv2d(bits, self.second.sign(), stride=(2, 1), padding=(0, 1)) + self.bias[:, None, None]))
            out.append(F.conv2d(bits, self.last.sign()))
            hidden = way(self.flat(F.linear(way(rows), self.wide.sign())))
            out.append(F.linear(hidden, self.narrow.sign()))
        others = (lambda y: y.abs() - 3, torch.sin, lambda y: F.relu(y) * self.scale[:, None, None])
        for i, other in enumerate(others):
            y = other(F.conv2d(binary(image), self.first.sign(), padding=(1, 2 + i)))
            out.append(F.conv2d(binary(y), self.holes.sign(), padding=(1, 1)))
        deep = F.linear(binary(rows.view(-1, 1, 40)), self.wide.sign(), self.bias)
        return [*out, F.linear(torch.sign(deep * self.scale), self.narrow.sign()), x]


@pytest.fixture(scope="module")
def layers() -> Layers:
    torch.manual_seed(0)
    return Layers().eval()


def test_signs_by_thresholds_equal_eager(layers: Layers) -> None:
    compiled = scriptc.compile(layers, freeze=True)
    with torch.no_grad():
        for sizes in ((2, 5, 7, 6), (1, 5, 3, 3), (3, 5, 4, 9)):
            image, rows = torch.randn(sizes), torch.randn(sizes[0] + 7, 40)
            image[0, 1, 1] = 0
            for given_image in (image, image.contiguous(memory_format=torch.channels_last)):
                got, expected = compiled(given_image, rows), layers(given_image, rows)
                for i, (a, b) in enumerate(zip(got, expected, strict=True)):
                    assert torch.equal(a, b) and a.stride() == b.stride(), i
        for wrong in (torch.randn(2, 4, 7, 6), torch.randn(2, 5, 2, 6)):
            with pytest.raises(RuntimeError, match="channels, but got 4|Kernel size"):
                layers(wrong, torch.randn(2, 40))
            with pytest.raises(RuntimeError, match="channels, but got 4|Kernel size"):
                compiled(wrong, torch.randn(2, 40))
    ir = compiled.ir()
    assert ir.count("signs.conv2d_bits(") == 7 and ir.count("signs.linear_bits(") == 3


@pytest.mark.parametrize("freeze", [False, True])
def test_floats_stay_where_weights_may_change(layers: Layers, freeze: bool) -> None:
    target = target_of(layers)
    arguments = target.bind((torch.randn(2, 5, 7, 6), torch.randn(9, 40)), {})
    module = read(target.func, target.receiver, arguments).module
    run_passes(module, Options(optimize=3, freeze=freeze))
    assert any(op.name.endswith("_bits") for op in module.walk()) == freeze


@given(st.integers(1, 12), st.integers(1, 70), st.integers(0, 4), st.booleans(), st.randoms(use_true_random=False))
def test_thresholds_stand_for_signs(terms: int, filters: int, how: int, monotonic: bool, random: Any) -> None:
    values = torch.tensor([[random.choice([-2.0, -1.0, 0.0, 0.5, nan]) for _ in range(filters)] for _ in range(2 * terms + 1)])
    values = values.sort(0).values if monotonic else values
    thresholds = reference("signs.thresholds")(values, how=how, bound=0.0)
    rows, w = torch.randint(0, 2, (5, terms)).float() * 2 - 1, torch.randint(0, 2, (filters, terms)).float() * 2 - 1
    sums = F.linear(rows, w)
    signs = reference("signs.rows")(values.gather(0, sums.long() + terms), how=how, bound=0.0)
    packed = reference("signs.rows")(rows, how=0, bound=0.0), reference("signs.filters")(w)
    got = reference("signs.linear_bits")(*packed, thresholds, weight=(filters, terms))
    assert torch.equal(got[: len(signs)], signs)
