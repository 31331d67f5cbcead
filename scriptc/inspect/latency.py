"""The time of a compiled call: measured on this machine, or estimated for another one.

The estimate is a roofline (Williams, Waterman and Patterson, 2009). A profile gives the operations, bytes and part of the time
of each kernel here. A kernel is taken to reach the same part of its bound on the other machine as here.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from scriptc.backend_c.peaks import measured
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.inspect.cores import idlest_core, last_cache, pinned
from scriptc.inspect.memory import memory
from scriptc.inspect.notebook_html import html_table, print_text
from scriptc.inspect.profile import Row, profile
from scriptc.inspect.snapshots import copied, leaves_of, undo_writes
from scriptc.inspect.training_steps import Step

SECONDS = 0.001  # a sample takes at least so long, less than the time slice of a process
WARM = 3  # calls ahead of the first sample
SAMPLES = 31  # of the calls here that an estimate starts from


@dataclass(frozen=True)
class Machine:
    """A machine as the cost model sees it.

    flops: float32 operations per second of the threads that a call uses, of which a multiply-add is two.
    bytes: bytes of memory per second.
    cache: the bytes of the largest cache.
    """

    name: str
    flops: float
    bytes: float
    cache: int

    def __post_init__(self) -> None:
        if not (self.flops > 0 and self.bytes > 0 and self.cache >= 0):
            raise ValueError("a Machine has flops > 0, bytes > 0 and cache >= 0")

    @classmethod
    def here(cls, threads: int = 1) -> Machine:
        """Return this machine, with peaks that are measured once and kept in the cache of builds."""
        peaks = measured(threads)
        return cls("this machine", peaks.flops, peaks.bytes, last_cache())


@dataclass(frozen=True)
class Latency:
    """The time of a call in seconds. `str(latency)` says it in words.

    name: the name of the function.
    median: the median of the samples, or the estimate.
    low: the first quartile of the samples, or the estimate.
    high: the third quartile of the samples, or the estimate. Half of the samples lie between `low` and `high`.
    samples: the mean time of a call in each sample; empty for an estimate.
    calls: the calls of a sample.
    threads: the number of threads.
    core: the core that the calls ran on, None if they were not pinned to one.
    machine: the machine that the time was estimated for, None if it was measured.
    """

    name: str
    median: float
    low: float
    high: float
    samples: tuple[float, ...] = field(repr=False)
    calls: int
    threads: int
    core: int | None
    machine: Machine | None = None

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        if self.machine is not None:
            return f"{self.name}: {_time(self.median)} a call, estimated for {self.machine.name}, {threads}"
        where = threads if self.core is None else f"{threads} on core {self.core}"
        return (
            f"{self.name}: {_time(self.median)} a call, half of the samples between {_time(self.low)} and {_time(self.high)}; "
            f"{len(self.samples)} samples of {self.calls} call{'s' * (self.calls > 1)}, {where}"
        )

    def _repr_html_(self) -> str:
        rows = [("median", _time(self.median)), ("half of the samples", f"{_time(self.low)} to {_time(self.high)}")]
        return html_table((self.name, "time of a call"), rows)

    _repr_pretty_ = print_text


def measured_latencies(
    dispatchers: Mapping[str, Dispatcher], args: tuple[Any, ...], kwargs: dict[str, Any], *, samples: int, threads: int
) -> dict[str, Latency]:
    """Measure calls on copies of the same arguments. The functions take turns, a sample each."""
    with _threads(threads):
        core = idlest_core(0.1) if threads == 1 else None
        runs = {name: _Run(dispatcher, args, kwargs) for name, dispatcher in dispatchers.items()}
        with pinned(core), ExitStack() as stack:
            for run in runs.values():
                stack.enter_context(run.step.mode())
                stack.enter_context(undo_writes(run.module))
                run.warm_up()
            for _ in range(samples):
                for run in runs.values():
                    run.sample()
    return {name: run.latency(name, threads, core) for name, run in runs.items()}


class _Run:
    """Repeated calls of one function."""

    def __init__(self, dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.dispatcher = dispatcher
        self.arguments = args, kwargs
        self.step = Step.of(dispatcher, args, kwargs)
        receiver = dispatcher.target.receiver
        self.module = receiver if isinstance(receiver, torch.nn.Module) else None
        self.calls = 1
        self.times: list[float] = []

    def warm_up(self) -> None:
        first = min(self._seconds(1) for _ in range(WARM))
        self.calls = max(1, round(SECONDS / max(first, 1e-7)))

    def sample(self) -> None:
        self.times.append(self._seconds(self.calls) / self.calls)

    def _seconds(self, calls: int) -> float:
        call, clock, seconds = self.dispatcher.call, time.perf_counter, 0.0
        with torch.set_grad_enabled(bool(self.step)):
            for _ in range(calls):
                own, named = copied(self.arguments)
                begin = clock()
                call(*own, **named)
                seconds += clock() - begin
        return seconds

    def latency(self, name: str, threads: int, core: int | None) -> Latency:
        low, median, high = quartiles(self.times)
        return Latency(name, median, low, high, tuple(self.times), self.calls, threads, core)


def quartiles(times: Sequence[float]) -> tuple[float, float, float]:
    """Return the first quartile, the median and the third quartile."""
    if len(times) == 1:
        return times[0], times[0], times[0]
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, median, high


def estimated_latency(
    dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any], machine: Machine, *, threads: int
) -> Latency:
    """Estimate the time of a call on another machine, from a profile and the memory of the call here."""
    with _threads(threads):
        here = Machine.here(threads)
        found = profile(dispatcher, args, kwargs)
        measured_here = measured_latencies({"": dispatcher}, args, kwargs, samples=SAMPLES, threads=threads)[""].median
        held = memory(dispatcher, args, kwargs).measured + _held_bytes(dispatcher, args, kwargs)
    counted = sum(row.seconds for row in found.rows)
    there = sum(_estimated(row, here, machine, held) for row in found.rows)
    slower = there / counted if counted else here.flops / machine.flops  # a call without a statement of its own
    seconds = measured_here * slower
    return Latency(dispatcher.target.name, seconds, seconds, seconds, (), found.calls, threads, None, machine)


def _estimated(row: Row, here: Machine, there: Machine, held: int) -> float:
    """Return the seconds of a kernel on another machine. held: the bytes that the call works on."""
    slower = here.flops / there.flops
    if not row.flops and not row.bytes:
        return row.seconds * slower
    if held <= here.cache:  # the bytes came from caches, whose speed follows the clock
        seconds = row.seconds * slower
        return seconds if held <= there.cache else max(seconds, row.bytes / there.bytes)
    return row.seconds * _bound(row, there) / _bound(row, here)


def _bound(row: Row, machine: Machine) -> float:
    return max(row.flops / machine.flops, row.bytes / machine.bytes)


def _held_bytes(dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the bytes of the arguments and of the tensors outside that the call reads."""
    leaves = [leaf for _, leaf in leaves_of("", (args, kwargs))]
    outside = [t.container[t.key] for t in dispatcher.variants[-1].contract.tensors] if dispatcher.variants else []
    return sum(t.numel() * t.element_size() for t in (*leaves, *outside) if isinstance(t, torch.Tensor))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
