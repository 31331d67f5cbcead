"""Threads: results do not depend on their number, several callers share helpers, and the pool is free of races."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest
import torch
from settings import sweep, without_asan
from torch import nn

import scriptc
from scriptc import runtime
from scriptc.backend_c.toolchain import find_compiler

SOURCE = Path(__file__).parent / "runtime" / "test_team.c"
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g", "-pthread")


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "arguments"),
    [(["-fsanitize=thread"], []), (["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], ["fork"])],
    ids=["tsan", "asan-fork"],
)
@without_asan
def test_the_pool_under_sanitizers(flags: list[str], arguments: list[str], tmp_path: Path) -> None:
    program = tmp_path / "team_test"
    sources = [SOURCE, runtime.SOURCE_DIR / "sc_team.c"]
    command = [*find_compiler().command, *WARNINGS, *flags, f"-I{runtime.INCLUDE_DIR}", *sources, "-o", program]
    built = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    fixed_addresses = ["setarch", "-R"] if shutil.which("setarch") else []  # TSan wants its usual address space
    done = subprocess.run([*fixed_addresses, str(program), *arguments], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


class Layers(nn.Module):
    """Contractions of every kind, long loops over elements, and reductions by rows."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(300, 700), nn.Linear(700, 70)
        self.conv = nn.Conv2d(3, 24, 3)

    def forward(self, x: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h = torch.tanh(self.wide(x)) * 0.5 + x.sum(1, keepdim=True)
        y = torch.softmax(self.narrow(h), 1)
        gram = h.t() @ h / 1000
        batches = torch.bmm(h.view(5, -1, 700), gram.expand(5, 700, 700))
        return y, gram, batches.sum(2), self.conv(image), h.amax(0), torch.sigmoid(image).mean((2, 3))


torch.manual_seed(0)
CASES = {  # fmt: skip
    "layers": (Layers(), (torch.randn(500, 300), torch.randn(4, 3, 40, 50))),
    "convolutions": (
        nn.Sequential(
            nn.Conv2d(3, 20, 3, padding=1),
            nn.GroupNorm(4, 20),
            nn.Conv2d(20, 30, 1),
            nn.ConvTranspose2d(30, 8, 3, stride=2),
            nn.Conv2d(8, 8, 5, stride=2, groups=2),
            nn.LogSoftmax(1),
        ),
        (torch.randn(5, 3, 60, 50),),
    ),
    "norms": (nn.Sequential(nn.LayerNorm(300), nn.Softmax(0), nn.LayerNorm([64, 300])), (torch.randn(40, 64, 300),)),
    "one row": (nn.Linear(900, 1100), (torch.randn(1, 900),)),
    "two rows": (nn.Linear(2100, 3000), (torch.randn(2, 2100),)),
    "three rows": (nn.Linear(900, 1500), (torch.randn(3, 900),)),
    "many rows": (nn.Linear(90, 130), (torch.randn(5000, 90),)),
    "lstm": (nn.LSTM(64, 200), (torch.randn(30, 16, 64),)),
}


def _flat(value: object) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [t for item in value for t in _flat(item)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("freeze", [False, True])
@torch.no_grad()
def test_bits_do_not_depend_on_the_number_of_threads(name: str, freeze: bool) -> None:
    model, args = CASES[name]
    made = scriptc.compile(model, freeze=freeze)
    torch.set_num_threads(1)
    alone = _flat(made(*args))
    for threads in (2, 3, 5):
        torch.set_num_threads(threads)
        for _ in range(20):
            for mine, other in zip(alone, _flat(made(*args)), strict=True):
                assert torch.equal(mine, other)
    for mine, eager in zip(alone, _flat(model(*args)), strict=True):
        torch.testing.assert_close(mine, eager, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_calls_from_several_python_threads() -> None:
    model, args = CASES["layers"]
    made = scriptc.compile(model)
    torch.set_num_threads(3)
    expected = _flat(made(*args))
    wrong: list[str] = []

    @torch.no_grad()
    def work() -> None:
        for _ in range(30):
            if not all(map(torch.equal, _flat(made(*args)), expected)):
                wrong.append("differs")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def long_loop(x: torch.Tensor, n: int) -> torch.Tensor:
    for _ in range(n):
        x = torch.tanh(x)
    return x


@torch.no_grad()
def test_python_runs_meanwhile() -> None:
    """The first call of a specialisation, and later ones that are long, let go of the GIL."""
    made = scriptc.compile(long_loop)
    made(torch.ones(4), 1)
    made(torch.ones(64), 100_000)
    for _ in range(2):
        ticks = 0
        done = threading.Event()

        def call(done: threading.Event = done) -> None:
            made(torch.ones(64), 1_000_000)
            done.set()

        thread = threading.Thread(target=call)
        thread.start()
        while not done.is_set():
            time.sleep(0.001)
            ticks += 1
        thread.join()
        assert ticks > 5


_FORKS = """
import os, numpy, torch, scriptc
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(3)
model, x = nn.Linear(600, 800), torch.randn(300, 600)
with torch.no_grad():
    made = scriptc.compile(model)
    expected = made(x)
    child = os.fork()
    # torch.equal would wait for OpenMP threads, which a forked child does not have
    same = all(numpy.array_equal(made(x), expected) for _ in range(50))
    if child == 0:
        os._exit(0 if same else 1)
    assert same and os.waitpid(child, 0)[1] == 0
print("ok")
"""


_BORROWS = """
import os, sys, threading, torch, scriptc
from torch import nn
torch.manual_seed(0)
model, x, large = nn.LSTM(64, 200), torch.randn(30, 16, 64), torch.randn(1_000_000)
def bits(f):
    return [t.numpy().tobytes() for t in (f(x)[0], *f(x)[1])]
def use(rounds):
    for i in range(rounds):
        torch.set_num_threads((2, 2, 2, 3, 1)[i % 5])
        large + 1
        torch.matmul(model.weight_hh_l0, model.weight_hh_l0.t())
        if bits(made) != expected:
            wrong.append(i)
wrong = []
with torch.no_grad():
    made = scriptc.compile(model)
    torch.set_num_threads(1)
    expected = bits(made)
    use(100)
    threads = [threading.Thread(target=torch.no_grad()(use), args=(30,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.set_num_threads(2)
    for _ in range(10):
        large + 1
        bits(made)
    child = os.fork()
    if child == 0: # torch's own operators would wait for threads that only the parent has
        os._exit(0 if all(bits(made) == expected for _ in range(50)) else 1)
    use(10)
assert not wrong and os.waitpid(child, 0)[1] == 0
print("ok")
"""


# `make test` has the threads of OpenMP sleep where they have nothing to do; these tests have them as users do.
_AS_IT_IS = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
_OPENMP = [{"OMP_THREAD_LIMIT": "1"}, {"OMP_STACKSIZE": "64k"}, {"OMP_WAIT_POLICY": "active"}, {"OMP_DYNAMIC": "true"}]


@pytest.mark.parametrize(
    "settings",
    sweep([{}, *_OPENMP], {}),
    ids=lambda settings: " ".join(settings) or "plain",
)
@without_asan
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_calls_between_operators_of_torch(settings: dict[str, str]) -> None:
    """Torch's threads do pieces of calls; then threads come and go, their number changes, and a child has none."""
    environment = _AS_IT_IS | settings
    done = subprocess.run([sys.executable, "-c", _BORROWS], env=environment, capture_output=True, text=True, timeout=200)
    assert done.stdout == "ok\n", done.stderr


_CORES = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
_TWO_CORES = pytest.mark.skipif(_CORES < 2, reason="on one core no thread waits awake")


_COUNTS = """
import ctypes, time, torch, scriptc
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(2)
model, x, large = nn.LSTM(64, 200), torch.randn(30, 16, 64), torch.randn(1_000_000)
regions = ctypes.c_int.in_dll(ctypes.CDLL(None), "regions_of_bridge")
with torch.no_grad():
    made = scriptc.compile(model)
    expected = made(x)[0]
    limit = time.monotonic() + 100
    while regions.value < 100 and time.monotonic() < limit:
        large + 1
        assert (made(x)[0] == expected).all()
assert regions.value >= 100
print("ok")
"""


@_TWO_CORES
@without_asan
@pytest.mark.slow
def test_calls_run_on_the_threads_that_torch_keeps_awake(tmp_path: Path) -> None:
    library = tmp_path / "count_regions.so"
    source = SOURCE.with_name("count_regions.c")
    subprocess.run([*find_compiler().command, "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "OMP_WAIT_POLICY": "active"}
    done = subprocess.run([sys.executable, "-c", _COUNTS], env=environment, capture_output=True, text=True, timeout=200)
    assert done.stdout == "ok\n", done.stderr


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        pytest.param({"OMP_WAIT_POLICY": "active"}, ["2", "awake"], marks=_TWO_CORES),
        ({"OMP_WAIT_POLICY": "passive"}, ["3", "asleep"]),
        ({"OMP_THREAD_LIMIT": "1"}, ["1", "asleep"]),
        ({}, ["2", "narrow"]),
    ],
    ids=["awake", "asleep", "limit", "narrow"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="threads are borrowed on Linux alone")
@without_asan
def test_the_threads_that_torch_lends(settings: dict[str, str], arguments: list[str], tmp_path: Path) -> None:
    """The OpenMP runtime's threads are found awake, asleep, within a region, and where there is one."""
    program, include = tmp_path / "openmp_test", sysconfig.get_paths()["include"]
    sources = [SOURCE.with_name("test_openmp.c"), runtime.SOURCE_DIR / "bridge" / "openmp.c"]
    flags = (*WARNINGS, "-DPy_LIMITED_API=0x030A0000", "-fopenmp", f"-I{runtime.INCLUDE_DIR}", f"-I{include}")
    command = [*find_compiler().command, *flags, *sources, "-o", program, "-ldl"]
    built = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program, *arguments], env=_AS_IT_IS | settings, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@without_asan
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKS], env=_AS_IT_IS, capture_output=True, text=True, timeout=120)
    assert done.stdout == "ok\n", done.stderr


@pytest.mark.usefixtures("compiles_once_in_test")
@torch.no_grad()
def test_packages_use_as_many_threads_as_they_are_told(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(400, 900), nn.Tanh(), nn.Linear(900, 300)), torch.randn(300, 400)
    folder = scriptc.build(model, x, out=tmp_path / "net", march="native", optimize=1)
    alone, shared = scriptc.load(folder), scriptc.load(folder, threads=3)
    for _ in range(20):
        assert (alone(x.numpy()) == shared(x.numpy())).all()
