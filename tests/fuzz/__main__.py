"""`python -m tests.fuzz [--count N] [--seed S] [--jobs J] [--only NAMES]`: exits 1 where compiled code and Python differ.

A seed determines its program, levels included, for the productions that are chosen. A run can be cut anywhere and gone on
with, and `--seed S --count 1` repeats one program.
"""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.batch import PER_LIBRARY, program
from tests.fuzz.command import parser_of, run
from tests.fuzz.productions import PRODUCTIONS, chosen


def _productions(names: str) -> frozenset[str]:
    try:
        return chosen(names.split(","))
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from e


def main() -> int:
    parser = parser_of("python -m tests.fuzz", __doc__, 20_000, "build/fuzz")
    parser.add_argument("--only", type=_productions, default=frozenset(), metavar="NAMES",
                        help=f"productions beside the core, with commas: {', '.join(PRODUCTIONS)} (default: all)")  # fmt: skip
    options = parser.parse_args()
    return run(lambda seed: program(seed, options.levels, options.only), options, PER_LIBRARY)


if __name__ == "__main__":
    sys.exit(main())
