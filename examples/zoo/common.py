"""The parts that the nets of the zoo share: seeded weights, and the comparison that each file's main makes.

Run one from the root of the repository: `python -m examples.zoo.resnet`.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

import scriptc


def prepared(net: nn.Module, seed: int = 0) -> nn.Module:
    """Return the net in evaluation mode with random weights, the same for a seed.

    Signals keep their scale through the layers (He's initialization). Running statistics are not neutral, so that batch
    norms matter, and neither are layer norms and parameters of the nets' own modules.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.1, generator=generator)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02, generator=generator)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0, generator=generator)
            nn.init.normal_(module.bias, std=0.1, generator=generator)
            module.running_mean.normal_(0.0, 0.1, generator=generator)
            module.running_var.uniform_(0.8, 1.2, generator=generator)
        elif isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.5, 1.0, generator=generator)
            nn.init.normal_(module.bias, std=0.1, generator=generator)
        else:
            for parameter in module.parameters(recurse=False):
                nn.init.normal_(parameter, std=0.1, generator=generator)
    return net.eval().requires_grad_(False)


def rounded_channels(channels: float, divisor: int = 8) -> int:
    """Return the nearest multiple of a divisor, at most 10 % below, as the authors of the MobileNets count channels."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded if rounded >= 0.9 * channels else rounded + divisor


def convolution(
    channels: int, out: int, size: int = 1, stride: int = 1, groups: int = 1, act: nn.Module | None = None, eps: float = 1e-5
) -> nn.Sequential:
    """Return a convolution that keeps the size, but for the stride, with a norm and an activation behind it."""
    conv = nn.Conv2d(channels, out, size, stride, padding=size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out, eps=eps), *([] if act is None else [act]))


class SqueezeExcite(nn.Module):
    """Scale channels by what their means say (Hu et al., 2017)."""

    def __init__(self, channels: int, squeezed: int, act: nn.Module, gate: nn.Module) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        self.act, self.gate = act, gate

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(self.fc2(self.act(self.fc1(self.pool(x)))))


def image(*size: int, seed: int = 1) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def compare(net: nn.Module, *args: Tensor) -> None:
    """Print how far compiled and eager are apart, and how long both take. Raise if they are not equal."""
    compiled = scriptc.compile(net)
    print(f"{type(net).__name__}: {sum(p.numel() for p in net.parameters()):,} parameters")
    print(scriptc.compare(compiled, *args).check())
    for name, call in (("eager", net), ("compiled", compiled)):
        start = time.perf_counter()
        call(*args)
        print(f"{name}: {time.perf_counter() - start:.3f} s")
