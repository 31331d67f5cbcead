"""AlexNet in its one-tower form (Krizhevsky, "One weird trick", 2014)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared


class AlexNet(nn.Module):
    def __init__(self, classes: int = 1000, hidden: int = 4096) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.pool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(256 * 6 * 6, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(hidden, hidden),
            nn.ReLU(inplace=True),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(AlexNet()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(AlexNet(classes=10, hidden=32)), image(2, 3, 95, 71)


if __name__ == "__main__":
    compare(*full())
