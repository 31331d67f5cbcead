"""DenseNet-121 (Huang et al., 2016): each layer sees the outputs of all layers before it in its block."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared

BLOCKS = (6, 12, 24, 16)
GROWTH, BOTTLENECK, FIRST = 32, 4, 64


class DenseLayer(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, BOTTLENECK * GROWTH, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(BOTTLENECK * GROWTH)
        self.conv2 = nn.Conv2d(BOTTLENECK * GROWTH, GROWTH, 3, padding=1, bias=False)

    def forward(self, features: list[Tensor]) -> Tensor:
        y = self.conv1(F.relu(self.norm1(torch.cat(features, 1))))
        return self.conv2(F.relu(self.norm2(y)))


class DenseBlock(nn.Module):
    def __init__(self, channels: int, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(channels + i * GROWTH) for i in range(count))

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class Transition(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, channels // 2, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(self.conv(F.relu(self.norm(x))), 2)


class DenseNet121(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, FIRST, 7, stride=2, padding=3, bias=False)
        self.norm = nn.BatchNorm2d(FIRST)
        self.stages = nn.Sequential()
        channels = FIRST
        for i, count in enumerate(BLOCKS):
            self.stages.append(DenseBlock(channels, count))
            channels += count * GROWTH
            if i < len(BLOCKS) - 1:
                self.stages.append(Transition(channels))
                channels //= 2
        self.last_norm = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 3, stride=2, padding=1)
        x = F.relu(self.last_norm(self.stages(x)))
        return self.classifier(x.mean((2, 3)))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(DenseNet121()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(DenseNet121(classes=10)), image(2, 3, 33, 40)


if __name__ == "__main__":
    compare(*full())
