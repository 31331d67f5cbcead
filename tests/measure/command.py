"""The command of a measure: runs its entries in worker processes, counts, says why the others do not pass, reports."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from .outcome import Outcome, Program, run_call, run_calls
from .report import PAGE, write_section
from .source import together

_WORKER = "--worker"


@dataclass(frozen=True)
class Measure:
    """A table of entries, each with calls.

    package: what `python -m` runs. variants: what the entries are run under, such as a dtype; the first is the default.
    names(variant): the entries that count. calls(name, variant, count, directory): the first calls of one.
    title, intro: of the section in results.md, formatted with `variant`, `count`, and `passed` and `total`.
    check: compares one call with eager at an opt level, as `run_call` does. runs: makes and checks the calls of an entry.
    """

    package: str
    variants: Sequence[str]
    names: Callable[[str], list[str]]
    calls: Callable[[str, str, int, Path], list[Program]]
    samples: int
    title: str
    intro: str
    check: Callable[[Program, int], int | None] = run_call
    runs: Callable[..., Outcome] = run_calls

    def run(self, name: str, variant: str, count: int, directory: Path, optimize: int = 0) -> Outcome:
        return self.runs(name, lambda: self.calls(name, variant, count, directory), optimize, self.check)

    def title_of(self, variant: str) -> str:
        return self.title.format(variant=variant)


def main(measure: Measure, description: str | None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {measure.package}", description=description)
    parser.add_argument("names", nargs="*", help="only these entries")
    parser.add_argument("--variant", "--dtype", choices=measure.variants, default=measure.variants[0])
    parser.add_argument("--samples", type=int, default=measure.samples, help="calls per entry, from the first")
    parser.add_argument("--optimize", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--together", type=int, default=0, metavar="N", help="N entries in a build, by itself what fails")
    parser.add_argument("-v", action="store_true", help="print each call that fails, as it does")
    parser.add_argument("--report", action="store_true", help=f"write what does not pass, and why, to {PAGE.name}")
    parser.add_argument(_WORKER, action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.names or measure.names(args.variant)
    if args.worker:
        _work(measure, names, args)
        return
    with ThreadPoolExecutor(args.jobs) as pool:
        parts = pool.map(lambda i: _supervise(measure, names[i :: args.jobs], args), range(args.jobs))
        outcomes = sorted((o for part in parts for o in part), key=lambda o: names.index(o.name))
    _print(outcomes)
    if args.report:
        intro = measure.intro.replace("{variant}", args.variant).replace("{count}", str(args.samples))
        write_section(measure.title_of(args.variant), intro, outcomes)


def _work(measure: Measure, names: list[str], args: argparse.Namespace) -> None:
    """In a process of its own: a line of JSON before each entry and one behind it."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="measure-") as directory:
        step = args.together or 1
        for at in range(0, len(names), step):
            part = names[at : at + step]
            outcomes = _together(measure, part, args, Path(directory)) if step > 1 else None
            for i, name in enumerate(part):
                print(json.dumps({"begins": name}), flush=True)
                if outcomes is not None:
                    outcome = outcomes[i]
                else:
                    outcome = measure.run(name, args.variant, args.samples, Path(directory), args.optimize)
                print(json.dumps(vars(outcome)), flush=True)


def _together(measure: Measure, names: list[str], args: argparse.Namespace, directory: Path) -> list[Outcome] | None:
    """What becomes of entries all of whose calls pass in one build; None where some do not, or have other strides."""
    try:
        calls = [measure.calls(name, args.variant, args.samples, directory) for name in names]
        everything = together("together_" + names[0].replace(".", "_"), [p for own in calls for p in own], directory)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if not all(calls) or measure.check(everything, args.optimize) != 0:
                return None
    except Exception:
        return None
    return [Outcome(name, passed=len(own)) for name, own in zip(names, calls, strict=True)]


def _supervise(measure: Measure, names: list[str], args: argparse.Namespace) -> list[Outcome]:
    """Runs a worker, and another one behind each entry that ends it."""
    found: list[Outcome] = []
    pending = list(names)
    while pending:
        command = [sys.executable, "-m", measure.package, _WORKER, "--variant", args.variant, "--samples", str(args.samples),
                   "--optimize", str(args.optimize), "--together", str(args.together), *pending]  # fmt: skip
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
