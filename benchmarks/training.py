"""Forward and backward of recurrent cells, and of torch's own layers: eager, torch.jit.script and scriptc."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, save

EAGER, JIT, SCRIPTC, FORWARD = "eager", "jit", "scriptc", "scriptc forward"
CELLS = ("LSTM", "GRU", "layer-norm LSTM", "SRU", "minGRU", "IndRNN")
LAYERS = ("nn.LSTM", "nn.GRU")


def add_options(command: argparse.ArgumentParser) -> None:
    names = (*CELLS, *LAYERS)
    command.add_argument("--cells", nargs="+", choices=names, default=list(names), metavar="CELL", help=", ".join(names))
    command.add_argument("--batch", type=int, nargs="+", default=[1, 32])
    command.add_argument("--hidden", type=int, nargs="+", default=[64, 128, 256])
    command.add_argument("--steps", type=int, default=100)
    command.add_argument("--samples", type=int, default=15, help="samples that a median is taken of (default: 15)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing

    comparing.one_thread()
    rows: dict[str, dict[str, float]] = {}
    for name in options.cells:
        for hidden in options.hidden:
            for batch in options.batch:
                rows[f"{name}, {hidden} units, batch {batch}"] = _measure(name, batch, hidden, options)
    print(f"{cpu_model()}, one thread; {options.steps} steps; microseconds, medians of interleaved samples\n")
    print(comparing.show(rows, [EAGER, JIT, SCRIPTC, FORWARD], [(EAGER, SCRIPTC), (JIT, SCRIPTC), (SCRIPTC, FORWARD)]))
    speedups = [times[EAGER] / times[SCRIPTC] for times in rows.values()]
    print(f"\neager / scriptc, geometric mean: {math.prod(speedups) ** (1 / len(speedups)):.1f}")
    save(options.json, rows)


def _model(name: str, batch: int, hidden: int, steps: int) -> tuple[Any, Any]:
    """Return a model and a sequence for it, which needs no gradient."""
    import torch

    from benchmarks.models import CASES, Size, cell

    if name in LAYERS:
        torch.manual_seed(0)
        return getattr(torch.nn, name.removeprefix("nn."))(hidden // 2, hidden), torch.randn(steps, batch, hidden // 2)
    model, inputs, _ = cell(CASES[name], Size(batch, hidden // 2, hidden, steps))
    return model.train(), inputs[0]


def _measure(name: str, batch: int, hidden: int, options: argparse.Namespace) -> dict[str, float]:
    import torch

    import scriptc
    from benchmarks import comparing

    model, xs = _model(name, batch, hidden, options.steps)
    parameters = list(model.parameters())

    def gradients(target: Callable[..., Any]) -> Callable[[], Any]:
        def both() -> Any:
            result = target(xs)
            result = result if isinstance(result, torch.Tensor) else result[0]
            return torch.autograd.grad(result.square().mean(), parameters)

        return both

    compiled: Any = scriptc.compile(model)
    targets = {EAGER: model, SCRIPTC: compiled}
    if name not in LAYERS:
        targets[JIT] = torch.jit.script(model)
    row = comparing.candidates({key: lambda t=t: gradients(t) for key, t in targets.items()}, gradients(model)(), name)

    def forward() -> None:
        with torch.no_grad():
            compiled(xs)

    return comparing.timed([*row, Candidate(FORWARD, forward)], options.samples)
