"""Convolutional nets and two transformers in plain PyTorch, from the papers.

`NETS` names all of them: `full` makes a net of the published size with an input for it, and `small` makes a net for
tests that is narrow or takes a small image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from examples.zoo import (
    alexnet,
    bert,
    convnext,
    dcgan,
    densenet,
    efficientnet,
    enhance,
    inception,
    mobilenet,
    resnet,
    shufflenet,
    squeezenet,
    super_resolution,
    vgg,
    vit,
)

Make = Callable[[], tuple[nn.Module, Tensor]]


@dataclass(frozen=True)
class Net:
    full: Make
    small: Make


NETS = {
    "AlexNet": Net(alexnet.full, alexnet.small),
    "BERT-base": Net(bert.full, bert.small),
    "ConvNeXt-T": Net(convnext.full, convnext.small),
    "DCGAN generator": Net(dcgan.full_generator, dcgan.small_generator),
    "DCGAN discriminator": Net(dcgan.full_discriminator, dcgan.small_discriminator),
    "DenseNet-121": Net(densenet.full, densenet.small),
    "EfficientNet-B0": Net(efficientnet.full, efficientnet.small),
    "Inception v3": Net(inception.full, inception.small),
    "MobileNet v2": Net(mobilenet.full_v2, mobilenet.small_v2),
    "MobileNet v3 small": Net(mobilenet.full_v3, mobilenet.small_v3),
    "ResNet-18": Net(resnet.full_18, resnet.small_18),
    "ResNet-50": Net(resnet.full_50, resnet.small_50),
    "ShuffleNet v2": Net(shufflenet.full, shufflenet.small),
    "SqueezeNet": Net(squeezenet.full, squeezenet.small),
    "SuperResolution": Net(super_resolution.full, super_resolution.small),
    "VGG-16": Net(vgg.full, vgg.small),
    "ViT-S/16": Net(vit.full, vit.small),
    "EnhanceNet-like": Net(enhance.full, enhance.small),
}
