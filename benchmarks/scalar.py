"""Programs of numbers and lists: CPython, scriptc, and C written by hand with the same checks at -O2."""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import Candidate, cpu_model, medians, pin, save

_FLOOR = Path(__file__).parent / "floor" / "scalar_floor.c"
_DECLARATIONS = """
void fizzbuzz(int64_t n, int64_t out[4]);
int64_t edit_distance(const int64_t *a, int64_t n, const int64_t *b, int64_t m);
void viterbi(const int64_t *observed, int64_t steps, const double *start, int64_t states, const double *transition,
             const double *emission, int64_t symbols, int64_t *path);
int64_t prefix_search(const double *probabilities, int64_t steps, int64_t classes, int64_t width, int64_t *path,
                      double *score);
int64_t sieve(int64_t n);
int64_t tokenize(const char *input, int64_t n, char *out);
"""


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--samples", type=int, default=21, help="rounds (default: 21)")
    command.add_argument("--json", type=Path, help="also write the numbers to this file")


def run(options: argparse.Namespace) -> None:
    pin()
    import scriptc
    from benchmarks import scalar_programs
    from scriptc.inspect.text_table import table

    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for name, (args, by_hand) in _programs(*_floor(Path(directory))).items():
            function: Callable[..., Any] = getattr(scalar_programs, name)
            compiled: Callable[..., Any] = scriptc.compile(function)
            expected = function(*args)
            for what, found in (("scriptc", compiled(*args)), ("C by hand", by_hand())):
                if found != expected:
                    raise AssertionError(f"{name}: {what} gives {found!r}, Python {expected!r}")
            candidates = [
                Candidate("CPython", lambda f=function, a=args: f(*a)),  # type: ignore[misc]
                Candidate("scriptc", lambda f=compiled, a=args: f(*a)),  # type: ignore[misc]
                Candidate("by hand", by_hand),
            ]
            rows[name] = medians(candidates, samples=options.samples, timer=time.thread_time)
    print(f"{cpu_model()}, one thread; microseconds per call, medians of interleaved samples\n")
    header = ("program", "CPython", "scriptc", "by hand", "CPython / scriptc", "scriptc / by hand")
    print(table(header, [(name, *_cells(times)) for name, times in rows.items()], right=range(1, 6)))
    save(options.json, rows)


def _cells(times: dict[str, float]) -> tuple[str, ...]:
    python, ours, hand = times["CPython"], times["scriptc"], times["by hand"]
    return *(f"{t * 1e6:,.0f}" for t in (python, ours, hand)), f"{python / ours:.0f}", f"{ours / hand:.2f}"


def _floor(directory: Path) -> tuple[Any, Any]:
    """Return the C library and its cffi interface."""
    import cffi

    from scriptc.backend_c.toolchain import find_compiler

    library = directory / "scalar_floor.so"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]
    subprocess.run([*find_compiler().command, *flags, str(_FLOOR), "-o", str(library)], check=True)
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi, ffi.dlopen(str(library))


def _programs(ffi: Any, c: Any) -> dict[str, tuple[tuple[Any, ...], Callable[[], Any]]]:
    """Return the arguments of each program, and the call of its C with the same arguments."""
    rng = random.Random(0)

    def fizzbuzz() -> tuple[int, ...]:
        out = ffi.new("int64_t[4]")
        c.fizzbuzz(1_000_000, out)
        return tuple(out)

    a, b = ([rng.randrange(4) for _ in range(500)] for _ in range(2))
    c_a, c_b = ffi.new("int64_t[]", a), ffi.new("int64_t[]", b)
    states, symbols, steps = 24, 8, 400
    observed = [rng.randrange(symbols) for _ in range(steps)]
    start = [-rng.random() for _ in range(states)]
    transition = [[-3 * rng.random() for _ in range(states)] for _ in range(states)]
    emission = [[-3 * rng.random() for _ in range(symbols)] for _ in range(states)]
    c_observed, c_start = ffi.new("int64_t[]", observed), ffi.new("double[]", start)
    c_transition = ffi.new("double[]", [p for row in transition for p in row])
    c_emission = ffi.new("double[]", [p for row in emission for p in row])

    def viterbi() -> list[int]:
        path = ffi.new("int64_t[]", steps)
        c.viterbi(c_observed, steps, c_start, states, c_transition, c_emission, symbols, path)
        return list(path)

    classes, frames = 20, 60
    weights = [[rng.random() ** 6 for _ in range(classes)] for _ in range(frames)]
    probabilities = [[w / sum(row) for w in row] for row in weights]
    c_probabilities = ffi.new("double[]", [p for row in probabilities for p in row])

    def prefix_search() -> tuple[list[int], float]:
        path, score = ffi.new("int64_t[]", frames), ffi.new("double *")
        n = c.prefix_search(c_probabilities, frames, classes, 8, path, score)
        return list(path[0:n]), score[0]

    words = "The 3 quick brown foxes jump, over 12 lazy dogs; and 7x more (in 1999). "
    text = words * 200
    c_text, c_tokens = text.encode(), ffi.new("char[]", 2 * len(text))

    def tokenize() -> list[str]:
        c.tokenize(c_text, len(text), c_tokens)
        found: list[str] = ffi.string(c_tokens).decode().split("\n")[:-1]
        return found

    return {
        "fizzbuzz": ((1_000_000,), fizzbuzz),
        "edit_distance": ((a, b), lambda: c.edit_distance(c_a, len(a), c_b, len(b))),
        "viterbi": ((observed, start, transition, emission), viterbi),
        "prefix_search": ((probabilities, 8), prefix_search),
        "sieve": ((1_000_000,), lambda: c.sieve(1_000_000)),
        "tokenize": ((text,), tokenize),
    }
