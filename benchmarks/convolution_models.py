"""Layers and nets whose training `convolutions` measures, with their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, Tensor]


class Denoiser(nn.Module):
    """Dilated convolutions of a sound, with norms and residual sums."""

    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 15, padding=7), nn.Conv1d(width, 1, 9, padding=4)
        dilations = [2**i for i in range(depth)]
        self.blocks = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2 * d, dilation=d) for d in dilations)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in dilations)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        for block, norm in zip(self.blocks, self.norms, strict=True):
            y = y + torch.relu(norm(block(y)))
        return x + self.last(y)


def _image(n: int, channels: int, filters: int, pixels: int, kernel: int, stride: int = 1, groups: int = 1,
           last: bool = False) -> Callable[[], Made]:  # fmt: skip
    def make() -> Made:
        layer = nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False)
        order = torch.channels_last if last else torch.contiguous_format
        return layer.to(memory_format=order), torch.randn(n, channels, pixels, pixels).contiguous(memory_format=order)

    return make


def _of(layer: Callable[[], nn.Module], *size: int) -> Callable[[], Made]:
    return lambda: (layer(), torch.randn(*size))


def _zoo(name: str, *size: int) -> Callable[[], Made]:
    def make() -> Made:
        from examples.zoo import NETS

        net = NETS[name].full()[0].train().requires_grad_(True)
        for module in net.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # both draw other numbers
        return net, torch.randn(*size)

    return make


LAYERS: dict[str, Callable[[], Made]] = {
    f"3x3, {c} channels, {p} x {p}, batch {n}": _image(n, c, c, p, 3)
    for n in (1, 8)
    for c, p in ((64, 56), (128, 28), (256, 14), (512, 7))
} | {
    "3x3 stride 2, 64 to 128, 56 x 56, batch 4": _image(4, 64, 128, 56, 3, 2),
    "3x3 stride 2, 256 to 512, 14 x 14, batch 4": _image(4, 256, 512, 14, 3, 2),
    "1x1 stride 2, 64 to 128, 56 x 56, batch 4": _image(4, 64, 128, 56, 1, 2),
    "1x1, 64 to 256, 56 x 56, batch 4": _image(4, 64, 256, 56, 1),
    "1x1, 256 to 64, 56 x 56, batch 4": _image(4, 256, 64, 56, 1),
    "1x1, 512 to 2048, 7 x 7, batch 4": _image(4, 512, 2048, 7, 1),
    "7x7 stride 2, 3 to 64, 224 x 224, batch 4": _image(4, 3, 64, 224, 7, 2),
    "depthwise 3x3, 96, 56 x 56, batch 4": _image(4, 96, 96, 56, 3, 1, 96),
    "depthwise 3x3, 384, 14 x 14, batch 4": _image(4, 384, 384, 14, 3, 1, 384),
    "depthwise 3x3 stride 2, 144, 56 x 56, batch 4": _image(4, 144, 144, 56, 3, 2, 144),
    "depthwise 7x7, 96, 56 x 56, batch 2": _image(2, 96, 96, 56, 7, 1, 96),
    "32 groups 3x3, 256, 14 x 14, batch 4": _image(4, 256, 256, 14, 3, 1, 32),
    "channels last 3x3, 64, 56 x 56, batch 8": _image(8, 64, 64, 56, 3, last=True),
    "channels last 1x1, 64 to 256, 56 x 56, batch 4": _image(4, 64, 256, 56, 1, last=True),
    "channels last depthwise 3x3, 96, 56 x 56, batch 4": _image(4, 96, 96, 56, 3, 1, 96, last=True),
    "conv1d 3, 256, 500 steps, batch 4": _of(lambda: nn.Conv1d(256, 256, 3, padding=1), 4, 256, 500),
    "conv1d 7 dilation 3, 128, 2000 steps, batch 2": _of(lambda: nn.Conv1d(128, 128, 7, padding=9, dilation=3), 2, 128, 2000),
    "conv1d 15, 64, 1000 steps, batch 4": _of(lambda: nn.Conv1d(64, 64, 15, padding=7), 4, 64, 1000),
    "conv1d 8 stride 4, 1 to 64, 16000 steps, batch 2": _of(lambda: nn.Conv1d(1, 64, 8, stride=4), 2, 1, 16000),
    "depthwise conv1d 5, 256, 1000 steps, batch 4": _of(lambda: nn.Conv1d(256, 256, 5, padding=2, groups=256), 4, 256, 1000),
    "transposed 4x4 stride 2, 64 to 32, 32 x 32, batch 4": _of(lambda: nn.ConvTranspose2d(64, 32, 4, 2, 1), 4, 64, 32, 32),
    "transposed 1d 8 stride 4, 64 to 32, 500 steps, batch 4": _of(lambda: nn.ConvTranspose1d(64, 32, 8, 4, 2), 4, 64, 500),
    "BatchNorm, 64, 56 x 56, batch 4": _of(lambda: nn.BatchNorm2d(64), 4, 64, 56, 56),
    "BatchNorm, 512, 7 x 7, batch 4": _of(lambda: nn.BatchNorm2d(512), 4, 512, 7, 7),
    "max pool 3 stride 2, 64, 112 x 112, batch 4": _of(lambda: nn.MaxPool2d(3, 2, 1), 4, 64, 112, 112),
    "average pool 2, 64, 56 x 56, batch 4": _of(lambda: nn.AvgPool2d(2), 4, 64, 56, 56),
}
NETS: dict[str, Callable[[], Made]] = {
    "ResNet-18, 64 x 64, batch 4": _zoo("ResNet-18", 4, 3, 64, 64),
    "ResNet-18, 224 x 224, batch 4": _zoo("ResNet-18", 4, 3, 224, 224),
    "MobileNet v2, 96 x 96, batch 4": _zoo("MobileNet v2", 4, 3, 96, 96),
    "a denoiser of sounds, 4000 steps, batch 4": _of(Denoiser, 4, 1, 4000),
}


def calls(run: Any, model: nn.Module, x: Tensor) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return a forward call without gradients, and one of forward and backward."""
    parameters = list(model.parameters())
    of = x.detach().requires_grad_(len(parameters) < 4)  # a layer inside of a net gives a gradient of its input
    inputs = [of, *parameters] if of.requires_grad else parameters
    with torch.no_grad():
        cotangent = torch.randn_like(run(x))

    def forward() -> Any:
        with torch.no_grad():
            return run(x)

    return forward, lambda: torch.autograd.grad(run(of), inputs, cotangent)
