"""SqueezeNet 1.0 (Iandola et al., 2016)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared


class Fire(nn.Module):
    def __init__(self, channels: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeeze, 1)
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.squeeze(x))
        return torch.cat((F.relu(self.expand1(x)), F.relu(self.expand3(x))), 1)


class SqueezeNet(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()

        def pool() -> nn.MaxPool2d:
            return nn.MaxPool2d(3, stride=2, ceil_mode=True)

        self.features = nn.Sequential(
            nn.Conv2d(3, 96, 7, stride=2),
            nn.ReLU(inplace=True),
            pool(),
            Fire(96, 16, 64),
            Fire(128, 16, 64),
            Fire(128, 32, 128),
            pool(),
            Fire(256, 32, 128),
            Fire(256, 48, 192),
            Fire(384, 48, 192),
            Fire(384, 64, 256),
            pool(),
            Fire(512, 64, 256),
        )
        self.dropout = nn.Dropout(0.5)
        self.last = nn.Conv2d(512, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.last(self.dropout(self.features(x))))
        return F.adaptive_avg_pool2d(x, 1).flatten(1)


def full() -> tuple[nn.Module, Tensor]:
    return prepared(SqueezeNet()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(SqueezeNet(classes=10)), image(2, 3, 51, 64)


if __name__ == "__main__":
    compare(*full())
