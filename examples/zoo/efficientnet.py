"""EfficientNet-B0 (Tan and Le, 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.zoo.common import SqueezeExcite, compare, convolution, image, prepared

# times wider inside, kernel, stride of the first block, channels, blocks
BLOCKS = (
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)  # fmt: skip


class MBConv(nn.Module):
    def __init__(self, channels: int, out: int, wider: int, size: int, stride: int) -> None:
        super().__init__()
        inside = channels * wider
        layers: list[nn.Module] = [convolution(channels, inside, act=nn.SiLU(inplace=True))] if wider != 1 else []
        layers.append(convolution(inside, inside, size, stride, inside, nn.SiLU(inplace=True)))
        layers.append(SqueezeExcite(inside, max(1, channels // 4), nn.SiLU(inplace=True), nn.Sigmoid()))
        layers.append(convolution(inside, out))
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        if self.adds:
            y += x
        return y


class EfficientNetB0(nn.Module):
    """`narrow`: with so many times fewer channels than published."""

    def __init__(self, classes: int = 1000, narrow: int = 1) -> None:
        super().__init__()
        channels = 32 // narrow
        layers: list[nn.Module] = [convolution(3, channels, 3, 2, act=nn.SiLU(inplace=True))]
        for wider, size, stride, width, count in BLOCKS:
            for k in range(count):
                layers.append(MBConv(channels, width // narrow, wider, size, stride if k == 0 else 1))
                channels = width // narrow
        layers.append(convolution(channels, 4 * channels, act=nn.SiLU(inplace=True)))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2, inplace=True), nn.Linear(4 * channels, classes))

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(EfficientNetB0()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(EfficientNetB0(classes=10, narrow=4)), image(2, 3, 40, 33)


if __name__ == "__main__":
    compare(*full())
