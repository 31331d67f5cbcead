"""The command lines of the fuzzers: they run programs by seed, tell what becomes of them, and write those that fail."""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.batch import Program, Report, reason, stage
from tests.fuzz.children import run_batches
from tests.fuzz.minimise import minimised


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
            f"{self.kinds['order']} depend on the order of writes{self._of_gradients()}"
        )

    def _of_gradients(self) -> str:
        """Tell how many programs of the fuzzer of gradients compare less than others (`Report`)."""
        kinds = ("written", "flat", "raised", "rounded", "zeroed")
        return "".join(f", {self.kinds[kind]} {kind}" for kind in kinds if self.kinds[kind])


def run(make: Callable[[int], Program], options: argparse.Namespace, per_library: int) -> int:
    """Run the programs of some seeds, tell what becomes of them, and return the exit status."""
    tally, said = Tally(options.seed, options.count), 0.0
    ends = range(options.seed - options.seed % per_library, tally.end, per_library)
    batches = ([make(s) for s in range(max(e, options.seed), min(e + per_library, tally.end))] for e in ends)
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


def parser_of(prog: str, text: str | None, count: int, out: str) -> argparse.ArgumentParser:
    """Return the parser of the options that all fuzzers have. count, out: defaults."""
    parser = argparse.ArgumentParser(prog=prog, description=text)
    parser.add_argument("--count", type=int, default=count, help=f"programs (default: {count})")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--levels", type=_levels, help="of passes and C compiler, as in 3,0 (default: libraries take turns)")
    parser.add_argument("--out", type=Path, default=Path(out), help=f"folder for what fails (default: {out})")
    parser.add_argument("--minimise", type=float, default=60, metavar="SECONDS", help="to make each smaller (default: 60)")
    return parser


def _levels(text: str) -> tuple[int, int]:
    passes, cc = map(int, text.split(","))
    return passes, cc


def _write(report: Report, folder: Path, seconds: float) -> Path:
    """A failing program, made smaller, with what is known of it."""
    folder.mkdir(parents=True, exist_ok=True)
    p, small = report.program, minimised(report, seconds) if seconds else report.program
    where = ""
    if report.kind == "differs" and not p.gradients:
        with tempfile.TemporaryDirectory() as directory:
            where = f"# {stage(small, Path(directory))}\n"
    message = "\n".join(f"# {line}" for line in report.message.splitlines()[:40])
    path = folder / f"{p.seed}.py"
    head = f"# {report.kind}, passes at {p.passes}, C at -O{p.cc}\n{where}{message}"
    path.write_text(f"{head}\n\n{small.text}\n\n# ---- as generated\n{p.text}")
    return path

