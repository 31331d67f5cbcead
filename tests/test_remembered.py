"""Builds that an earlier process made are found again, and only where the world is as it was."""

from __future__ import annotations

import builtins
import importlib.util
import math
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import scriptc
from scriptc.driver import pipeline

HEAD = "import enum\nimport math\nfrom typing import NamedTuple\nimport torch\nfrom torch import nn\n"


class World:
    """Modules of the user's, imported anew as another process would."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.mark = f"# {uuid.uuid4()}\n"  # so that nothing is known of it from an earlier run of the tests

    def load(self, source: str, name: str = "users_net") -> ModuleType:
        path = self.folder / f"{name}.py"
        path.write_text(HEAD + self.mark + source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        self.monkeypatch.setitem(sys.modules, name, module)
        exec(compile(path.read_text(), path, "exec"), vars(module))  # never from a .pyc of the same second
        return module

    def without_reading(self, call: Callable[[], Any]) -> Any:
        with self.monkeypatch.context() as patched:
            patched.setattr(pipeline, "translate", _refuse)
            return call()


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("this was read")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def made(module: ModuleType) -> Any:
    """What a program makes at its start, with the same weights each time."""
    torch.manual_seed(0)
    return module.make()


def run(target: Any, *args: Any) -> Any:
    with torch.no_grad():
        return target(*args)


FOUND = {
    "function": "SCALE = 2.5\ndef step(x):\n    return x * SCALE\ndef make():\n    return lambda x: step(x) + 1\n",
    "module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(3, 2))
        self.act = torch.tanh
        self.sizes = [1, 2]
        self.limits = (0.5, 7)
    def forward(self, x):
        h = x
        for n in self.sizes:
            h = self.act(self.cell(h)) * n
        return self.out(h).clamp(max=self.limits[1])
def make():
    return Net()
""",
    "layers of torch": "def make():\n    return nn.GRU(3, 4, num_layers=2, bidirectional=True)\n",
    "flags of torch": "def make():\n    return nn.Sequential(nn.BatchNorm1d(3), nn.LayerNorm(3)).eval()\n",
    "base class": """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
    def forward(self, x):
        for layer in self.layers[1:]:
            x = layer(x)
        return x
class Net(Base):
    def forward(self, x):
        return super().forward(x) * 2
def make():
    return Net()
""",
    "closure": "def make():\n    w = torch.ones(3)\n    def f(x):\n        return x * w\n    return f\n",
    "classes": """
class Pair(NamedTuple):
    a: torch.Tensor
    n: int
class Mode(enum.Enum):
    SUM = 1
    MEAN = 2
class TooLarge(ValueError):
    pass
class Config:
    def __init__(self):
        self.mode = Mode.MEAN
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.config.total = torch.zeros(2, 3)
        self.count = 0
    def forward(self, x):
        self.count += 1
        self.config.total = self.config.total + x
        if x.sum() > 1000:
            raise TooLarge("too large")
        if type(self.config).__name__ != "Config":
            raise TooLarge(type(self).__name__)
        return Pair(x.mean() if self.config.mode is Mode.MEAN else x.sum(), self.count)
def make():
    return Net()
""",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_build_is_found_without_reading(world: World, name: str) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    source = FOUND[name]
    first = scriptc.compile(made(world.load(source)), optimize=0)
    torch.testing.assert_close(run(first, x), run(made(world.load(source)), x))
    eager, second = made(world.load(source)), scriptc.compile(made(world.load(source)), optimize=0)
    for _ in range(2):
        expected = run(eager, x)
        torch.testing.assert_close(world.without_reading(lambda: run(second, x)), expected)
    assert second.signatures() == first.signatures()
    assert second.ir(after="read") == first.ir(after="read")
    assert second.c_source() == first.c_source()
    assert Counter(re.findall(r"= (\S+)\(", second.ir())) == Counter(re.findall(r"= (\S+)\(", first.ir()))
    if name == "classes":
        with pytest.raises(sys.modules["users_net"].TooLarge, match="too large"):
            run(second, x + 1000)


