"""VGG-16, configuration D (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared

STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, convolutions


class VGG16(nn.Module):
    """`narrow`: with so many times fewer channels than published."""

    def __init__(self, classes: int = 1000, hidden: int = 4096, narrow: int = 1) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width, count in STAGES:
            for _ in range(count):
                layers += [nn.Conv2d(channels, width // narrow, 3, padding=1), nn.ReLU()]
                channels = width // narrow
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(channels * 7 * 7, hidden),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        x = self.pool(x)
        x = x.view(x.size(0), -1)
        return self.classifier(x)


def full() -> tuple[nn.Module, Tensor]:
    return prepared(VGG16()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(VGG16(classes=10, hidden=16, narrow=4)), image(2, 3, 32, 45)


if __name__ == "__main__":
    compare(*full())
