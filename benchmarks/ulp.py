"""The error of the float functions of sc_math.h, over all float32 inputs or every n-th."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import built
from scriptc import runtime
from scriptc.backend_c.toolchain import compile_flags

PROGRAM = Path(__file__).parent.parent / "tests" / "runtime" / "ulp.c"


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--step", type=int, default=1, help="take every n-th input (default: all, some minutes)")


def run(options: argparse.Namespace) -> None:
    flags = [*compile_flags(3, False), f"-I{runtime.INCLUDE_DIR}", f"-I{runtime.SOURCE_DIR}"]
    with built(PROGRAM, flags) as program:
        sys.exit(subprocess.run([str(program), str(options.step)]).returncode)
