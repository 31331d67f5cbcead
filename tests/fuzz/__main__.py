"""`python -m tests.fuzz [--count N] [--seed S] [--optimize L]`: exits 1 where compiled code and Python differ."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.batch import PER_LIBRARY, Tally, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="programs (default: 20000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--optimize", type=int, default=None, help="0 to 3 (default: libraries take turns)")
    parser.add_argument("--show", type=int, default=5, help="findings that are printed with their source")
    options = parser.parse_args()
    tally, start = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        for number, first in enumerate(range(options.seed, options.seed + options.count, PER_LIBRARY)):
            seeds = list(range(first, min(first + PER_LIBRARY, options.seed + options.count)))
            level = (0, 3, 1, 2)[number % 4] if options.optimize is None else options.optimize
            run(seeds, Path(directory), level, tally)
            if number % 25 == 24:
                print(f"{tally.programs} programs, {len(tally.findings)} findings", flush=True)
    for finding in tally.findings[: options.show]:
        print(f"\n--- seed {finding.seed}: {finding.kind}: {finding.message[:600]}\n{finding.source}")
    print(f"\n{tally.programs} programs, {tally.calls} calls ({tally.raised} raise) in {time.monotonic() - start:.0f} s: "
          f"{len(tally.findings)} findings, {sum(tally.refused.values())} programs refused, "
          f"{tally.overflows} overflows of 64-bit ints")  # fmt: skip
    for reason, count in tally.refused.most_common(12):
        print(f"{count:6} {reason}")
    if tally.findings:
        print("seeds:", *(f.seed for f in tally.findings))
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
