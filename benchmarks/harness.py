"""Timing that can be trusted: one pinned core, warm code, candidates that take turns, medians."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scriptc.backend_c.toolchain import find_compiler
from scriptc.inspect.cores import idlest_core


@dataclass(frozen=True)
class Candidate:
    """`clock`: seconds of the last call, for candidates that time themselves; None: time the call from outside."""

    name: str
    call: Callable[[], object]
    clock: Callable[[], float] | None = None

    def sample(self, calls: int, timer: Callable[[], float] = time.perf_counter) -> float:
        """Return the seconds per call."""
        if self.clock is not None:
            times = []
            for _ in range(calls):
                self.call()
                times.append(self.clock())
            return statistics.median(times)
        call = self.call
        start = timer()
        for _ in range(calls):
            call()
        return (timer() - start) / calls


def pin() -> None:
    """Pin the process and its children to the idlest core. Call this before importing libraries that make thread pools.
    """
    core = idlest_core(0.5)
    if core is not None:
        os.sched_setaffinity(0, {core})
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TORCHINDUCTOR_COMPILE_THREADS="1")


def medians(
    candidates: Sequence[Candidate], *, samples: int = 51, seconds: float = 0.001,
    timer: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:  # fmt: skip
    """Return the median seconds per call.

    A round takes one sample of each candidate, so that a slow moment affects all alike. A sample lasts about `seconds`,
    less than a time slice, so that most samples are not interrupted even if another process wants the core. For calls
    that take longer, pass `time.thread_time` as the timer, which leaves out the time of other processes. In front of a
    sample are calls that are not timed: they read again what other candidates have driven out of the caches, which matters
    where a call takes less than some milliseconds.
    """
    calls, untimed = {}, {}
    for candidate in candidates:
        for _ in range(min(3, samples)):
            candidate.call()
        taken = max(candidate.sample(3, timer), 1e-7)
        calls[candidate.name] = max(1, round(seconds / taken))
        untimed[candidate.name] = 4 * calls[candidate.name] if taken < 10 * seconds else 0
    times: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
    for _ in range(samples):
        for candidate in candidates:
            for _ in range(untimed[candidate.name]):
                candidate.call()
            times[candidate.name].append(candidate.sample(calls[candidate.name], timer))
    return {name: statistics.median(taken) for name, taken in times.items()}


def microseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.1f}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


@contextmanager
def built(source: Path, flags: Sequence[str]) -> Iterator[Path]:
    """Yield the path of a C program, compiled with the compiler that scriptc uses."""
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / source.stem
        command = [*find_compiler().command, *flags, str(source), "-o", str(program), "-lm"]
        subprocess.run(command, check=True)
        yield program


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown CPU"


def save(path: Path | None, results: object) -> None:
    """Write results as JSON, if a path was given."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cpu": cpu_model(), "results": results}, indent=1) + "\n")
