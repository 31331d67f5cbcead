"""The cost of the first call in a fresh process, beyond importing torch: with an empty cache and with a warm one, and
for each model of the benchmarks `rnn`, `lstm` and `cells` with the runtime already built.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import cpu_model, save
from scriptc.inspect.text_table import table

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
MODEL = """
import os
import sys
import time
import torch
from benchmarks import models
model, inputs = models.named(sys.argv[1])
with torch.no_grad():
    model(*inputs)  # what eager needs on its first call
    work, start = sum(os.times()[:4]), time.perf_counter()
    import scriptc
    compiled = scriptc.compile(model)
    compiled(*inputs)
    print(time.perf_counter() - start, sum(os.times()[:4]) - work)
"""


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--runs", type=int, default=5, help="processes with a warm cache (default: 5)")
    command.add_argument("--models", nargs="+", metavar="MODEL", help="some of the models (default: all)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    from benchmarks.models import NAMES

    with tempfile.TemporaryDirectory() as cache:
        cold = _process(cache, PROGRAM)
        warm = [_process(cache, PROGRAM) for _ in range(options.runs)]
        middle = _medians(warm)
        print(f"{cpu_model()}; seconds of a fresh process beyond importing torch\n")
        rows = [("empty cache", cold), ("warm cache", middle)]
        cells = [[name, *(f"{s:.3f}" for s in (*times[:2], sum(times[:2]), times[2]))] for name, times in rows]
        print(table(["", "import scriptc", "first call", "together", "CPU, compiler too"], cells, right=(1, 2, 3, 4)))
        models = {name: _model(Path(cache), name, options.runs) for name in options.models or NAMES}
    print("\nThe runtime already built; import and first call together\n")
    cells = [[name, *(f"{s:.3f}" for s in times)] for name, times in models.items()]
    print(table(["", "cold", "cold, CPU", "warm cache"], cells, right=(1, 2, 3)))
    save(options.json, {**dict(rows), "models": models})


def _model(cache: Path, name: str, runs: int) -> tuple[float, float, float]:
    """Return the seconds of a cold start that finds the runtime, of its processors, and of a warm start."""
    _process(str(cache), MODEL, name)
    cold = []
    for _ in range(runs):
        for library in cache.glob("*/*.so"):
            shutil.rmtree(library.parent)
        cold.append(_process(str(cache), MODEL, name))
    warm = [_process(str(cache), MODEL, name) for _ in range(runs)]
    return (*_medians(cold), _medians(warm)[0])  # type: ignore[return-value]


def _medians(rows: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.median(column) for column in zip(*rows, strict=True))


def _process(cache: str, program: str, *arguments: str) -> tuple[float, ...]:
    environment = {**os.environ, "SCRIPTC_CACHE_DIR": cache}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return tuple(map(float, done.stdout.split()))
