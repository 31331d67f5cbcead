"""The nets of examples/zoo equal eager, in-process and as C programs without Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from settings import OPTIMIZE, sweep
from test_aot import cmake_tool

import scriptc

sys.path.insert(0, str(Path(__file__).parent.parent))
from examples.zoo import NETS  # noqa: E402
from examples.zoo.ahead import difference, run_in_c  # noqa: E402

# Of the published nets, torch's own counts among them; BERT's is without the pooler. SuperResolution and the EnhanceNet-like
# net have no fixed size.
PARAMETERS = {
    "AlexNet": 61_100_840, "BERT-base": 108_891_648, "ConvNeXt-T": 28_589_128, "DCGAN generator": 3_576_704,
    "DCGAN discriminator": 2_765_568, "DenseNet-121": 7_978_856, "EfficientNet-B0": 5_288_548, "Inception v3": 23_834_568,
    "MobileNet v2": 3_504_872, "MobileNet v3 small": 2_542_856, "ResNet-18": 11_689_512, "ResNet-50": 25_557_032,
    "ShuffleNet v2": 2_278_604, "SqueezeNet": 1_248_424, "VGG-16": 138_357_544, "ViT-S/16": 22_050_664,
}  # fmt: skip
# Nets that are soon built.
IN_C = ("AlexNet", "DCGAN generator", "MobileNet v3 small", "SqueezeNet", "EnhanceNet-like")
# Nets that take long to compile without frozen weights, or repeat the layers of others.
LONG = {"DenseNet-121", "Inception v3", "MobileNet v2", "EfficientNet-B0", "ResNet-50"}


@pytest.fixture(autouse=True)
def _one_thread():  # more cost more than they bring with small images
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("freeze", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("name", sweep(NETS, *(NETS.keys() - LONG)))
def test_equals_eager_in_process(name: str, freeze: bool) -> None:
    """Within the tolerances of torch.testing, or twice eager's own error against float64."""
    net, image = NETS[name].small()
    scriptc.compare(scriptc.compile(net, optimize=2 if freeze else OPTIMIZE, freeze=freeze), image).check()


@pytest.mark.parametrize("name", PARAMETERS)
def test_has_the_published_size(name: str) -> None:
    with torch.device("meta"):
        net, _ = NETS[name].full()
    assert sum(p.numel() for p in net.parameters()) == PARAMETERS[name]


@pytest.mark.usefixtures("compiles_once_in_test")
@pytest.mark.parametrize("name", sweep(IN_C, "SqueezeNet"))
def test_equals_eager_from_c(name: str, tmp_path: Path) -> None:
    """Built ahead of time, for this machine: tests/test_aot.py tries all ISA levels, and the packages' own tests. All nets:
    `python -m examples.zoo.ahead`.
    """
    net, image = NETS[name].small()
    result = run_in_c(net, image, tmp_path, cmake=cmake_tool("cmake"), optimize=OPTIMIZE)
    assert difference(result, net(image)) < 1e-5
