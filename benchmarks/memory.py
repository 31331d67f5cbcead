"""Resident memory: over many calls of changing length, and over one call whose loop runs a million times."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import pin, save
from scriptc.inspect.text_table import table


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--calls", type=int, default=10_000, help="calls of changing length (default: 10000)")
    command.add_argument("--iterations", type=int, default=1_000_000, help="of the one long call (default: a million)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    pin()
    rows = {
        f"{options.calls:,} calls of 1 to 64 steps": many_calls(options.calls),
        f"one call of {options.iterations:,} iterations": long_call(options.iterations),
    }
    cells = [[name, f"{a / 1024:,.1f}", f"{b / 1024:,.1f}", f"{s:.2f}"] for name, (a, b, s) in rows.items()]
    print(table(["", "MB before", "MB after", "seconds"], cells, right=(1, 2, 3)))
    save(options.json, rows)


def many_calls(count: int) -> tuple[int, int, float]:
    """Return KiB before, KiB after, and seconds of many calls.

    The longest sequence runs first, so that all memory that calls may keep is allocated before the first measurement.
    """
    import torch

    import scriptc
    from benchmarks.models import ELMAN, elman

    model, _ = elman(ELMAN[0])
    compiled = scriptc.compile(model)
    longest = [torch.randn(ELMAN[0].batch, ELMAN[0].input) for _ in range(64)]
    with torch.no_grad():
        for length in range(64, 0, -1):
            compiled(longest[:length])
        before, start = resident(), time.perf_counter()
        for call in range(count):
            compiled(longest[: 1 + call * 37 % 64])
        return before, resident(), time.perf_counter() - start


def long_call(iterations: int) -> tuple[int, int, float]:
    import torch

    import scriptc

    compiled = scriptc.compile(_settle)
    state, weight = torch.randn(4, 16), torch.randn(16, 16)
    with torch.no_grad():
        compiled(state, weight, 1000)
        before, start = resident(), time.perf_counter()
        compiled(state, weight, iterations)
        return before, resident(), time.perf_counter() - start


def _settle(state, weight, count):  # type: ignore[no-untyped-def] # torch is not imported yet
    for _ in range(count):
        state = (state @ weight).tanh() + state[0:1] * 0.5
    return state


def peak(call: Callable[[], object]) -> int:
    """Return by how many KiB a call raises the resident memory of a process at most."""
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
    call()
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) - before


def resident() -> int:
    """Return the KiB of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
