"""MobileNet v2 (Sandler et al., 2018) and MobileNet v3 small (Howard et al., 2019)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import SqueezeExcite, compare, convolution, image, prepared, rounded_channels

# times wider inside, channels, blocks, stride of the first block
V2_BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
# kernel, channels inside, channels, squeezes, hard swish in place of ReLU, stride
V3_SMALL_BLOCKS = (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1), (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1), (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2), (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
)  # fmt: skip


class InvertedResidual(nn.Module):
    def __init__(self, channels: int, out: int, inside: int, stride: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [convolution(channels, inside, act=nn.ReLU6(inplace=True))] if inside != channels else []
        layers += [
            convolution(inside, inside, 3, stride, inside, nn.ReLU6(inplace=True)),
            nn.Conv2d(inside, out, 1, bias=False),
            nn.BatchNorm2d(out),
        ]
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    """`narrow`: with so many times fewer channels than published."""

    def __init__(self, classes: int = 1000, narrow: int = 1) -> None:
        super().__init__()
        channels = 32 // narrow
        layers: list[nn.Module] = [convolution(3, channels, 3, 2, act=nn.ReLU6(inplace=True))]
        for wider, width, count, stride in V2_BLOCKS:
            for k in range(count):
                layers.append(InvertedResidual(channels, width // narrow, channels * wider, stride if k == 0 else 1))
                channels = width // narrow
        layers.append(convolution(channels, 1280 // narrow, act=nn.ReLU6(inplace=True)))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280 // narrow, classes))

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class SqueezingResidual(nn.Module):
    def __init__(self, channels: int, out: int, inside: int, size: int, squeezes: bool, swish: bool, stride: int) -> None:
        super().__init__()
        act = nn.Hardswish if swish else nn.ReLU
        layers: list[nn.Module] = []
        if inside != channels:
            layers.append(convolution(channels, inside, act=act(inplace=True), eps=1e-3))
        layers.append(convolution(inside, inside, size, stride, inside, act(inplace=True), eps=1e-3))
        if squeezes:
            layers.append(SqueezeExcite(inside, rounded_channels(inside / 4), nn.ReLU(), nn.Hardsigmoid()))
        layers.append(convolution(inside, out, eps=1e-3))
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        if self.adds:
            y += x
        return y


class MobileNetV3Small(nn.Module):
    """`narrow`: with so many times fewer channels than published."""

    def __init__(self, classes: int = 1000, narrow: int = 1) -> None:
        super().__init__()
        channels = 16 // narrow
        layers: list[nn.Module] = [convolution(3, channels, 3, 2, act=nn.Hardswish(inplace=True), eps=1e-3)]
        for size, inside, width, squeezes, swish, stride in V3_SMALL_BLOCKS:
            layers.append(SqueezingResidual(channels, width // narrow, inside // narrow, size, squeezes, swish, stride))
            channels = width // narrow
        layers.append(convolution(channels, 6 * channels, act=nn.Hardswish(inplace=True), eps=1e-3))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * channels, 1024 // narrow),
            nn.Hardswish(inplace=True),
            nn.Dropout(0.2, inplace=True),
            nn.Linear(1024 // narrow, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def full_v2() -> tuple[nn.Module, Tensor]:
    return prepared(MobileNetV2()), image(1, 3, 224, 224)


def small_v2() -> tuple[nn.Module, Tensor]:
    return prepared(MobileNetV2(classes=10, narrow=4)), image(2, 3, 40, 33)


def full_v3() -> tuple[nn.Module, Tensor]:
    return prepared(MobileNetV3Small()), image(1, 3, 224, 224)


def small_v3() -> tuple[nn.Module, Tensor]:
    return prepared(MobileNetV3Small(classes=10, narrow=4)), image(2, 3, 40, 33)


if __name__ == "__main__":
    compare(*full_v2())
    compare(*full_v3())
