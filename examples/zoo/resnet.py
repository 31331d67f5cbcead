"""ResNet-18 and ResNet-50 (He et al., 2015), with the stride of a bottleneck in its 3x3 convolution."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared

WIDTHS = (64, 128, 256, 512)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = None
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        kept = x if self.shortcut is None else self.shortcut(x)
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += kept
        return F.relu(y)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = width * self.expansion
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.shortcut = None
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        kept = x if self.shortcut is None else self.shortcut(x)
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += kept
        return F.relu(y)


class ResNet(nn.Module):
    """`counts`: blocks of each stage; `narrow`: with so many times fewer channels than published."""

    def __init__(
        self, block: type[BasicBlock | Bottleneck], counts: tuple[int, ...], classes: int = 1000, narrow: int = 1
    ) -> None:
        super().__init__()
        channels = 64 // narrow
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        stages = []
        for i, (width, count) in enumerate(zip(WIDTHS, counts, strict=True)):
            blocks = []
            for k in range(count):
                blocks.append(block(channels, width // narrow, 2 if i > 0 and k == 0 else 1))
                channels = width // narrow * block.expansion
            stages.append(nn.Sequential(*blocks))
        self.stages = nn.ModuleList(stages)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        x = F.adaptive_avg_pool2d(x, 1)
        return self.fc(torch.flatten(x, 1))


def full_18() -> tuple[nn.Module, Tensor]:
    return prepared(ResNet(BasicBlock, (2, 2, 2, 2))), image(1, 3, 224, 224)


def small_18() -> tuple[nn.Module, Tensor]:
    return prepared(ResNet(BasicBlock, (2, 1, 1, 1), classes=10, narrow=4)), image(2, 3, 40, 33)


def full_50() -> tuple[nn.Module, Tensor]:
    return prepared(ResNet(Bottleneck, (3, 4, 6, 3))), image(1, 3, 224, 224)


def small_50() -> tuple[nn.Module, Tensor]:
    return prepared(ResNet(Bottleneck, (3, 4, 6, 3), classes=10, narrow=4)), image(2, 3, 40, 33)


if __name__ == "__main__":
    compare(*full_18())
    compare(*full_50())
