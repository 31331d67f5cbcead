"""ShuffleNet v2 (Ma et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.zoo.common import compare, convolution, image, prepared

STAGES = ((116, 4), (232, 8), (464, 4))  # channels, blocks


def shuffled(x: Tensor, groups: int) -> Tensor:
    """Return an image whose channels take turns between groups."""
    batch, channels, height, width = x.size()
    x = x.view(batch, groups, channels // groups, height, width)
    return torch.transpose(x, 1, 2).contiguous().view(batch, channels, height, width)


class Block(nn.Module):
    """Half of the channels pass. With a stride of 2, all channels go through both branches."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        half = out // 2
        self.stride = stride
        self.branch1 = nn.Sequential()
        if stride > 1:
            self.branch1 = nn.Sequential(
                *convolution(channels, channels, 3, stride, channels), *convolution(channels, half, act=nn.ReLU(inplace=True))
            )
        self.branch2 = nn.Sequential(
            *convolution(channels if stride > 1 else half, half, act=nn.ReLU(inplace=True)),
            *convolution(half, half, 3, stride, half),
            *convolution(half, half, act=nn.ReLU(inplace=True)),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            x1, x2 = x.chunk(2, dim=1)
            out = torch.cat((x1, self.branch2(x2)), dim=1)
        else:
            out = torch.cat((self.branch1(x), self.branch2(x)), dim=1)
        return shuffled(out, 2)


class ShuffleNetV2(nn.Module):
    """`narrow`: with so many times fewer channels than published."""

    def __init__(self, classes: int = 1000, narrow: int = 1) -> None:
        super().__init__()
        channels = 24
        self.conv1 = convolution(3, channels, 3, 2, act=nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        layers = []
        for width, count in STAGES:
            for k in range(count):
                layers.append(Block(channels, width // narrow, 2 if k == 0 else 1))
                channels = width // narrow
        self.stages = nn.Sequential(*layers)
        self.conv5 = convolution(channels, 1024 // narrow, act=nn.ReLU(inplace=True))
        self.fc = nn.Linear(1024 // narrow, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stages(x))
        return self.fc(x.mean([2, 3]))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(ShuffleNetV2()), image(1, 3, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(ShuffleNetV2(classes=10, narrow=2)), image(2, 3, 40, 33)


if __name__ == "__main__":
    compare(*full())
