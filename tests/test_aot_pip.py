"""A package that `scriptc.build` wrote is installed by pip, and works in an environment that has numpy alone."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from settings import sweep
from torch import Tensor, nn

import scriptc

pytest.importorskip("scikit_build_core")

PROGRAM = """
import importlib.util, sys
import numpy as np
import gru_
assert importlib.util.find_spec("torch") is None and importlib.util.find_spec("scriptc") is None
model = gru_.load()
np.save(sys.argv[1], model([np.full((2, 3), i, np.float32) for i in range(4)]))
print(gru_.__file__)
try:
    model([])
except IndexError as error:
    print(error)
"""


class GRU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)

    def forward(self, xs: list[Tensor]) -> Tensor:
        h = torch.zeros(xs[0].size(0), 4)
        for x in xs:
            h = self.cell(x, h)
        return h


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed_alone(folder: Path, wheel_name: str, tmp_path: Path) -> tuple[Path, Path]:
    """Return the Python and the site-packages of a venv that has the wheel of a package and numpy, and nothing else."""
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, folder, cwd=tmp_path)
    (wheel,) = tmp_path.glob(wheel_name)
    venv.create(tmp_path / "alone")
    (site,) = (tmp_path / "alone").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    here = Path(np.__file__).parent.parent
    for part in (here / "numpy", *here.glob("numpy.libs")):
        (site / part.name).symlink_to(part)
    return tmp_path / "alone" / "bin" / "python", site


@pytest.mark.parametrize("embedded", sweep([False, True], False))
def test_wheel_of_a_package(embedded: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = GRU()
    options = {"optimize": 0, "march": "native", "embed_weights": embedded}
    folder = scriptc.build(model, [torch.zeros(2, 3)] * 2, out=tmp_path / "gru_", **options)
    python, site = installed_alone(folder, "gru-1.0.0-py3-none-*.whl", tmp_path)
    out = run(python, "-I", "-c", PROGRAM, tmp_path / "h.npy", cwd=tmp_path / "alone")
    path, message = out.splitlines()[:2]  # behind the message: the line of the source
    assert Path(path).is_relative_to(site) and message == "list index out of range"
    expected = model([torch.full((2, 3), float(i)) for i in range(4)]).detach()
    torch.testing.assert_close(torch.from_numpy(np.load(tmp_path / "h.npy")), expected)
    assert not any(site.joinpath("gru_", "build").glob("libgru_-*")), "the loader built a library of its own"
