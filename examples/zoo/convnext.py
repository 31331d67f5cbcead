"""ConvNeXt-T (Liu et al., 2022)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared

STAGES = ((96, 3), (192, 3), (384, 9), (768, 3))  # channels, blocks


class LayerNorm2d(nn.LayerNorm):
    """Norm the channels of each pixel."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.wider, self.narrower = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels, 1, 1), 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.narrower(F.gelu(self.wider(y))).permute(0, 3, 1, 2)
        return x + self.scale * y


class ConvNeXt(nn.Module):
    """`narrow`: with so many times fewer channels than published."""

    def __init__(self, classes: int = 1000, narrow: int = 1) -> None:
        super().__init__()
        channels = 3
        layers: list[nn.Module] = []
        for width, count in STAGES:
            out = width // narrow
            if channels == 3:
                layers += [nn.Conv2d(3, out, 4, stride=4), LayerNorm2d(out, eps=1e-6)]
            else:
                layers += [LayerNorm2d(channels, eps=1e-6), nn.Conv2d(channels, out, 2, stride=2)]
            layers += [Block(out) for _ in range(count)]
            channels = out
        self.features = nn.Sequential(*layers)
        self.norm = LayerNorm2d(channels, eps=1e-6)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), 1)
        return self.head(torch.flatten(self.norm(x), 1))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(ConvNeXt()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(ConvNeXt(classes=10, narrow=6)), image(2, 3, 64, 33)


if __name__ == "__main__":
    compare(*full())
