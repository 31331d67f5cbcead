"""1 x 1 convolutions that scale, shift and bound the images that they read equal eager in values and strides."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import scriptc


class Gated(nn.Module):
    """Squeeze-and-excite in front of a projection; the weights of the narrow one are scaled, or else the image is."""

    def __init__(self, channels: int, filters: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.gate, self.project = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, filters, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        return self.project(torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True))) * y)


class Normed(nn.Module):
    """A norm and a ReLU in front of convolutions, which see the sums of others."""

    def __init__(self, channels: int, filters: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels)
        self.project, self.strided = nn.Conv2d(channels, filters, 1, bias=False), nn.Conv2d(channels, 20, 1, stride=2)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)
        self.norm.bias.data.normal_()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = F.relu6(self.norm(F.max_pool2d(self.first(x), 3, 1, 1)))
        return F.silu(self.project(y)), self.strided(y)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.wide, self.uneven = Gated(32, 16), Gated(32, 300), Gated(32, 37)
        self.normed, self.few = Normed(32, 48), Normed(7, 10)

    def forward(self, x: Tensor) -> list[Tensor]:
        normed, strided = self.normed(x)
        return [self.narrow(x), self.wide(x), self.uneven(x), normed, strided, *self.few(x[:, :7])]


@pytest.fixture(scope="module")
def net() -> tuple[nn.Module, scriptc.Compiled]:
    torch.manual_seed(0)
    model = Net().eval().requires_grad_(False)
    return model, scriptc.compile(model, freeze=True)


def agree(net: tuple[nn.Module, scriptc.Compiled], x: Tensor) -> None:
    for got, expected in zip(net[1](x), net[0](x), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
        assert got.stride() == expected.stride()


@pytest.mark.parametrize("images", [torch.contiguous_format, torch.channels_last])
def test_values_and_strides(net, images) -> None:
    for size in ((1, 32, 7, 7), (2, 32, 14, 14), (3, 32, 5, 9), (1, 32, 40, 30), (0, 32, 4, 4)):
        agree(net, torch.randn(size).contiguous(memory_format=images))
    agree(net, torch.randn(40, 2, 9, 8).transpose(0, 1)[:, 4:36])
    assert net[1].ir().count(" = with_prologue(") == 7


def test_results_do_not_depend_on_threads(net) -> None:
    x = torch.randn(2, 32, 20, 20)
    expected = net[1](x)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        for _ in range(20):
            torch.testing.assert_close(net[1](x), expected, rtol=1e-5, atol=1e-5)
    finally:
        torch.set_num_threads(before)


GATES = (1e30, 1e-42, float("inf"), 0.0, float("nan"), -0.5)
PIXELS = (1e-30, 1e15, 2.0, float("inf"), 1.0, 1.5)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(16, 16, 1), nn.Conv2d(16, 8, 1)
        self.gates = nn.ParameterList(torch.full((16, 1, 1), 0.5) for _ in GATES)

    def forward(self, *images: Tensor) -> list[Tensor]:
        return [
            self.last(F.max_pool2d(self.first(x), 3, 1, 1) * gate) for x, gate in zip(images, self.gates, strict=True)
        ]


@torch.no_grad()
def test_gates_that_are_not_moderate() -> None:
    """Scaled weights would overflow, lose bits, or make NaN."""
    model = Scaled().eval()
    for layer, size in ((model.first, 1.0), (model.last, 1e20)):
        layer.weight.copy_(torch.eye(16)[: layer.out_channels, :, None, None] * size)
        layer.bias.zero_()
    images = [torch.randn(1, 16, 6, 6) for _ in GATES]
    for image, gates, pixel, gate in zip(images, model.gates, PIXELS, GATES, strict=True):
        image[0, 3], gates[3] = pixel, gate
    made = scriptc.compile(model, freeze=True)
    for got, expected in zip(made(*images), model(*images), strict=True):
        torch.testing.assert_close(got, expected, equal_nan=True, rtol=1e-5, atol=1e-5)
    assert made.ir().count(" = with_prologue(") == len(GATES)
