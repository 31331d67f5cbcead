"""Build nets of the zoo ahead of time and run them as C programs, without Python.

`python -m examples.zoo.ahead [NET ...]` prints how far each is from eager. It needs cmake and a C compiler; see
README.md.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import scriptc
from examples.zoo import NETS

HERE = Path(__file__).parent


def run_in_c(net: nn.Module, image: Tensor, work: Path, *, cmake: str = "cmake", **options: Any) -> Tensor:
    """Return the net's float32 result from a C program made in the folder `work`; options: those of scriptc.build."""
    folder = scriptc.build(net, image, out=work / "net", name="net", march="native", **options)
    build, given, result = work / "build", work / "input", work / "output"
    subprocess.run([cmake, "-S", HERE, "-B", build, f"-DNET={folder}", "-DBUILD_TESTING=OFF"], check=True, capture_output=True)
    subprocess.run([cmake, "--build", build], check=True, capture_output=True)
    given.write_bytes(image.contiguous().numpy().tobytes())
    command = [build / "run_net", folder / "net.safetensors", given, result, *map(str, image.shape)]
    sizes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return torch.frombuffer(bytearray(result.read_bytes()), dtype=torch.float32).reshape([int(n) for n in sizes])


def difference(result: Tensor, expected: Tensor) -> float:
    """Return the largest difference, relative to the largest expected value."""
    assert result.shape == expected.shape
    return ((result - expected).abs().max() / expected.abs().max()).item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", default=list(NETS), metavar="NET", help=", ".join(NETS))
    parser.add_argument("--small", action="store_true", help="the sizes of the tests, not those published")
    parser.add_argument("--optimize", type=int, default=3, help="as of scriptc.build")
    arguments = parser.parse_args()
    for name in arguments.nets:
        net, image = NETS[name].small() if arguments.small else NETS[name].full()
        with tempfile.TemporaryDirectory() as work:
            result = run_in_c(net, image, Path(work), optimize=arguments.optimize)
        print(f"{name}: {difference(result, net(image)):.1e}", flush=True)
