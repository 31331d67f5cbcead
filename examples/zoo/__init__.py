"""Convolutional nets in plain PyTorch, from the papers.

`NETS` names all of them: `full` makes a net of the published size with an input for it, and `small` makes a net for
tests that is narrow or takes a small image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from examples.zoo import alexnet, dcgan, densenet, enhance, inception, resnet, squeezenet, super_resolution, vgg

Make = Callable[[], tuple[nn.Module, Tensor]]


@dataclass(frozen=True)
class Net:
    full: Make
    small: Make


NETS = {
    "AlexNet": Net(alexnet.full, alexnet.small),
    "DCGAN generator": Net(dcgan.full_generator, dcgan.small_generator),
    "DCGAN discriminator": Net(dcgan.full_discriminator, dcgan.small_discriminator),
    "DenseNet-121": Net(densenet.full, densenet.small),
    "Inception v3": Net(inception.full, inception.small),
    "ResNet-50": Net(resnet.full, resnet.small),
    "SqueezeNet": Net(squeezenet.full, squeezenet.small),
    "SuperResolution": Net(super_resolution.full, super_resolution.small),
    "VGG-16": Net(vgg.full, vgg.small),
    "EnhanceNet-like": Net(enhance.full, enhance.small),
}
