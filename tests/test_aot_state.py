"""State in builds ahead of time: kept from call to call in C, in Python without torch, and apart from its model."""

from __future__ import annotations

import copy
import os
import random
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import torch
from test_aot import cmake_build, cmake_tool, environment, run
from test_aot_values import check_headers
from torch import Tensor, nn

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")


class Streaming(nn.Module):
    """State of every form: None at first, a count, buffers written in place, lists that grow, deques, a tuple, strings, an
    attribute and a key that the first call makes."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.h: Tensor | None = None
        self.pair = (torch.zeros(3), 0.5)
        self.log: list[Tensor] = [torch.zeros(3)]
        self.counts = [1, 2]
        self.steps = 0
        self.done = False
        self.said = "né"
        self.words = ["π"]
        self.recent: deque[Tensor] = deque(maxlen=2)
        self.marks: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> tuple[Tensor, int, int]:
        self.steps += 1
        x = self.norm(x)
        old = self.h
        self.h = x if self.h is None else torch.tanh(self.cell(x) + self.h)
        if not hasattr(self, "scale"):
            self.scale = x.abs().max()
        self.log.append(self.h[0])
        if len(self.log) > 3:
            self.log.pop(0)
        if self.steps == 4:
            raise ValueError("the fourth call")
        self.pair = (self.pair[0] + self.h.sum(0), self.pair[1] * 2)
        self.counts[0] += self.steps
        self.done = not self.done
        self.said = self.said[1:] + str(len(self.words) % 7)
        self.words.append(self.said + "π")
        self.recent.append(x[0])
        x = x + sum(self.recent)
        known = sum(ord(c) for w in self.words for c in w)
        y = self.h * self.scale + known * 1e-3 + self.pair[0] * self.pair[1] + torch.stack(self.log).sum(0)
        if old is not None and self.done:
            y = y + old
        y = y + self.marks.setdefault("first", x)
        return y, self.counts[0], self.steps


class Quiet(Streaming):
    """The same without the exception, which no recorded call may raise."""

    def forward(self, x: Tensor) -> Tensor:
        self.steps = 10
        return super().forward(x)[0]


def inputs(n: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(4, 3, generator=generator) for _ in range(n)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Quiet, Path]:
    torch.manual_seed(0)
    model = Quiet()
    before = copy.deepcopy(model)
    folder = scriptc.build(model, inputs(1)[0], out=tmp_path_factory.mktemp("state") / "it", optimize=0, march="native")
    assert vars(model).keys() == vars(before).keys()  # building has not called it
    torch.testing.assert_close(model.state_dict(), before.state_dict())
    return before, folder


def test_ctest_replays_the_sequence(built: tuple[Quiet, Path], tmp_path: Path) -> None:
    env = environment(tmp_path)
    cmake_build(built[1], tmp_path / "build", env)
    assert "100% tests passed" in run(cmake_tool("ctest"), "--output-on-failure", env=env, cwd=tmp_path / "build")


@pytest.mark.slow
def test_the_driver_runs_clean_under_sanitizers(built: tuple[Quiet, Path], tmp_path: Path) -> None:
    env = environment(tmp_path)
    cmake_build(built[1], tmp_path / "build", env, "-DSC_SANITIZE=ON", "-DSC_OPTIMIZE=0", "-DSC_MARCH=native")
    assert "100% tests passed" in run(cmake_tool("ctest"), "--output-on-failure", env=env, cwd=tmp_path / "build")


def test_the_loader_keeps_state(built: tuple[Quiet, Path]) -> None:
    eager, model = copy.deepcopy(built[0]), scriptc.load(built[1])
    xs = inputs(6)
    with torch.no_grad():
        expected = [eager(x).numpy() for x in xs]
    for x, y in zip(xs[:3], expected, strict=False):
        np.testing.assert_allclose(model(x.numpy()), y, rtol=1e-4, atol=1e-5)
    here = model.state.copy()
    for _ in range(2):
        for x, y in zip(xs[3:], expected[3:], strict=True):
            np.testing.assert_allclose(model(x.numpy()), y, rtol=1e-4, atol=1e-5)
        model.state = here
    model.state.reset()
    np.testing.assert_allclose(model(xs[0].numpy()), expected[0], rtol=1e-4, atol=1e-5)


def test_headers_compile(built: tuple[Quiet, Path]) -> None:
    check_headers(built[1].parent)


def test_a_call_that_raises_keeps_what_it_set(tmp_path: Path) -> None:
    torch.manual_seed(0)
    eager = Streaming()
    eager.steps = -10  # far from the call that raises while the sequence is recorded
    model = scriptc.load(scriptc.build(eager, inputs(1)[0], out=tmp_path / "raising", optimize=0, march="native"))
    with torch.no_grad():
        for x in inputs(16):
            try:
                expected = eager(x)
            except ValueError:
                with pytest.raises(ValueError, match="the fourth call"):
                    model(x.numpy())
                continue
            y, count, steps = model(x.numpy())
            np.testing.assert_allclose(y, expected[0].numpy(), rtol=1e-4, atol=1e-4)
            assert (count, steps) == expected[1:]


class Grows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept = None
        self.cache: dict[str, Tensor] = {}
        self.counts = {1: 2}
        self.seen: list[dict[str, Tensor]] = []
        self.holes: list[Tensor | None] = [None]

    def nested(self, x: Tensor) -> Tensor:
        self.kept = (x, self.kept)
        return x

    def keys(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.cache["k"] = x
        for name in self.cache:
            x = x + self.cache[name]
        return x

    def lists(self, x: Tensor) -> Tensor:
        self.kept = [[x], [x]]
        return x

    def records(self, x: Tensor) -> Tensor:
        self.seen.append({"x": x})
        return x

    def nothing(self, x: Tensor) -> Tensor:
        self.holes[0] = x
        return x

    def kinds(self, x: Tensor) -> Tensor:
        self.kept = [x, 1]
        return x

    def tables(self, x: Tensor) -> Tensor:
        self.counts = {int(x.sum()): 2}
        return x

    def computed(self, x: Tensor) -> Tensor:
        self.counts[int(x.sum())] = 2
        return x


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nested", "keeps values of more and more types"),
        ("lists", r"list\[list\[f32"),
        ("keys", r"cannot keep dict\[\] in 'cache'"),
        ("records", "cannot keep list.*dict.* in 'seen'"),
        ("nothing", "cannot keep list.*None.* in 'holes'"),
        ("kinds", r"cannot keep list\[f32.* in 'kept'"),
        ("tables", r"cannot keep dict\[int, int\] in 'counts'"),
        ("computed", "a build ahead of time keeps dicts with known keys alone"),
    ],
)
def test_what_a_build_cannot_keep(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(scriptc.CompileError, match=message):
        scriptc.build(getattr(Grows(), name), torch.ones(2), out=tmp_path / "no")


class Sums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        self.cache["k"] = self.cache["k"] + x if "k" in self.cache else x
        return self.cache["k"]


def test_a_key_that_the_first_call_adds(tmp_path: Path) -> None:
    model = scriptc.load(scriptc.build(Sums(), torch.ones(3), out=tmp_path / "sums", optimize=0, march="native"))
    for i in range(1, 4):
        np.testing.assert_array_equal(model(np.ones(3, np.float32)), [i, i, i])
    model.state.reset()
    np.testing.assert_array_equal(model(np.full(3, 5, np.float32)), [5, 5, 5])


@pytest.mark.parametrize("in_list", [False, True])
def test_parts_of_a_state_that_share_memory_are_an_error_where_it_is_written(in_list: bool, tmp_path: Path) -> None:
    class Shares(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.zeros(3)
            self.b = torch.ones(3)

        def forward(self, x: Tensor) -> Tensor:
            if in_list:
                written = [self.a] * len(x.shape)
                for i in range(int(x.shape[0] / 3)):
                    written[i].add_(x)
            else:
                self.a.add_(x)
            if x.sum() > 100:
                self.b = self.a
            return self.b

    model = scriptc.load(scriptc.build(Shares(), torch.ones(3), out=tmp_path / "shares", optimize=0, march="native"))
    np.testing.assert_array_equal(model(np.ones(3, np.float32)), [1, 1, 1])
    with pytest.raises(NotImplementedError, match="share memory"):
        model(np.full(3, 100, np.float32))


class Best(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.best, self.last = float("inf"), float("nan")

    def forward(self, x: Tensor) -> tuple[float, float]:
        before = self.best, self.last
        self.best = min(self.best, float(x.min()))
        self.last = float(x[0])
        return before


def test_first_values_that_are_not_finite(tmp_path: Path) -> None:
    model = scriptc.load(scriptc.build(Best(), torch.ones(3), out=tmp_path / "best", optimize=0, march="native"))
    best, last = model(np.full(3, 2, np.float32))
    assert best == float("inf") and last != last
    assert model(np.full(3, 5, np.float32)) == (2.0, 2.0) and model(np.full(3, 1, np.float32)) == (2.0, 5.0)


memory = nn.Module()
memory.total = torch.zeros(2)
memory.log = []


def remembers(x: Tensor) -> Tensor:
    memory.total = memory.total + x
    memory.log.append(memory.total)
    memory.last = x
    return torch.stack(memory.log).sum(0)


def test_building_a_function_leaves_its_objects_as_they_were(tmp_path: Path) -> None:
    total, log = memory.total, memory.log
    model = scriptc.load(scriptc.build(remembers, torch.ones(2), out=tmp_path / "function", optimize=0, march="native"))
    assert memory.total is total and memory.log is log and not log and not hasattr(memory, "last")
    for x in inputs(3):
        np.testing.assert_allclose(model(x[0, :2].numpy()), remembers(x[0, :2]).numpy(), rtol=1e-5)


class Drops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.4)
        self.noise = 0.0

    def forward(self, x: Tensor) -> Tensor:
        noise = torch.randn_like(x)
        self.noise += noise.mean().item() + random.random() * random.randint(1, 6)
        return self.drop(x) + noise * torch.rand(3) + self.noise


class Upsampler(nn.Module):
    """A vocoder's layers, whose weights are computed ahead of each call: tensors that autograd made, which no copy takes."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.utils.weight_norm(nn.ConvTranspose1d(2, 3, 4, 2, 1))
        self.post = nn.utils.weight_norm(nn.Conv1d(3, 1, 3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.post(torch.nn.functional.leaky_relu(self.up(x), 0.1)))


@pytest.mark.filterwarnings("ignore:.torch.nn.utils.weight_norm. is deprecated")
def test_weights_that_hooks_compute(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = Upsampler().eval(), torch.randn(1, 2, 7)
    scriptc.build(model, x, out=tmp_path / "net", name="net", optimize=0, march="native")
    net = scriptc.load(tmp_path / "net")
    for given in (x, 2 * torch.randn(3, 2, 5)):
        np.testing.assert_allclose(net(given.numpy()), model(given).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert scriptc.compare(scriptc.compile(model, optimize=0), x).ok


def test_a_seed_gives_eagers_numbers(tmp_path: Path) -> None:
    eager = Drops()
    folder = scriptc.build(eager, inputs(1)[0], out=tmp_path / "drops", optimize=0, march="native")
    model = scriptc.load(folder)
    for seed in (1, 2**40 + 5):
        torch.manual_seed(seed)
        random.seed(seed)
        model.seed(seed)
        for x in inputs(3):
            np.testing.assert_allclose(model(x.numpy()), eager(x).numpy(), rtol=1e-5, atol=1e-6)
    env = environment(tmp_path)
    cmake_build(folder, tmp_path / "build", env, "-DSC_MARCH=native")
    assert "100% tests passed" in run(cmake_tool("ctest"), "--output-on-failure", env=env, cwd=tmp_path / "build")


def test_what_is_collected_in_a_circle_ends_in_any_order(built: tuple[Quiet, Path]) -> None:
    code = f"""
import gc, scriptc
for _ in range(3):
    model = scriptc.load({str(built[1])!r})
    model.itself = model
    del model
    gc.collect()
print("done")
"""
    env = {**os.environ, "MALLOC_PERTURB_": "165"}  # what was freed does not look as it did
    assert run(sys.executable, "-c", code, env=env) == "done\n"


class Grid(nn.Module):
    """Takes rising times alone, and at most so many calls."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.calls = most, 0

    def forward(self, times: Tensor) -> Tensor:
        assert (times[1:] > times[:-1]).all(), "times must rise"
        assert self.calls < self.most, "too many calls"
        self.calls += 1
        return times * self.calls


@pytest.mark.parametrize("most", [3, 100])
def test_recorded_calls_are_those_that_eager_takes(most: int, tmp_path: Path) -> None:
    scriptc.build(Grid(most), torch.linspace(0.0, 1.0, 9), out=tmp_path / "grid", optimize=0, march="native")
    model = scriptc.load(tmp_path / "grid")
    times = np.linspace(0.0, 1.0, 3, dtype=np.float32)
    assert [model(times)[-1] for _ in range(3)] == [1.0, 2.0, 3.0]


def rising(times: Tensor) -> Tensor:
    assert (times[1:] > times[:-1]).all()
    return times.diff()


def test_a_function_that_takes_the_values_of_the_example_alone(tmp_path: Path) -> None:
    scriptc.build(rising, torch.linspace(0.0, 1.0, 9), out=tmp_path / "rising", optimize=0, march="native")
    times = np.linspace(0.0, 1.0, 3, dtype=np.float32)
    assert scriptc.load(tmp_path / "rising")(times).tolist() == [0.5, 0.5]
