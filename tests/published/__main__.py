"""python -m tests.published: compile the models of published packages, whole, and compare them with eager.

Each case runs in a process of its own, under a time limit. The extras `published` and `published-others` install
the packages.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .cases import Case

PACKAGES = ("transformers", "generate", "timm", "torchvision", "torchaudio", "other")


def cases_of(package: str) -> list[Case]:
    return list(importlib.import_module(f"{__package__}.{package}_cases").cases())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.published", description=__doc__)
    parser.add_argument("packages", nargs="*", default=PACKAGES, help=f"of {', '.join(PACKAGES)}; all if none is given")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="only these models")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one model")
    parser.add_argument("--out", type=Path, help="a file for one line of JSON for each model")
    parser.add_argument("--times", action="store_true", help="tell how many times faster than eager a warm call is")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        _work(*args.packages, args.only[0], timed=args.times)
        return
    listed = [(package, case.name) for package in args.packages for case in cases_of(package)]
    listed = [found for found in listed if not args.only or found[1] in args.only]
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(lambda found: _supervised(*found, args.timeout, timed=args.times), listed):
            counts[outcome["word"]] += 1
            print(f"{outcome['word']:10} {outcome['seconds']:6.1f} s  {outcome['name']}  {outcome['why'][:300]}", flush=True)
            if args.out:
                with args.out.open("a") as file:
                    file.write(json.dumps(outcome) + "\n")
    made = sum(counts.values()) - counts["unmade"]
    print(f"equal {counts['equal']} of {made}; {dict(counts)}")


def _work(package: str, name: str, *, timed: bool) -> None:
    from .check import check

    case = next(case for case in cases_of(package) if case.name == name)
    print("\n" + json.dumps(check(case, timed=timed)), flush=True)


def _supervised(package: str, name: str, limit: float, *, timed: bool = False) -> dict[str, object]:
    """Check a model in a process of its own."""
    command = [sys.executable, "-m", __package__, package, "--worker", "--only", name, *(["--times"] if timed else [])]
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, errors="replace")
        lines = done.stdout.strip().splitlines()
        word, why = json.loads(lines[-1]) if lines and lines[-1].startswith("[") else ("crashed", _end(done))
    except subprocess.TimeoutExpired:
        word, why = "endless", f"no result after {limit:.0f} s"
    return {"package": package, "name": name, "word": word, "why": why, "seconds": time.monotonic() - began}


def _end(done: subprocess.CompletedProcess[str]) -> str:
    return f"status {done.returncode}: {done.stderr.strip()[-300:]}"


if __name__ == "__main__":
    main()
