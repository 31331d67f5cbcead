"""Records of builds are read as data: whatever stands in a file, nothing of it runs, and nothing but a miss comes of it."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import scriptc
from scriptc.backend_c.cache import META, _write_meta
from scriptc.driver.gradient_dependencies import Dependencies
from scriptc.driver.target import target_of
from scriptc.frontend.environment import specs
from scriptc.warm_start import object_paths, serialization

pytestmark = pytest.mark.usefixtures("compiles_once")

SCALE = 2.5


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.sizes = [1, 2]
        self.limits = (0.5, float("-inf"))

    def forward(self, x: torch.Tensor, *, shift: int = 1) -> tuple[torch.Tensor, dict[str, float]]:
        for n in self.sizes:
            x = torch.tanh(self.cell(x)) * n
        return x.clamp(max=self.limits[0]) + shift, {"scale": SCALE}


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def cache_of_net(net: Net, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that has the net."""
    folder = tmp_path_factory.mktemp("net") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPTC_CACHE_DIR", str(folder))
        call(net)
    return folder


@pytest.fixture
def text(cache_of_net: Path, folder: Path) -> bytes:
    """The text of a record, in a copy of the cache."""
    shutil.copytree(cache_of_net, folder)
    (record,) = folder.glob("*/record")
    return record.read_bytes()


def call(net: Net) -> Any:
    with torch.no_grad():
        return scriptc.compile(net, optimize=0)(torch.ones(2, 3))


def replace(folder: Path, text: bytes) -> None:
    """Put other text into the record's file, with the size and digest of that."""
    (file,) = folder.glob("*/record")
    file.write_bytes(text)
    (file.parent / META).unlink()
    _write_meta(file.parent, file.parent.name)


ran: list[str] = []


def run(*args: Any) -> None:
    ran.append("code of a record")


class Evil:
    def __reduce__(self) -> Any:
        return run, ()


NODES: dict[str, Any] = {
    "pickle": None,
    "empty": [],
    "no record": ["record"],
    "float": [1.5],
    "nested": [[["tuple"]]],
    "index ahead": [["tuple", 1]],
    "unknown tag": [["reduce", 0]],
    "no library": [["library", "os", "system"]],
    "module in a library": [["library", "torch", "os.system"]],
    "no function": [["library", "torch", "__version__"]],
    "module that is not loaded": [["module", "antigravity"]],
    "class as maker": [["library", "torch.nn", "Linear"], ["tuple"], ["TupleSpec", 1, 0]],
    "function as maker": [["library", "builtins", "exec"], ["tuple"], ["TupleSpec", 1, 0]],
    "fields": ["f32", ["TensorSpec", 0, 0]],
    "too few fields": ["f32", ["TensorSpec", 0]],
    "attribute of an object": [["target"], "receiver", ["attribute", 0, 1], "cell", ["attribute", 2, 3]],
    "long number": "[1" + "0" * 5000 + "]",
    "deep": "[" * 100_000,
    "no UTF-8": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", NODES)
def test_what_is_no_record_is_a_miss(text: bytes, net: Net, folder: Path, name: str) -> None:
    made = NODES[name]
    bad = pickle.dumps(Evil()) if made is None else made if isinstance(made, bytes) else None
    bad = (made if isinstance(made, str) else json.dumps(made)).encode() if bad is None else bad
    with pytest.raises(serialization.UNREADABLE):
        serialization.read(bad, target_of(net))
    replace(folder, bad)
    torch.testing.assert_close(call(net), net_result(net))
    assert not ran


def net_result(net: Net) -> Any:
    with torch.no_grad():
        return net(torch.ones(2, 3))


def test_a_record_says_what_it_was_written_of(net: Net) -> None:
    constants = (1.5, -0.0, float("inf"), 2**70, True, 1, "\ud800é", b"\0\xff", 1 - 2j, torch.float16, torch.Size([2, 3]))
    contract = specs.Contract(
        [specs.ArgSpec("x", specs.TupleSpec(tuple(map(specs.ConstantSpec, constants))))], specs.ListSpec(None), [], [], [],
        {0: "text"}, [], {"Own": KeyError},
    )  # fmt: skip
    record = serialization.Record(
        contract, [((("module", "math"),), [("DICT_IS", "tanh", ("math", "tanh")), ("DICT_MISSING", "x", "missing")])],
        Dependencies([frozenset({1, 2})], {}, {3: frozenset()}), True, "ir",
        ("0" * 64, "library.so"), {"file": "hash"}, [], [0, 1], [],
    )  # fmt: skip
    target = target_of(net)
    again = serialization.read(serialization.write(record, object_paths.Paths(target), set()), target)
    assert str(again) == str(record)  # the sign of a zero too


def test_a_record_whose_library_is_no_library_is_a_miss(text: bytes, net: Net, folder: Path) -> None:
    """As is one that names a file outside of the cache."""
    nodes = json.loads(text)
    (at,) = [i for i, node in enumerate(nodes) if isinstance(node, str) and node.endswith(".so")]
    for name in ("../../elsewhere.so", "Net_forward.c"):
        nodes[at] = name
        replace(folder, json.dumps(nodes).encode())
        torch.testing.assert_close(call(net), net_result(net))


def damaged(text: bytes, count: int) -> Iterator[bytes]:
    """Texts with bits flipped, parts cut out or doubled, and nodes in each other's places."""
    chance = random.Random(0)
    nodes = json.loads(text)
    for _ in range(count):
        data = bytearray(text)
        at, other = chance.randrange(len(data)), chance.randrange(len(data))
        match chance.randrange(5):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at:other]
            case 2:
                data[at:at] = data[other : other + 40]
            case 3:
                data[at : at + 1] = str(chance.randrange(-5, 300)).encode()
            case 4:
                mixed = list(nodes)
                i, k = chance.randrange(len(nodes)), chance.randrange(len(nodes))
                mixed[i], mixed[k] = mixed[k], mixed[i]
                data = bytearray(json.dumps(mixed).encode())
        yield bytes(data)


_watching = False
_seen: list[str] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _watching and (event in ("exec", "compile", "os.system", "pickle.find_class") or event.startswith("subprocess.")):
        _seen.append(event)


def test_no_damage_makes_code_run_or_raises_another_error(text: bytes, net: Net) -> None:
    global _watching
    target = target_of(net)
    sys.addaudithook(_audit)
    _watching = True
    try:
        for bad in damaged(text, 3000):
            try:
                record = serialization.read(bad, target)
            except serialization.UNREADABLE:
                continue
            assert type(record) is serialization.Record
    finally:
        _watching = False
    assert not _seen
