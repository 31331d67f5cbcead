"""Recurrent nets beside other systems, and beside C that a person wrote: one row per size."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import built, cpu_model, save


def add_options(command: argparse.ArgumentParser) -> None:
    from benchmarks import comparing

    command.add_argument("--sizes", type=int, nargs="+", choices=range(4), default=range(4), help="rows of the table")
    comparing.add_options(command)


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing

    comparing.one_thread()
    import torch

    from benchmarks.floors import DIRECTORY, FLAGS
    from benchmarks.models import ELMAN

    rows: dict[str, dict[str, float]] = {}
    with torch.no_grad(), built(DIRECTORY / "rnn_floor.c", FLAGS) as floor:
        for index in options.sizes:
            rows[str(ELMAN[index])] = _measure(ELMAN[index], floor, options)
    print(f"{cpu_model()}, one thread; microseconds per sequence, medians of interleaved samples\n")
    names = [comparing.EAGER, comparing.JIT, comparing.COMPILED, comparing.JAX, comparing.ONNX, comparing.SCRIPTC,
             comparing.FROZEN, comparing.INSIDE, comparing.INSIDE_FROZEN, comparing.BY_HAND]  # fmt: skip
    pairs = ((comparing.EAGER, comparing.SCRIPTC), (comparing.JIT, comparing.SCRIPTC),
             (comparing.SCRIPTC, comparing.BY_HAND), (comparing.INSIDE, comparing.BY_HAND),
             (comparing.INSIDE_FROZEN, comparing.BY_HAND))  # fmt: skip
    print(comparing.show(rows, names, pairs))
    save(options.json, rows)


def _measure(size: Any, floor: Path, options: argparse.Namespace) -> dict[str, float]:
    import scriptc
    from benchmarks import comparing, rivals
    from benchmarks.models import elman

    model, inputs = elman(size)
    compiled: Any = scriptc.compile(model)
    frozen: Any = scriptc.compile(model, freeze=True)
    makers: dict[str, Callable[[], rivals.Call]] = {
        comparing.EAGER: lambda: lambda: model(inputs),
        comparing.JIT: lambda: rivals.frozen_script(model, inputs),
        comparing.JAX: lambda: rivals.jax_scan(model, inputs),
        comparing.ONNX: lambda: rivals.onnx_runtime(model, inputs),
        comparing.SCRIPTC: lambda: lambda: compiled(inputs),
        comparing.FROZEN: lambda: lambda: frozen(inputs),
    }
    if not options.no_compile:
        makers[comparing.COMPILED] = lambda: rivals.torch_compile(model, inputs, timeout=options.compile_timeout)
    row = comparing.candidates(makers, model(inputs), str(size))
    row += comparing.inside(compiled, frozen, inputs)
    return comparing.timed(row, options.samples, more=lambda: {comparing.BY_HAND: _floor(floor, size)})


def _floor(program: Path, size: Any) -> float:
    """Return the seconds of the faster plan of the program by hand."""
    sizes = map(str, (size.batch, size.input, size.hidden, size.steps, 15))
    done = subprocess.run([str(program), *sizes], check=True, capture_output=True, text=True)
    return min(float(line.split()[1]) for line in done.stdout.splitlines()) * 1e-6
