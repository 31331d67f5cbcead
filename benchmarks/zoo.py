"""The convolutional nets of examples/zoo: eager beside scriptc, one row per net, with its largest difference from eager."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, medians, microseconds, pin, save
from scriptc.inspect.text_table import table

EAGER, SCRIPTC, FROZEN = "eager", "scriptc", "scriptc frozen"


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--nets", nargs="+", metavar="NAME", help="rows of the table (default: all)")
    command.add_argument("--samples", type=int, default=7, help="samples that a median is taken of (default: 7)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    pin()
    import torch

    from examples.zoo import NETS

    torch.set_num_threads(1)
    rows: dict[str, dict[str, float]] = {}
    with torch.no_grad():
        for name in options.nets or NETS:
            rows[name] = _measure(NETS[name].full, options.samples)
    print(f"{cpu_model()}, one thread; microseconds of CPU time per call, medians of interleaved samples\n")
    print(_table(rows))
    save(options.json, rows)


def _measure(make: Any, samples: int) -> dict[str, float]:
    import scriptc

    net, *args = make()
    expected = net(*args)
    candidates = [Candidate(EAGER, partial(net, *args))]
    worst = 0.0
    for name, compiled in ((SCRIPTC, scriptc.compile(net)), (FROZEN, scriptc.compile(net, freeze=True))):
        result = compiled(*args)
        worst = max(worst, ((result - expected).abs().max() / expected.abs().max()).item())
        candidates.append(Candidate(name, partial(compiled, *args)))
    times = medians(candidates, samples=samples, timer=time.thread_time)
    return {**times, "difference": worst}


def _table(rows: dict[str, dict[str, float]]) -> str:
    header = ["net", EAGER, SCRIPTC, FROZEN, f"{EAGER} / {FROZEN}", "largest difference / largest result"]
    cells = [
        [
            name,
            *(microseconds(t[k]) for k in (EAGER, SCRIPTC, FROZEN)),
            f"{t[EAGER] / t[FROZEN]:.2f}",
            f"{t['difference']:.1e}",
        ]
        for name, t in rows.items()
    ]
    return table(header, cells, right=range(1, len(header)))
