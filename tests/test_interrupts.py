"""Ctrl-C in compiled code: loops and recursion end at the user's line, handlers run, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import torch
from settings import OPTIMIZE

import scriptc

FOREVER = 10**15


def make(target: Callable[..., Any]) -> Any:
    return scriptc.compile(target, optimize=OPTIMIZE)


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signal_soon(seconds: float = 0.2) -> subprocess.Popen[bytes]:
    """Send SIGINT from another process: compiled code may hold the GIL."""
    return subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -INT {os.getpid()}"])


def counted(n):
    total = 0
    for i in range(n):
        total ^= i
    return total


def counted_by_three(n):
    total = 0
    for i in range(n, 0, -3):
        total ^= i
    return total


def uncounted(n):
    i = total = 0
    while i < n:
        total ^= i
        i += 1
    return total


def nested(n):
    total = 0
    for i in range(n):
        for j in range(3):
            total ^= i + j
    return total


def broken(n):
    """Leave a loop whose iterations run in strips, and go on to the next one."""
    total = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        if i > 200_000:
            break
        total += i
    i = 0
    while i < n:
        i += 2
        if i > 300_001:
            break
        total += i
    return total, i


@pytest.mark.parametrize("target", [counted, counted_by_three, uncounted, nested])
def test_a_loop_ends_at_its_line(target: Callable[..., Any]) -> None:
    compiled = make(target)
    for n in (0, 7, 200_001):
        assert compiled(n) == target(n)
    with signal_soon(), pytest.raises(KeyboardInterrupt) as caught:
        compiled(FOREVER)
    frames = traceback.extract_tb(caught.tb)
    assert frames[-1].name == target.__name__
    assert frames[-1].filename == __file__
    assert compiled(7) == target(7)


def test_loops_in_strips_are_left_as_loops_are() -> None:
    compiled = make(broken)
    for n in (0, 10, 70_000, 10**6):
        assert compiled(n) == broken(n)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_recursion_ends() -> None:
    compiled = make(fibonacci)
    assert compiled(10) == 55
    with signal_soon(), pytest.raises(KeyboardInterrupt):
        compiled(90)


def steps(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
    return x


def written_before(x, n):
    x.add_(1)
    try:
        y = steps(x, n)
    except Exception:
        y = -x
    finally:
        x.add_(10)
    return y


def test_frames_and_writes_stay_and_nothing_leaks() -> None:
    compiled, x = make(written_before), torch.zeros(3)
    compiled(torch.zeros(3), 2)
    with signal_soon(), pytest.raises(KeyboardInterrupt) as caught:
        compiled(x, FOREVER)
    assert [f.name for f in traceback.extract_tb(caught.tb)][-2:] == ["written_before", "steps"]
    assert x.tolist() == [11.0] * 3
    y = torch.zeros(3)
    torch.testing.assert_close(compiled(y, 2), written_before(torch.zeros(3), 2))


def caught_here(n):
    i = 0
    try:
        while i < n:
            i += 1
    except KeyboardInterrupt:
        return -1
    return i


def test_compiled_code_may_catch_it() -> None:
    compiled = make(caught_here)
    assert compiled(5) == 5
    with signal_soon():
        assert compiled(FOREVER) == -1


class _Stopped(Exception):
    pass


def test_handlers_of_the_user_decide() -> None:
    compiled, seen = make(uncounted), list[int]()
    assert compiled(3) == uncounted(3)

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) == 2:
            raise _Stopped("enough")

    signal.signal(signal.SIGINT, note)
    with signal_soon(), signal_soon(0.6), pytest.raises(_Stopped, match="enough"):
        while True:
            compiled(10**8)
    assert seen == [signal.SIGINT] * 2