NET = """
class Net(nn.Module):
    FACTOR = 2
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.parts = (1.0, [2.0, 3.0])
        self.mode = Mode.FAST
    def forward(self, x, *, shift=1):
        y = self.a(x) * self.FACTOR + self.parts[0] * self.parts[1][0] + shift
        if hasattr(self, "extra"):
            y = y + self.extra
        return helper(self.b(y)) * RATE + self.mode.value
class Mode(enum.Enum):
    FAST = 5
    SLOW = 6
RATE = 3
def helper(x, by=2.0):
    return x * by
def other(x, by=2.0):
    return x / by
def make():
    net = Net()
    return net
"""
CHANGES = {
    "attribute of a class": ("FACTOR = 2", "FACTOR = 4"),
    "tuple": ("(1.0, [", "(1.5, ["),
    "list in a tuple": ("[2.0,", "[2.5,"),
    "value of an enum": ("FAST = 5", "FAST = 6"),
    "global": ("RATE = 3", "RATE = 30"),
    "helper": ("return x * by", "return x / by"),
    "default": ("helper(x, by=2.0)", "helper(x, by=2.5)"),
    "default of the entry": ("shift=1", "shift=10"),
    "shape of a weight": ("nn.Linear(3, 3), nn.Linear(3, 3)", "nn.Linear(3, 5), nn.Linear(5, 3)"),
    "another layer": ("nn.Linear(3, 3), nn.Linear(3, 3)", "nn.Linear(3, 3), nn.Tanh()"),
    "attribute that was not there": ("    return net\n", "    net.extra = 9\n    return net\n"),
    "dtype": ("    return net\n", "    return net.double()\n"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_files_that_changed_are_read_again(world: World, name: str) -> None:
    old, new = CHANGES[name]
    assert NET.count(old) == 1
    x = torch.arange(6.0).reshape(2, 3)
    run(scriptc.compile(made(world.load(NET)), optimize=0), x)
    net = made(world.load(NET.replace(old, new)))
    x = x.to(next(net.parameters()).dtype)
    torch.testing.assert_close(run(scriptc.compile(net, optimize=0), x), run(net, x))


PATCHED = """
import array
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.scale = array.array('d', [2.0, 3.0])
    def forward(self, x):
        return torch.tanh(self.act(x)) * abs(float(self.scale[0])) * math.sqrt(4.0) + math.pi
def make():
    return Net()
"""
PATCHES: dict[str, Callable[[pytest.MonkeyPatch, Any], None]] = {
    "function of C": lambda m, net: m.setattr(torch, "tanh", torch.sigmoid),
    "function of Python's": lambda m, net: m.setattr(math, "sqrt", lambda x: 9.0),
    "constant": lambda m, net: m.setattr(math, "pi", 3.0),
    "method of a layer": lambda m, net: m.setattr(torch.nn.ReLU, "forward", lambda self, x: x + 1),
    "code of a function": lambda m, net: m.setattr(torch.nn.ReLU.forward, "__code__", (lambda self, input: input + 1).__code__),
    "function below a layer": lambda m, net: m.setattr(torch.nn.functional, "relu", lambda x, inplace: x + 1),
    "call of all modules": lambda m, net: m.setattr(torch.nn.Module, "__call__", lambda self, x: x + 1),
    "operator": lambda m, net: m.setattr(torch.Tensor, "__mul__", lambda self, x: self.add(x)),
    "builtin": lambda m, net: m.setattr(builtins, "abs", lambda x: 5.0),
    "array": lambda m, net: net.scale.__setitem__(0, 5.0),
}


@pytest.mark.parametrize("name", PATCHES)
def test_patches_are_read_and_what_is_as_it_was_is_found(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.arange(6.0).reshape(2, 3) - 2
    run(scriptc.compile(made(world.load(PATCHED)), optimize=0), x)
    net = made(world.load(PATCHED))
    found = world.without_reading(lambda: run(scriptc.compile(net, optimize=0), x))
    torch.testing.assert_close(found, run(net, x))
    net = made(world.load(PATCHED))
    with monkeypatch.context() as patched:
        PATCHES[name](patched, net)
        torch.testing.assert_close(run(scriptc.compile(net, optimize=0), x), run(net, x))


OF_ONE_PROCESS = {
    "result of a cache": """
import functools
@functools.lru_cache
def cached(name):
    return len(name) * 2.0
def f(x):
    return x * cached("abc")
""",
    "memory of an array": "import numpy as np\nSCALE = np.array([2.0, 3.0])\ndef f(x):\n    return x * float(SCALE[0])\n",
    "order of strings in a set": "NAMES = {'a', 'bb', 'ccc'}\ndef f(x):\n    return x * len(list(NAMES)[0])\n",
}


@pytest.mark.parametrize("name", OF_ONE_PROCESS)
def test_what_holds_in_one_process_alone_is_not_recorded(world: World, name: str) -> None:
    x = torch.ones(2)
    first = world.load(OF_ONE_PROCESS[name])
    assert torch.equal(run(scriptc.compile(first.f, optimize=0), x), first.f(x))
    again = world.load(OF_ONE_PROCESS[name])
    with pytest.raises(AssertionError, match="this was read"):
        world.without_reading(lambda: run(scriptc.compile(again.f, optimize=0), x))


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def _negative(x: torch.Tensor) -> torch.Tensor:
    return -x


def hook(module: Any, args: Any, output: torch.Tensor) -> torch.Tensor:
    return output + 1


def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
    return self.a(x) - 1


OUTSIDE: dict[str, Callable[[ModuleType, Any], Any]] = {
    "attribute that was not there": lambda module, net: setattr(net, "extra", 9),
    "attribute of the class": lambda module, net: setattr(type(net), "FACTOR", 7),
    "attribute of a part": lambda module, net: setattr(net.b, "bias", None),
    "enum in an attribute": lambda module, net: setattr(net, "mode", module.Mode.SLOW),
    "item of a list": lambda module, net: net.parts[1].insert(0, 9.0),
    "shared layers": lambda module, net: setattr(net, "b", net.a),
    "shared weights": lambda module, net: setattr(net.b, "weight", net.a.weight),
    "hook": lambda module, net: net.a.register_forward_hook(hook),
    "hook before": lambda module, net: net.a.register_forward_pre_hook(lambda m, args: (args[0] + 1,)),
    "method of the object": lambda module, net: setattr(net.a, "forward", double),
    "method of the class": lambda module, net: setattr(type(net), "forward", forward),
    "helper": lambda module, net: setattr(module, "helper", double),
    "default of the helper": lambda module, net: setattr(module.helper, "__defaults__", (5.0,)),
    "code of the helper": lambda module, net: setattr(module.helper, "__code__", module.other.__code__),
    "global": lambda module, net: setattr(module, "RATE", 4),
    "builtin that is shadowed": lambda module, net: setattr(module, "hasattr", lambda obj, name: False),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_another_part_of_the_program_changed_is_seen(world: World, name: str) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    run(scriptc.compile(made(world.load(NET)), optimize=0), x)
    module = world.load(NET)
    net = made(module)
    OUTSIDE[name](module, net)
    torch.testing.assert_close(run(scriptc.compile(net, optimize=0), x), run(net, x))


def test_a_helper_of_another_file_is_seen(world: World) -> None:
    world.load("def helper(x):\n    return x + 1\n", "users_helper")
    source = "from users_helper import helper\ndef f(x):\n    return helper(x) * 2\ndef make():\n    return f\n"
    x = torch.ones(2)
    assert run(scriptc.compile(made(world.load(source)), optimize=0), x).tolist() == [4, 4]
    world.load("def helper(x):\n    y: int = 5\n    return x + 2\n", "users_helper")
    assert run(scriptc.compile(made(world.load(source)), optimize=0), x).tolist() == [6, 6]


def test_functions_that_are_arguments(world: World) -> None:
    source = """
def one(x):
    return x + 1
def f(x, then):
    return then(x) * 2
def make():
    return f
"""
    x = torch.ones(2)
    first = world.load(source)
    assert run(scriptc.compile(made(first), optimize=0), x, first.one).tolist() == [4, 4]
    again = world.load(source)
    assert world.without_reading(lambda: run(scriptc.compile(made(again), optimize=0), x, again.one)).tolist() == [4, 4]
    other = world.load(source)
    other.one.__code__ = double.__code__  # as where another branch of the program had defined it
    assert run(scriptc.compile(made(other), optimize=0), x, other.one).tolist() == [4, 4]
    other.one.__code__ = _negative.__code__
    assert run(scriptc.compile(made(other), optimize=0), x, other.one).tolist() == [-2, -2]


def test_errors_name_the_file_that_runs(world: World, tmp_path: Path) -> None:
    source = "def f(x):\n    return x[5]\ndef make():\n    return f\n"
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        world.folder = folder
        with pytest.raises(IndexError, match=str(folder)):
            run(scriptc.compile(made(world.load(source)), optimize=0), torch.ones(2))


def test_results_require_grad(world: World) -> None:
    source = "def make():\n    return nn.Linear(3, 2)\n"
    x = torch.ones(1, 3)
    scriptc.compile(made(world.load(source)), optimize=0)(x)
    module = made(world.load(source))
    result = world.without_reading(lambda: scriptc.compile(module, optimize=0)(x))
    assert result.requires_grad
    result.sum().backward()
    assert module.weight.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_calls_that_look_alike_have_builds_of_their_own(world: World) -> None:
    """Numbers that are needed at compile time: more of them than there are places to keep."""
    source = "def f(x, n):\n    return torch.cat([x] * 2, dim=n)\ndef make():\n    return f\n"
    x = torch.zeros(2, 2, 2, 2, 2, 2)
    for _ in range(2):
        compiled, eager = scriptc.compile(made(world.load(source)), optimize=0), made(world.load(source))
        for n in range(6):
            assert compiled(x, n).shape == eager(x, n).shape


def test_a_broken_record_is_made_again(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    source = "def make():\n    return lambda x: x + 1\n"
    x = torch.ones(2)

    def call() -> list[float]:
        return run(scriptc.compile(made(world.load(source)), optimize=0), x).tolist()

    def records() -> list[Path]:
        return sorted((tmp_path / "cache").glob("*/record"))

    assert call() == [2, 2]
    assert world.without_reading(call) == [2, 2]
    (record,) = records()
    good = record.read_bytes()
    for bad in (b"\0" * len(good), good[:-9] + b"123456789"):
        record.write_bytes(bad)
        assert call() == [2, 2]
        assert records() == [record]
        assert world.without_reading(call) == [2, 2]
    for library in (tmp_path / "cache").glob("*/*.so"):
        library.unlink()
    assert call() == [2, 2]
    assert world.without_reading(call) == [2, 2]
