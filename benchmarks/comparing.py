"""One row of a table of times: candidates that compute the same are checked against eager and timed in turns."""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import Candidate, medians, microseconds, pin
from benchmarks.onnx_session import Unavailable
from benchmarks.rivals import Call
from scriptc.inspect.text_table import table

EAGER, JIT, SCRIPTC, FROZEN, INSIDE, BY_HAND = "eager", "jit frozen", "scriptc", "scriptc frozen", "in C", "by hand"
INSIDE_FROZEN = "frozen in C"  # comparable to hand-written programs, which pack weights before the call
COMPILED, JAX, ONNX = "torch.compile", "JAX scan", "ONNX Runtime"

Times = dict[str, float]


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes long")
    command.add_argument("--compile-timeout", type=float, default=60, metavar="S", help="for each row (default: 60)")
    command.add_argument("--samples", type=int, default=51, help="samples that a median is taken of (default: 51)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def one_thread() -> None:
    pin()
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    torch.set_num_threads(1)


def candidates(
    makers: Mapping[str, Callable[[], Call]], expected: Any, what: str, tolerance: float = 1e-4
) -> list[Candidate]:
    """Return the candidates that can run here, after comparing the result of each with `expected`."""
    made = []
    for name, make in makers.items():
        try:
            call = make()
        except Unavailable as reason:
            print(f"{name}, {what}: {reason}")
            continue
        _compare(call(), expected, tolerance)
        made.append(Candidate(name, call))
    return made


def _compare(result: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, tuple) and all(isinstance(each, torch.Tensor) for each in expected):  # gradients
        largest = max(float(each.abs().max()) for each in expected)
        for made, wanted in zip(result, expected, strict=True):
            _compare(made, wanted, tolerance * largest)
        return
    if isinstance(expected, torch.Tensor):
        result = torch.as_tensor(result).reshape(expected.shape)
    torch.testing.assert_close(result, expected, atol=tolerance, rtol=tolerance)


def inside(compiled: Any, frozen: Any, *inputs: Any) -> list[Candidate]:
    return [entered(INSIDE, compiled, *inputs), entered(INSIDE_FROZEN, frozen, *inputs)]


def entered(name: str, compiled: Any, *inputs: Any) -> Candidate:
    """Return a candidate that measures the time between entry and return of the compiled C."""
    clock = compiled._dispatcher.callable
    return Candidate(name, lambda: compiled(*inputs), lambda: clock.last_call_seconds)


def timed(row: Sequence[Candidate], samples: int, *, rounds: int = 5, more: Callable[[], Times] = dict) -> Times:
    """Return medians over all rounds. `more` measures, in each round, what runs outside of this process."""
    found = [{**medians(row, samples=max(1, samples // rounds)), **more()} for _ in range(rounds)]
    return {name: statistics.median(times[name] for times in found) for name in found[0]}


def show(rows: Mapping[str, Times], names: Sequence[str], ratios: Sequence[tuple[str, str]]) -> str:
    header = ["", *names, *(f"{a} / {b}" for a, b in ratios)]

    def cells(times: Times) -> Sequence[str]:
        quotients = (f"{times[a] / times[b]:.2f}" if a in times and b in times else "-" for a, b in ratios)
        return [*(microseconds(times.get(name)) for name in names), *quotients]

    return table(header, [[name, *cells(times)] for name, times in rows.items()], right=range(1, len(header)))
