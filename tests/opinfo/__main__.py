"""python -m tests.opinfo: counts the ops whose samples all agree with eager, and says why the others do not."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from .programs import listed_ops
from .report import write_report
from .run import Outcome, run_op

_WORKER = "--worker"


def _work(names: list[str], dtype: torch.dtype, count: int, optimize: int) -> None:
    """In a process of its own: a line of JSON before each op and one behind it."""
    ops = listed_ops()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="opinfo-") as directory:
        for name in names:
            print(json.dumps({"begins": name}), flush=True)
            outcome = run_op(ops[name], dtype, count, Path(directory), optimize)
            print(json.dumps(vars(outcome)), flush=True)


def _supervise(names: list[str], args: argparse.Namespace) -> list[Outcome]:
    """Runs a worker, and another one behind each op that ends it."""
    found: list[Outcome] = []
    pending = list(names)
    while pending:
        command = [sys.executable, "-m", "tests.opinfo", _WORKER, "--dtype", args.dtype, "--samples", str(args.samples),
                   "--optimize", str(args.optimize), *pending]  # fmt: skip
        running = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                if not line.startswith("{"):
                    continue
                message = json.loads(line)
                if "begins" in message:
                    running = message["begins"]
                    continue
                found.append(Outcome(message["name"], message["passed"],
                                     [(r, t) for r, t in message["reasons"]], message["strides"]))  # fmt: skip
                if args.v:
                    _print_failures(found[-1])
                pending.remove(message["name"])
                running = None
        if running is not None:
            found.append(Outcome(running, 0, [(f"the process ended with status {worker.returncode}", "")]))
            pending.remove(running)
        elif worker.returncode:
            raise SystemExit(f"a worker ended with status {worker.returncode}")
    return found


def _print_failures(outcome: Outcome) -> None:
    for text, call in outcome.reasons:
        print(f"{outcome.name}: {text}\n    {call[:300]}", flush=True)


def _print(outcomes: list[Outcome]) -> None:
    groups: dict[str, list[str]] = defaultdict(list)
    for o in outcomes:
        for text in dict.fromkeys(r for r, _ in o.reasons):
            groups[text].append(o.name)
    for text, names in sorted(groups.items(), key=lambda g: -len(g[1])):
        print(f"{len(names):4} {text}: {' '.join(names)}")
    passing = [o for o in outcomes if o.ok]
    empty = [o.name for o in outcomes if not o.reasons and not o.passed]
    print(
        f"passed {len(passing)} of {len(outcomes)}; with other strides somewhere {sum(o.strides > 0 for o in passing)}"
    )
    if empty:
        print(f"without a sample that eager takes: {' '.join(empty)}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.opinfo", description=__doc__)
    parser.add_argument("ops", nargs="*", help="only these ops")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=6, help="samples per op, from the first")
    parser.add_argument("--optimize", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", action="store_true", help="print each sample that fails, as it does")
    parser.add_argument("--passing", type=Path, help="write the names of the ops that pass here")
    parser.add_argument("--report", type=Path, help="write what does not pass, and why, as Markdown")
    parser.add_argument(_WORKER, action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.ops or list(listed_ops())
    if args.worker:
        _work(names, getattr(torch, args.dtype), args.samples, args.optimize)
        return
    with ThreadPoolExecutor(args.jobs) as pool:
        parts = pool.map(lambda i: _supervise(names[i :: args.jobs], args), range(args.jobs))
        outcomes = sorted((o for part in parts for o in part), key=lambda o: names.index(o.name))
    _print(outcomes)
    if args.passing:
        args.passing.write_text("".join(f"{o.name}\n" for o in outcomes if o.ok))
    if args.report:
        write_report(args.report, outcomes, args.dtype, args.samples)


main()
