"""A net like EnhanceNet (Sajjadi et al., 2017): residual convolutions on the small image, two bilinear upsamplings, and
the result added to the upsampled input."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + 0.1 * self.conv2(F.relu(self.conv1(x)))


class EnhanceNet(nn.Module):
    """[n, 3, h, w] to [n, 3, 4 h, 4 w]."""

    def __init__(self, width: int = 64, blocks: int = 10) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Residual(width) for _ in range(blocks)))
        self.ups = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.before_last = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.blocks(F.relu(self.first(x)))
        for conv in self.ups:
            y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
            y = F.relu(conv(y))
        y = self.last(F.relu(self.before_last(y)))
        return y + F.interpolate(x, scale_factor=4, mode="bilinear", align_corners=False)


def full() -> tuple[nn.Module, Tensor]:
    return prepared(EnhanceNet()), image(1, 3, 64, 64)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(EnhanceNet(width=8, blocks=2)), image(2, 3, 9, 12)


if __name__ == "__main__":
    compare(*full())
