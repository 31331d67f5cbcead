"""Libraries are unloaded when what was compiled is collected, and not before: nothing else refers to their code and tables."""

from __future__ import annotations

import gc
import io
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fresh_python
import pytest
import torch

import scriptc

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads the maps of the process"),
    pytest.mark.usefixtures("compiles_once"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, so that its maps have a name."""
    gc.freeze()  # the collections of the test visit what it makes
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def maps(name: object = "") -> list[str]:
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if str(name) in line]


def compiled(function: Callable[..., Any]) -> Any:
    return scriptc.compile(function, optimize=0)


def scaled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, str]:
    print("scaled")
    if x.dim() == 1 and x[0] > 5:
        raise ValueError("too large: " + str(x.shape))
    y = x * 2
    return y, y[1:], "a text"


def test_results_and_errors_outlive_the_library(folder: Path) -> None:
    function: Any = compiled(scaled)
    results = function(torch.ones(3))
    with pytest.raises(ValueError, match="too large") as caught:
        function(torch.full((3,), 9.0))
    assert 0 < len(maps(folder)) <= 3
    del function
    gc.collect()
    assert not maps(folder)
    assert results[0].tolist() == [2, 2, 2] and results[1].tolist() == [2, 2] and results[2] == "a text"
    assert "test_unloading.py" in str(caught.value) and "raise ValueError" in "".join(traceback.format_exception(caught.value))
    results[0].add_(1)
    del results
    gc.collect()


def test_a_call_keeps_its_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a print calls may drop the last reference to the function that prints."""
    held = [compiled(scaled)]
    held[0](torch.ones(3))

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            held.clear()
            gc.collect()
            assert maps(folder)
            return 0

    monkeypatch.setattr(sys, "stdout", Out())
    with pytest.raises(ValueError, match=r"too large: torch.Size\(\[3\]\)\n  at .*test_unloading.py"):
        held[0](torch.full((3,), 9.0))
    monkeypatch.undo()
    assert not held
    gc.collect()
    assert not maps(folder)


def test_functions_with_the_same_code_share_a_library(folder: Path) -> None:
    def plain(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = torch.ones(3)
    first, second = compiled(plain), compiled(plain)
    first(x)
    one = len(maps(folder))
    second(x)
    assert len(maps(folder)) == one
    del first
    gc.collect()
    assert second(x).tolist() == [2, 2, 2] and len(maps(folder)) == one
    del second
    gc.collect()
    assert not maps(folder)


def test_modules_are_collected_with_what_was_compiled_of_them(folder: Path) -> None:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)
            self.n = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n += 1
            return self.layer(x)

    module = compiled(Counts())
    result = module(torch.ones(2, 3))  # one that requires grad
    del module
    gc.collect()
    assert all("gradients" in line for line in maps(folder))  # the library of the result's backward
    assert result.shape == (2, 3)
    del result
    gc.collect()
    assert not maps(folder)


def test_maps_do_not_grow(folder: Path) -> None:
    def scale_by(n: int) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: x * n + n

    def once(n: int) -> None:
        assert compiled(scale_by(n))(torch.ones(3)).tolist() == [2 * n] * 3

    once(1)
    gc.collect()
    before = len(maps())
    for n in range(2, 12):
        once(n)
    gc.collect()
    assert not maps(folder)
    assert len(list(folder.glob("*/*.so"))) == 11
    assert len(maps()) <= before + 4  # of the allocator


HELPERS = """
import gc
import torch
import scriptc

torch.set_num_threads(2)

def product(x):
    return x @ x

def another(x):
    return x @ x @ x

def threads():
    import os
    return len(os.listdir("/proc/self/task"))

def maps():
    return sum("product" in line for line in open("/proc/self/maps"))

x = torch.eye(512)
function = scriptc.compile(product, optimize=2)
before = threads()
for _ in range(50):
    function(x)
print("helpers", threads() - before)
assert maps()
del function
gc.collect()
assert not maps()
import time
time.sleep(0.05)  # helpers fall asleep in what they run
function = scriptc.compile(another, optimize=2)
for _ in range(50):
    assert torch.equal(function(x), x)
"""


def test_helper_threads_outlive_the_library_that_started_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(HELPERS)
    done = fresh_python.run([program], timeout=200)
    assert done.returncode == 0, done.stderr
