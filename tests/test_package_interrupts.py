"""Ctrl-C in calls of a loaded package, and in the compiler that its loader runs: as in compiled functions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import scriptc

FOREVER = 10**15


def count(n):
    i = total = 0
    while i < n:
        total ^= i
        i += 1
    return total


def caught(n):
    i = 0
    try:
        while i < n:
            i += 1
    except KeyboardInterrupt:
        return -1
    return i


class Sums(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, n):
        self.calls += 1
        i = 0
        while i < n:
            i += 1
        return i + self.calls


@pytest.fixture(scope="module", name="built")
def built_fixture(tmp_path_factory: pytest.TempPathFactory, compiles_once: None) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("interrupts")
    made = {"count": count, "caught": caught, "sums": Sums()}
    return {
        name: Path(scriptc.build(target, 5, out=folder / name, march="native", optimize=1)) for name, target in made.items()
    }


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signal_soon(seconds: float = 0.3) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -INT {os.getpid()}"])


def test_a_loop_ends(built: dict[str, Path]) -> None:
    model = scriptc.load(built["count"])
    for _ in range(3):
        with signal_soon(), pytest.raises(KeyboardInterrupt) as raised:
            model(FOREVER)
        assert model(100) == count(100)
    if sys.version_info >= (3, 11):
        assert "in count:" in raised.value.__notes__[0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_compiled_code_may_catch_it(built: dict[str, Path]) -> None:
    model = scriptc.load(built["caught"])
    with signal_soon():
        assert model(FOREVER) == -1
    assert model(7) == 7


class _Stopped(Exception):
    pass


def test_handlers_of_the_user_decide(built: dict[str, Path]) -> None:
    model, seen = scriptc.load(built["count"]), list[Any]()

    def note(number: int, frame: FrameType | None) -> None:
        seen.append((number, model(10)))  # a call within a call
        if len(seen) == 2:
            raise _Stopped("enough")

    signal.signal(signal.SIGINT, note)
    with signal_soon(), signal_soon(0.8), pytest.raises(_Stopped, match="enough"):
        model(FOREVER)
    assert seen == [(signal.SIGINT, count(10))] * 2
    assert signal.getsignal(signal.SIGINT) is note


def test_the_state_stays_usable(built: dict[str, Path]) -> None:
    model = scriptc.load(built["sums"])
    with signal_soon(), pytest.raises(KeyboardInterrupt):
        model(FOREVER)
    assert model(1) == 3

    def again(number: int, frame: FrameType | None) -> None:
        model(1)

    signal.signal(signal.SIGINT, again)
    with signal_soon(), pytest.raises(RuntimeError, match="in use by a call that this one interrupts"):
        model(FOREVER)
    assert model(1) == 5


def test_other_threads_go_on(built: dict[str, Path]) -> None:
    model, results = scriptc.load(built["count"]), list[int]()
    thread = threading.Thread(target=lambda: results.append(model(4 * 10**8)))
    thread.start()
    with signal_soon(0.05), pytest.raises(KeyboardInterrupt):
        time.sleep(10)
    thread.join()
    assert len(results) == 1


def test_the_watching_thread_ends(built: dict[str, Path]) -> None:
    model = scriptc.load(built["count"])
    model(10)
    watching = [t for t in threading.enumerate() if t.name == "scriptc-signals"]
    assert len(watching) == 1
    for thread in watching:
        thread.join(10)
        assert not thread.is_alive()
    with signal_soon(), pytest.raises(KeyboardInterrupt):
        model(FOREVER)


def test_a_forked_child_is_interrupted(built: dict[str, Path]) -> None:
    model = scriptc.load(built["count"])
    model(10)
    child = os.fork()
    if not child:
        with signal_soon():
            try:
                model(FOREVER)
            except KeyboardInterrupt:
                os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


LOAD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import scriptc
scriptc.load(sys.argv[1])
"""


@pytest.mark.parametrize("way", ["interrupt", "limit"])
def test_a_hanging_compiler_of_the_loader_is_ended(way: str, tmp_path: Path) -> None:
    folder = scriptc.build(count, 5, out=tmp_path / "count", march="native", optimize=0)
    marker, cc = tmp_path / "child", tmp_path / "cc"
    cc.write_text(
        "#!/bin/sh\n"
        'case "$*" in *"count_api.c "*) sleep 1000 & echo $! > ' + f"{marker}.tmp; mv {marker}.tmp {marker}; wait;; esac\n"
        'exec gcc "$@"\n'
    )
    cc.chmod(0o755)
    env = {**os.environ, "CC": str(cc)}
    if way == "limit":
        env["SCRIPTC_COMPILER_SECONDS"] = "3"
    with subprocess.Popen([sys.executable, "-c", LOAD, folder], env=env, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.02)
        if way == "interrupt":
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert ("KeyboardInterrupt" if way == "interrupt" else "SCRIPTC_COMPILER_SECONDS") in errors
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(int(marker.read_text()), 0)
            time.sleep(0.02)
    assert not list((folder / "build").glob("making-*"))
