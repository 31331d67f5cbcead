"""The pages of a package's weights file that stay in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import scriptc

FILE_KIB = 9 << 10  # at least, of the weights of `Net`

pytestmark = pytest.mark.usefixtures("compiles_once")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(1024, 1024)
        self.layers = nn.Sequential(*(nn.Linear(1024, 1024, bias=False) for _ in range(2)))
        self.register_buffer("seen", torch.zeros(1024))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.layers(self.words(ids))
        self.seen = self.seen + x.sum(0)
        return x + self.seen


def resident_kib(path: Path) -> int:
    """Return the KiB of a mapped file that this process has in memory."""
    text = Path("/proc/self/smaps").read_text()
    of_file = [part for part in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", text) if str(path) in part.splitlines()[0]]
    assert of_file
    return sum(int(re.search(r"^Rss: +(\d+) kB", part, re.M)[1]) for part in of_file)  # type: ignore[index]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Net, Path]:
    torch.manual_seed(0)
    net = Net()
    ids = torch.arange(0, 1024, 256)
    empty = tmp_path_factory.mktemp("net")  # becomes the package
    folder = scriptc.build(net, ids, out=empty, name="net", optimize=2, march="native")  # from level 2 on, weights are packed
    assert (folder / "net.safetensors").stat().st_size > FILE_KIB << 10
    return net, folder


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc/self/smaps")
def test_pages_of_weights_that_were_packed_are_released(built: tuple[Net, Path]) -> None:
    net, folder = built
    weights, ids = folder / "net.safetensors", torch.tensor([3, 700, 3, 1023])
    loaded = scriptc.load(folder)
    assert resident_kib(weights) < FILE_KIB // 4, "the checksum has read the file"
    for _ in range(3):  # the weights of `words` are read in each call, and `seen` changes
        with torch.no_grad():
            expected = net(ids)
        torch.testing.assert_close(torch.from_numpy(loaded(ids.numpy())), expected)
    twin = loaded.copy()
    torch.testing.assert_close(torch.from_numpy(twin(ids.numpy())), torch.from_numpy(loaded(ids.numpy())))
    assert resident_kib(weights) < FILE_KIB // 2, "only rows of `words` are read again"
