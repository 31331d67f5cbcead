"""DCGAN (Radford et al., 2015): the generator and the discriminator of 64 x 64 images."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, image, prepared

LATENT, WIDTH = 100, 64


class Generator(nn.Module):
    """Noise [n, LATENT, 1, 1] to images [n, 3, 64, 64]."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = LATENT
        for i, out in enumerate((8 * width, 4 * width, 2 * width, width)):
            stride, padding = (1, 0) if i == 0 else (2, 1)
            layers.append(nn.ConvTranspose2d(channels, out, 4, stride, padding, bias=False))
            layers.append(nn.BatchNorm2d(out))
            layers.append(nn.ReLU(inplace=True))
            channels = out
        layers.append(nn.ConvTranspose2d(channels, 3, 4, 2, 1, bias=False))
        self.layers = nn.Sequential(*layers)

    def forward(self, z: Tensor) -> Tensor:
        return torch.tanh(self.layers(z))


class Discriminator(nn.Module):
    """Images [n, 3, 64, 64] to the probability [n] that they are real."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.convs = nn.ModuleList()
        channels = 3
        for out in (width, 2 * width, 4 * width, 8 * width):
            self.convs.append(nn.Conv2d(channels, out, 4, 2, 1, bias=False))
            channels = out
        self.norms = nn.ModuleList(nn.BatchNorm2d(n * width) for n in (2, 4, 8))
        self.last = nn.Conv2d(channels, 1, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        for i, conv in enumerate(self.convs):
            x = conv(x)
            if i > 0:
                x = self.norms[i - 1](x)
            x = F.leaky_relu(x, 0.2)
        return torch.sigmoid(self.last(x)).view(-1)


def full_generator() -> tuple[nn.Module, Tensor]:
    return prepared(Generator()), image(4, LATENT, 1, 1)


def small_generator() -> tuple[nn.Module, Tensor]:
    return prepared(Generator(width=8)), image(2, LATENT, 1, 1)


def full_discriminator() -> tuple[nn.Module, Tensor]:
    return prepared(Discriminator()), image(4, 3, 64, 64)


def small_discriminator() -> tuple[nn.Module, Tensor]:
    return prepared(Discriminator(width=8)), image(3, 3, 64, 64)


if __name__ == "__main__":
    compare(*full_generator())
    compare(*full_discriminator())
