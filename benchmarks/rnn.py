"""Recurrent nets beside other systems, and beside C that a person wrote: one row per size."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, built, cpu_model, medians, microseconds, pin, save
from scriptc.tables import table

FLOOR = Path(__file__).parent / "floor" / "rnn_floor.c"
FLOOR_FLAGS = (
    "-std=gnu11 -O3 -march=native -mprefer-vector-width=512 -Wno-psabi -ffp-contract=fast -fno-math-errno "
    "-fno-trapping-math -ffinite-math-only -fno-signed-zeros"
).split()
SCRIPTC, FROZEN, INSIDE, BY_HAND = "scriptc", "scriptc frozen", "scriptc in C", "by hand"
ROUNDS = 5  # the program by hand takes turns with all others
RATIOS = (("eager", SCRIPTC), ("jit frozen", SCRIPTC), (SCRIPTC, BY_HAND), (INSIDE, BY_HAND))


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes long")
    command.add_argument("--compile-timeout", type=float, default=60, metavar="S", help="for each size (default: 60)")
    command.add_argument("--sizes", type=int, nargs="+", choices=range(4), default=range(4), help="rows of the table")
    command.add_argument("--samples", type=int, default=51, help="samples that a median is taken of (default: 51)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    pin()
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import torch

    from benchmarks.models import ELMAN

    torch.set_num_threads(1)
    rows: dict[str, dict[str, float]] = {}
    with torch.no_grad(), built(FLOOR, FLOOR_FLAGS) as floor:
        for index in options.sizes:
            rows[str(ELMAN[index])] = _measure(ELMAN[index], floor, options)
    print(f"{cpu_model()}, one thread; microseconds per sequence, medians of interleaved samples\n")
    print(_table(rows))
    save(options.json, rows)


def _measure(size: Any, floor: Path, options: argparse.Namespace) -> dict[str, float]:
    import torch

    import scriptc
    from benchmarks import rivals
    from benchmarks.models import elman

    model, inputs = elman(size)
    compiled: Any = scriptc.compile(model)
    frozen: Any = scriptc.compile(model, freeze=True)
    expected = model(inputs)
    makers: dict[str, Callable[[], Callable[[], Any]]] = {
        "eager": lambda: lambda: model(inputs),
        "jit frozen": lambda: rivals.frozen_script(model, inputs),
        "JAX scan": lambda: rivals.jax_scan(model, inputs),
        "ONNX Runtime": lambda: rivals.onnx_runtime(model, inputs),
        SCRIPTC: lambda: lambda: compiled(inputs),
        FROZEN: lambda: lambda: frozen(inputs),
    }
    if not options.no_compile:
        makers["torch.compile"] = lambda: rivals.torch_compile(model, inputs, options.compile_timeout)
    candidates = []
    for name, make in makers.items():
        try:
            call = make()
        except rivals.Unavailable as reason:
            print(f"{name}, {size}: {reason}")
            continue
        result = torch.as_tensor(call()).reshape(expected.shape)
        torch.testing.assert_close(result, expected, atol=1e-4, rtol=1e-4)
        candidates.append(Candidate(name, call))
    clock = compiled._dispatcher.callable
    candidates.append(Candidate(INSIDE, lambda: compiled(inputs), lambda: clock.last_call_seconds))
    rounds = []
    for _ in range(ROUNDS):
        times = medians(candidates, samples=max(1, options.samples // ROUNDS))
        rounds.append({**times, BY_HAND: _floor(floor, size)})
    return {name: statistics.median(times[name] for times in rounds) for name in rounds[0]}


def _floor(program: Path, size: Any) -> float:
    """Seconds of the faster of its two plans."""
    sizes = map(str, (size.batch, size.input, size.hidden, size.steps, 15))
    done = subprocess.run([str(program), *sizes], check=True, capture_output=True, text=True)
    return min(float(line.split()[1]) for line in done.stdout.splitlines()) * 1e-6


def _table(rows: dict[str, dict[str, float]]) -> str:
    names = ["eager", "jit frozen", "torch.compile", "JAX scan", "ONNX Runtime", SCRIPTC, FROZEN, INSIDE, BY_HAND]
    header = ["size", *names, *(f"{a} / {b}" for a, b in RATIOS)]

    def cells(times: dict[str, float]) -> Sequence[str]:
        ratios = (f"{times[a] / times[b]:.2f}" if a in times and b in times else "-" for a, b in RATIOS)
        return [*(microseconds(times.get(name)) for name in names), *ratios]

    return table(header, [[size, *cells(times)] for size, times in rows.items()], right=range(1, len(header)))
