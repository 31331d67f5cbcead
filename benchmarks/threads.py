"""Threads: the same calls on one thread and on more, alone and after eager operators, whose threads spin for a while.

Both take turns. Weights are frozen, and processes are not pinned.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

import scriptc
from benchmarks.harness import Candidate, medians, microseconds, save
from benchmarks.models import ELMAN, elman
from scriptc.inspect.text_table import table

LSTM = ((1, 64, 128, 100), (1, 256, 512, 100), (32, 256, 512, 100))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="beside one (default: all cores)")
    parser.add_argument("--samples", type=int, default=51, metavar="N", help="of each (default: 51)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the numbers")


def run(options: argparse.Namespace) -> None:
    results = {}
    with torch.no_grad():
        for name, call, eager in _cases():
            candidates = [_on(call, n, eager) for n in (1, options.threads)]
            results[name] = list(medians(candidates, samples=options.samples, seconds=0.003).values())
    rows = [[name, *map(microseconds, times), f"{times[0] / times[-1]:.2f}"] for name, times in results.items()]
    print(table(["call", "one thread, us", f"{options.threads} threads", "faster"], rows, right=(1, 2, 3)))
    save(options.json, results)


def _cases() -> list[tuple[str, Callable[[], object], Callable[[], object] | None]]:
    """Return names, calls, and the eager operators that run in front of them, untimed."""
    cases: list[tuple[str, Callable[[], object]]] = []
    for size in ELMAN:
        model, inputs = elman(size)
        cases.append((f"elman {size}", _bound(model, inputs)))
    for batch, width, hidden, steps in LSTM:
        x = torch.randn(steps, batch, width)
        cases.append((f"nn.LSTM batch {batch}, {width} to {hidden}, {steps} steps", _bound(nn.LSTM(width, hidden), x)))
    perceptron = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))
    cases += [(f"two layers of 1024, batch {n}", _bound(perceptron, torch.randn(n, 1024))) for n in (1, 256)]
    large, square = torch.randn(4_000_000), torch.randn(512, 512)
    eager = {"x + 1": lambda: large + 1, "torch.matmul": lambda: torch.matmul(square, square)}
    longer = cases[len(ELMAN) + 1 :]  # long enough on one thread that sharing may pay
    after = [(f"{name}, after {op}", call, run) for name, call in longer for op, run in eager.items()]
    return [*((name, call, None) for name, call in cases), *after]


def _bound(model: nn.Module, *args: object) -> Callable[[], object]:
    made = scriptc.compile(model, freeze=True)
    return lambda: made(*args)


def _on(call: Callable[[], object], threads: int, eager: Callable[[], object] | None) -> Candidate:
    took = 0.0

    def run_there() -> None:
        nonlocal took
        torch.set_num_threads(threads)
        if eager is not None:
            eager()
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start

    return Candidate(f"{threads} threads", run_there, clock=None if eager is None else lambda: took)
