"""Forward and backward of convolutions, pools and norms, and of whole convolutional nets: eager and scriptc, one thread."""

from __future__ import annotations

import argparse
import copy
import math
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, medians, save
from scriptc.inspect.text_table import table

EAGER, SCRIPTC, EAGER_FORWARD, SCRIPTC_FORWARD = "eager", "scriptc", "eager forward", "scriptc forward"
TOLERANCE = 2e-2  # of a gradient's norm: an activation that is rounded to the other side of 0 changes the gradients below it


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--part", choices=("layers", "nets"), nargs="+", default=["layers", "nets"])
    command.add_argument("--only", nargs="+", metavar="TEXT", help="rows whose names contain one of these")
    command.add_argument("--samples", type=int, default=9, help="samples that a median is taken of (default: 9)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    from benchmarks import comparing

    comparing.one_thread()
    from benchmarks.convolution_models import LAYERS, NETS

    makers = {name: make for part in options.part for name, make in (LAYERS if part == "layers" else NETS).items()}
    rows = {}
    for name, make in makers.items():
        if options.only and not any(text in name for text in options.only):
            continue
        rows[name] = _measure(make, name, options.samples)
        print(f"{name}: {rows[name][SCRIPTC] / rows[name][EAGER]:.2f} of eager's time", flush=True)
        save(options.json, rows)
    print(f"\n{cpu_model()}, one thread; ms of forward and backward, medians of interleaved samples of the thread's time\n")
    cells = [
        [name, f"{t[EAGER] * 1e3:.2f}", f"{t[SCRIPTC] * 1e3:.2f}", f"{t[EAGER] / t[SCRIPTC]:.2f}",
         f"{t[EAGER_FORWARD] / t[SCRIPTC_FORWARD]:.2f}"]
        for name, t in rows.items()
    ]  # fmt: skip
    print(table(["", EAGER, SCRIPTC, "eager / scriptc", "forward alone"], cells, right=range(1, 5)))
    if rows:
        mean = math.prod(t[EAGER] / t[SCRIPTC] for t in rows.values()) ** (1 / len(rows))
        print(f"\ngeometric mean of eager / scriptc: {mean:.2f}")


def _measure(make: Any, name: str, samples: int) -> dict[str, float]:
    import torch

    import scriptc
    from benchmarks.convolution_models import calls

    torch.manual_seed(0)
    model, x = make()
    own = copy.deepcopy(model)
    torch.manual_seed(1)
    eager_forward, eager = calls(model, model, x)
    torch.manual_seed(1)
    forward, both = calls(scriptc.compile(own), own, x)
    expected, got = eager(), both()
    largest = max(float(each.norm()) for each in expected)
    for a, b in zip(got, expected, strict=True):
        difference = float((a - b).norm()) / max(float(b.norm()), 1e-3 * largest)  # a bias before a norm has no gradient
        assert difference < TOLERANCE, f"{name}: gradients differ by {difference:.1e}"
    candidates = [
        Candidate(EAGER, eager), Candidate(SCRIPTC, both), Candidate(EAGER_FORWARD, eager_forward),
        Candidate(SCRIPTC_FORWARD, forward),
    ]  # fmt: skip
    return medians(candidates, samples=samples, seconds=0.004, timer=time.thread_time)
