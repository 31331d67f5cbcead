"""`python -m tests.fuzz [--count N] [--seed S] [--jobs J] [--only NAMES]`: exits 1 where compiled code and Python differ.

A seed determines its program, levels included, for the productions that are chosen. A run can be cut anywhere and gone on
with, and `--seed S --count 1` repeats one program.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.batch import PER_LIBRARY, Report, program, reason, stage
from tests.fuzz.children import run_batches
from tests.fuzz.minimise import minimised
from tests.fuzz.productions import PRODUCTIONS, chosen


class Tally:
    """Of one run: what became of its programs, and up to which seed all have been run."""

    def __init__(self, seed: int, count: int):
        self.start, self.first, self.end = time.monotonic(), seed, seed + count
        self.kinds: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.examples: dict[str, int] = {}  # by reason of a refusal: a seed
        self.calls = self.raised = 0
        self.findings: list[Report] = []
        self.done: set[int] = set()
        self.next = seed

    def add(self, reports: list[Report]) -> None:
        for report in reports:
            self.kinds[report.kind] += 1
            self.calls += report.calls
            self.raised += report.raised
            self.done.add(report.program.seed)
            if report.kind == "refused":
                self.refused[reason(report.message)] += 1
                self.examples.setdefault(reason(report.message), report.program.seed)
            elif report.is_finding:
                self.findings.append(report)
        while self.next in self.done:
            self.done.remove(self.next)
            self.next += 1

    def __str__(self) -> str:
        programs, seconds = self.kinds.total(), time.monotonic() - self.start
        return (
            f"{programs} programs in {seconds:.0f} s ({seconds / max(programs, 1):.3f} s each), {self.calls} calls "
            f"({self.raised} raise): {len(self.findings)} wrong, {self.kinds['refused']} refused "
            f"({100 * self.kinds['refused'] / max(programs, 1):.1f} %), {self.kinds['wide']} use ints beyond 64 bits, "
            f"{self.kinds['order']} depend on the order of writes"
        )


def _productions(names: str) -> frozenset[str]:
    try:
        return chosen(names.split(","))
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from e


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="programs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--levels", help="of passes and C compiler, as in 3,0 (default: libraries take turns)")
    parser.add_argument("--only", type=_productions, default=frozenset(), metavar="NAMES",
                        help=f"productions beside the core, with commas: {', '.join(PRODUCTIONS)} (default: all)")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for what fails (default: build/fuzz)")
    parser.add_argument("--minimise", type=float, default=60, metavar="SECONDS", help="to make each smaller (default: 60)")
    options = parser.parse_args()
    levels = tuple(map(int, options.levels.split(","))) if options.levels else None
    tally, said = Tally(options.seed, options.count), 0.0
    ends = range(options.seed - options.seed % PER_LIBRARY, tally.end, PER_LIBRARY)
    batches = ([program(s, levels, options.only) for s in range(max(e, options.seed), min(e + PER_LIBRARY,
        tally.end))] for e in ends)
    for reports in run_batches(batches, options.jobs):
        tally.add(reports)
        for report in (r for r in reports if r.is_finding):
            print(f"\nseed {report.program.seed}: {report.kind}: {report.message[:300]}", flush=True)
            print(f"written to {_write(report, options.out, options.minimise)}\n", flush=True)
        if time.monotonic() - said > 15:
            said = time.monotonic()
            print(f"{tally}; go on with --seed {tally.next} --count {tally.end - tally.next}", flush=True)
    print(f"\nseeds {options.seed} to {tally.end - 1}: {tally}")
    for why, count in itertools.islice(tally.refused.most_common(), 25):
        print(f"{count:6} refused, as seed {tally.examples[why]}: {why}")
    if tally.findings:
        print("wrong:", *(f"{f.program.seed} ({f.kind})" for f in tally.findings))
    return 1 if tally.findings else 0


def _write(report: Report, folder: Path, seconds: float) -> Path:
    """A failing program, made smaller, with what is known of it."""
    folder.mkdir(parents=True, exist_ok=True)
    p, small = report.program, minimised(report, seconds) if seconds else report.program
    where = ""
    if report.kind == "differs":
        with tempfile.TemporaryDirectory() as directory:
            where = f"# {stage(small, Path(directory))}\n"
    message = "\n".join(f"# {line}" for line in report.message.splitlines()[:40])
    path = folder / f"{p.seed}.py"
    head = f"# {report.kind}, passes at {p.passes}, C at -O{p.cc}\n{where}{message}"
    path.write_text(f"{head}\n\n{small.text}\n\n# ---- as generated\n{p.text}")
    return path


if __name__ == "__main__":
    sys.exit(main())
