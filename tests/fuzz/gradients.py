"""`python -m tests.fuzz.gradients [--count N] [--seed S] [--jobs J]`: exits 1 where gradients of compiled code and of eager
differ.

A seed determines its program, levels included. A run can be cut anywhere and gone on with, and `--seed S --count 1` repeats
one program.
"""

from __future__ import annotations

import sys

from tests.fuzz.command import parser_of, run
from tests.fuzz.gradient_batch import PER_LIBRARY, gradient_program


def main() -> int:
    options = parser_of("python -m tests.fuzz.gradients", __doc__, 5_000, "build/fuzz-gradients").parse_args()
    return run(lambda seed: gradient_program(seed, options.levels), options, PER_LIBRARY)


if __name__ == "__main__":
    sys.exit(main())
