"""What the first call costs in a fresh process, beyond importing torch: with an empty cache, and with a warm one."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import cpu_model, save
from scriptc.tables import table

ROOT = Path(__file__).parent.parent
PROGRAM = """
import os
import time
import torch
from examples import rnn
inputs = rnn.example_args()
torch.ones(4, 16) @ torch.ones(16, 4)  # what eager needs on its first call
work, start = sum(os.times()[:4]), time.perf_counter()
import scriptc
compiled = scriptc.compile(rnn.model)
imported = time.perf_counter()
with torch.no_grad():
    compiled(*inputs)
print(imported - start, time.perf_counter() - imported, sum(os.times()[:4]) - work)
"""


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--runs", type=int, default=5, help="processes with a warm cache (default: 5)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as cache:
        cold = _process(cache)
        warm = [_process(cache) for _ in range(options.runs)]
    middle = tuple(statistics.median(column) for column in zip(*warm, strict=True))
    print(f"{cpu_model()}; seconds of a fresh process beyond importing torch\n")
    rows = [("empty cache", cold), ("warm cache", middle)]
    cells = [[name, *(f"{s:.3f}" for s in (*times[:2], sum(times[:2]), times[2]))] for name, times in rows]
    print(table(["", "import scriptc", "first call", "together", "CPU, compiler too"], cells, right=(1, 2, 3, 4)))
    save(options.json, dict(rows))


def _process(cache: str) -> tuple[float, ...]:
    environment = {**os.environ, "SCRIPTC_CACHE_DIR": cache}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return tuple(map(float, done.stdout.split()))
