"""The nets of examples/zoo equal eager, in-process and as C without Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from settings import OPTIMIZE
from test_aot import cmake_build, cmake_tool, environment, run

import scriptc

sys.path.insert(0, str(Path(__file__).parent.parent))
from examples.zoo import NETS  # noqa: E402

# Of the published nets, torch's own counts among them; SuperResolution and the EnhanceNet-like net have no fixed size.
PARAMETERS = {
    "AlexNet": 61_100_840, "DCGAN generator": 3_576_704, "DCGAN discriminator": 2_765_568, "DenseNet-121": 7_978_856,
    "Inception v3": 23_834_568, "ResNet-50": 25_557_032, "SqueezeNet": 1_248_424, "VGG-16": 138_357_544,
}  # fmt: skip
AHEAD_OF_TIME = ("SuperResolution", "DCGAN generator", "EnhanceNet-like")  # the rest differ in size, not in ops


@pytest.mark.parametrize("name", NETS)
def test_equals_eager_in_process(name: str) -> None:
    """Within the tolerances of torch.testing, or twice eager's own error against float64."""
    net, image = NETS[name].small()
    scriptc.compare(scriptc.compile(net, optimize=OPTIMIZE), image).check()


@pytest.mark.parametrize("name", PARAMETERS)
def test_has_the_published_size(name: str) -> None:
    with torch.device("meta"):
        net, _ = NETS[name].full()
    assert sum(p.numel() for p in net.parameters()) == PARAMETERS[name]


@pytest.mark.parametrize("name", AHEAD_OF_TIME)
def test_equals_eager_from_c(name: str, tmp_path: Path) -> None:
    """One ISA level: tests/test_aot.py tries them all."""
    net, image = NETS[name].small()
    folder = scriptc.build(net, image, out=tmp_path / "net", name="net", march="native", optimize=OPTIMIZE)
    env = environment(tmp_path)
    cmake_build(folder, tmp_path / "build", env)
    assert "100% tests passed" in run(cmake_tool("ctest"), "--test-dir", tmp_path / "build", "--output-on-failure", env=env)
