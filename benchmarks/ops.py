"""Single operators on medium sizes (see op_cases.py): eager beside scriptc, one row per operator."""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from pathlib import Path

from benchmarks.harness import Candidate, cpu_model, medians, microseconds, pin, save
from scriptc.inspect.text_table import table

EAGER, SCRIPTC = "eager", "scriptc"


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain this")
    command.add_argument("--samples", type=int, default=21, help="samples that a median is taken of (default: 21)")
    command.add_argument("--json", type=Path, metavar="FILE", help="also save the numbers")


def run(options: argparse.Namespace) -> None:
    pin()
    import torch

    import scriptc
    from benchmarks.op_cases import CASES, inputs

    torch.set_num_threads(1)
    rows: dict[str, dict[str, float]] = {}
    with torch.no_grad():
        tensors = inputs()
        for case in (case for case in CASES if options.only in case.name):
            args = [tensors[name] for name in case.inputs]
            compiled = scriptc.compile(case.function)
            torch.testing.assert_close(compiled(*args), case.function(*args), atol=2e-4, rtol=1e-4)
            both = [Candidate(EAGER, partial(case.function, *args)), Candidate(SCRIPTC, partial(compiled, *args))]
            rows[case.name] = medians(both, samples=options.samples, timer=time.thread_time)
    ratios = {name: times[EAGER] / times[SCRIPTC] for name, times in rows.items()}
    print(f"{cpu_model()}, one thread; microseconds of CPU time per call, medians of interleaved samples\n")
    cells = [[n, microseconds(t[EAGER]), microseconds(t[SCRIPTC]), f"{ratios[n]:.2f}"] for n, t in rows.items()]
    print(table(["operator", EAGER, SCRIPTC, f"{EAGER} / {SCRIPTC}"], cells, right=range(1, 4)))
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"\ngeometric mean {mean:.2f}, {sum(r < 1 for r in ratios.values())} of {len(ratios)} below 1")
    save(options.json, rows)
