"""Inception v3 (Szegedy et al., 2015), without the auxiliary classifier, which only training uses."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared

Size = int | tuple[int, int]


class Conv(nn.Module):
    """Convolution, batch norm, ReLU; `same` keeps height and width where the stride is 1."""

    def __init__(self, channels: int, out: int, kernel: Size = 1, stride: int = 1, same: bool = True) -> None:
        super().__init__()
        h, w = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (h // 2, w // 2) if same else 0
        self.conv = nn.Conv2d(channels, out, (h, w), stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(out, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


def chain(channels: int, *steps: tuple[int, Size]) -> nn.Sequential:
    """Return convolutions in sequence, each given as (channels out, kernel)."""
    convs = []
    for out, kernel in steps:
        convs.append(Conv(channels, out, kernel))
        channels = out
    return nn.Sequential(*convs)


def reduced(channels: int, out: int) -> Conv:
    return Conv(channels, out, 3, stride=2, same=False)


def pooled(channels: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), Conv(channels, out))


class Branches(nn.Module):
    """The outputs of all branches side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


def block_35(channels: int, pool: int) -> Branches:
    """Return a block of the 35 x 35 grid, with branches 5x5 and, in place of another 5x5, two 3x3."""
    return Branches(
        chain(channels, (64, 1)),
        chain(channels, (48, 1), (64, 5)),
        chain(channels, (64, 1), (96, 3), (96, 3)),
        pooled(channels, pool),
    )


def block_17(channels: int, width: int) -> Branches:
    """Return a block of the 17 x 17 grid, with each 7x7 as 1x7 and 7x1."""
    across, down = (1, 7), (7, 1)
    return Branches(
        chain(channels, (192, 1)),
        chain(channels, (width, 1), (width, across), (192, down)),
        chain(channels, (width, 1), (width, down), (width, across), (width, down), (192, across)),
        pooled(channels, 192),
    )


def block_8(channels: int) -> Branches:
    """Return a block of the 8 x 8 grid, whose branches fork again."""

    def fork() -> Branches:
        return Branches(Conv(384, 384, (1, 3)), Conv(384, 384, (3, 1)))

    return Branches(
        chain(channels, (320, 1)),
        nn.Sequential(Conv(channels, 384), fork()),
        nn.Sequential(Conv(channels, 448), Conv(448, 384, 3), fork()),
        pooled(channels, 192),
    )


class InceptionV3(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            Conv(3, 32, 3, stride=2, same=False),
            Conv(32, 32, 3, same=False),
            Conv(32, 64, 3),
            nn.MaxPool2d(3, stride=2),
            Conv(64, 80),
            Conv(80, 192, 3, same=False),
            nn.MaxPool2d(3, stride=2),
        )
        self.blocks = nn.Sequential(
            block_35(192, 32),
            block_35(256, 64),
            block_35(288, 64),
            Branches(  # to 17 x 17
                reduced(288, 384),
                nn.Sequential(Conv(288, 64), Conv(64, 96, 3), reduced(96, 96)),
                nn.MaxPool2d(3, stride=2),
            ),
            block_17(768, 128),
            block_17(768, 160),
            block_17(768, 160),
            block_17(768, 192),
            Branches(  # to 8 x 8
                nn.Sequential(Conv(768, 192), reduced(192, 320)),
                nn.Sequential(chain(768, (192, 1), (192, (1, 7)), (192, (7, 1))), reduced(192, 192)),
                nn.MaxPool2d(3, stride=2),
            ),
            block_8(1280),
            block_8(2048),
        )
        self.dropout = nn.Dropout()
        self.fc = nn.Linear(2048, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.stem(x))
        x = self.dropout(F.adaptive_avg_pool2d(x, (1, 1)))
        return self.fc(torch.flatten(x, 1))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(InceptionV3()), image(1, 3, 299, 299)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(InceptionV3(classes=10)), image(1, 3, 79, 75)


if __name__ == "__main__":
    compare(*full())
