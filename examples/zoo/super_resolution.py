"""Super-resolution by sub-pixel convolution (Shi et al., 2016): channels become pixels at the end."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared


class SuperResolution(nn.Module):
    """Luminance [n, 1, h, w] to [n, 1, factor * h, factor * w]."""

    def __init__(self, factor: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 64, 5, padding=2)
        self.conv2 = nn.Conv2d(64, 64, 3, padding=1)
        self.conv3 = nn.Conv2d(64, 32, 3, padding=1)
        self.conv4 = nn.Conv2d(32, factor**2, 3, padding=1)
        self.shuffle = nn.PixelShuffle(factor)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        return self.shuffle(self.conv4(x))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(SuperResolution()), image(1, 1, 224, 224)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(SuperResolution(factor=2)), image(2, 1, 17, 20)


if __name__ == "__main__":
    compare(*full())
