"""`python -m tests.fuzz.gradients [--grammar G] [--count N] [--seed S] [--jobs J]`: exits 1 where gradients of compiled code
and of eager differ. The grammars are rows, parts (which adds to rows), layers and arguments (which takes containers).

A seed determines its program, levels included. A run can be cut anywhere and gone on with, and `--seed S --count 1` repeats
one program.
"""

from __future__ import annotations

import sys

from tests.fuzz.command import parser_of, run
from tests.fuzz.gradient_batch import GRAMMARS, PER_LIBRARY


def main() -> int:
    parser = parser_of("python -m tests.fuzz.gradients", __doc__, 5_000, "build/fuzz-gradients")
    parser.add_argument("--grammar", choices=GRAMMARS, default="rows", help="of the programs (default: rows)")
    options = parser.parse_args()
    return run(lambda seed: GRAMMARS[options.grammar](seed, options.levels), options, PER_LIBRARY)


if __name__ == "__main__":
    sys.exit(main())
