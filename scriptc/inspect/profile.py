"""Measure the time of a compiled call for each line of the user's source and each kernel, beside the machine's peaks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from scriptc.backend_c.instrument import Site
from scriptc.backend_c.peaks import Peaks, measured
from scriptc.dispatch.dispatcher import Dispatcher
from scriptc.driver.source_paths import user_line
from scriptc.inspect.notebook_html import html_table, paragraph, print_text
from scriptc.inspect.snapshots import copied, undo_writes
from scriptc.inspect.text_table import table
from scriptc.inspect.training_steps import Step
from scriptc.ir.loc import shown_file

SECONDS = 0.3  # calls are repeated for at most so long
CALLS = 1000  # the most calls
EVENTS = 200_000  # the most events in the trace
_COLUMNS = ("line", "source", "kernel", "visits", "time", "%", "GFLOP/s", "GB/s")
_NUMBERS = (3, 4, 5, 6, 7)  # columns that are flush right


@dataclass(frozen=True)
class Row:
    """One line, or one kernel that it calls: averages of a call. Kernels report their flops and bytes."""

    file: str
    line: int
    source: str
    kernel: str  # "" for the code of the line outside of kernels
    visits: float
    seconds: float
    flops: float
    bytes: float


@dataclass(frozen=True)
class Profile:
    """The time of a call by source line and kernel. `str(profile)` is a table, and notebooks show it as one.

    name: the name of the function.
    calls: the number of calls that were measured.
    seconds: the mean time of a call in instrumented C.
    rows: one row for each line and kernel, the longest time first: `file`, `line`, `source`, `kernel`, and of one call
        `visits`, `seconds`, `flops` and `bytes`.
    peaks: the measured peaks of the machine: `threads`, `flops` and `bytes` per second.
    events: index into `rows`, begin and end in nanoseconds, of each visit of one call.
    missed: the number of visits for which `events` had no room.
    """

    name: str
    calls: int
    seconds: float  # of a call, in instrumented C
    rows: tuple[Row, ...]
    peaks: Peaks
    events: tuple[tuple[int, int, int], ...] = field(repr=False)  # (row, begin, end) in nanoseconds
    missed: int  # events beyond `EVENTS`

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Return the peaks and the table, cut to `width` columns if a width is given."""
        shown = table(_COLUMNS, [self._cells(row) for row in self.rows], right=_NUMBERS, width=width)
        return f"{self._head()}\n\n{shown}"

    def _repr_html_(self) -> str:
        return paragraph(self._head()) + html_table(_COLUMNS, [self._cells(row) for row in self.rows], right=_NUMBERS)

    _repr_pretty_ = print_text

    def _head(self) -> str:
        return (
            f"{self.name}: {_time(self.seconds)} a call in C, mean of {self.calls}, counting included\n"
            f"peaks of {self.peaks.threads} thread{'s' * (self.peaks.threads > 1)}: "
            f"{self.peaks.flops / 1e9:.0f} GFLOP/s, "
            f"{self.peaks.bytes / 1e9:.1f} GB/s from memory (caches are faster)"
        )

    def _cells(self, row: Row) -> list[str]:
        def rate(amount: float) -> str:
            return f"{amount / row.seconds / 1e9:.1f}" if amount and row.seconds else ""

        share = 100 * row.seconds / self.seconds if self.seconds else 0.0
        return [
            f"{os.path.basename(shown_file(row.file))}:{row.line}",
            row.source,
            row.kernel,
            f"{row.visits:g}",
            _time(row.seconds),
            f"{share:.1f}",
            rate(row.flops),
            rate(row.bytes),
        ]

    def trace(self) -> dict[str, Any]:
        """Return the events in the Trace Event format, for Perfetto (ui.perfetto.dev) and chrome://tracing."""
        start = self.events[0][1] if self.events else 0
        events: list[dict[str, Any]] = [
            {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": f"scriptc {self.name}"}},
            {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "calls"}},
        ]
        for index, begin, end in self.events:
            row = self.rows[index]
            line = f"{row.file}:{row.line}"
            events.append(
                {
                    "ph": "X", "pid": 1, "tid": 1, "name": row.kernel or row.source,
                    "cat": "kernel" if row.kernel else "line", "ts": (begin - start) / 1000, "dur": (end - begin) / 1000,
                    "args": {"line": line, "source": row.source},
                }
            )  # fmt: skip
        other = {
            "peak GFLOP/s": self.peaks.flops / 1e9,
            "peak GB/s": self.peaks.bytes / 1e9,
            "events left out": self.missed,
        }
        return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file as JSON."""
        Path(path).write_text(json.dumps(self.trace()), encoding="utf-8")


def profile(dispatcher: Dispatcher, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile:
    """Measure repeated calls of an instrumented build, on copies of the arguments.

    Gradients are recorded only where the call computes some itself. What the calls write is undone. Raises what the call
    raises.
    """
    instrumented = Dispatcher(dispatcher.obj, replace(dispatcher.options, profile=True))
    receiver = dispatcher.target.receiver
    module = receiver if isinstance(receiver, torch.nn.Module) else None
    with Step.of(dispatcher, args, kwargs).mode(), undo_writes(module):
        _call(instrumented.call, args, kwargs)  # compiles
        _call(instrumented.call, args, kwargs)
        sites = instrumented.variants[-1].translated.program.sites
        instrumented.callable.profile_start(len(sites), EVENTS)
        seconds, calls, until = 0.0, 0, time.perf_counter() + SECONDS
        while calls < CALLS and (calls == 0 or time.perf_counter() < until):
            _call(instrumented.call, args, kwargs)
            seconds += instrumented.callable.last_call_seconds
            calls += 1
    counts, events, missed = instrumented.callable.profile_stop()
    rows, order = _rows(sites, counts, calls)
    ordered = tuple((order[site], begin, end) for site, begin, end in events)
    peaks = measured(torch.get_num_threads())
    return Profile(instrumented.target.name, calls, seconds / calls, rows, peaks, ordered, missed)


def _call(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    own, named = copied((args, kwargs))
    call(*own, **named)


def _rows(
    sites: Sequence[Site], counts: Sequence[tuple[int, int, float, float]], calls: int
) -> tuple[tuple[Row, ...], dict[int, int]]:
    """Return the rows in order of time, and the row of each site."""
    found = []
    for site, (visits, *amounts) in zip(sites, counts, strict=True):
        ns, flops, moved = (amount / calls for amount in amounts)
        loc = user_line(site.loc)
        found.append(Row(loc.file, loc.line, loc.text.strip(), site.kernel, visits / calls, ns * 1e-9, flops, moved))
    order = sorted(range(len(found)), key=lambda i: -found[i].seconds)
    return tuple(found[i] for i in order if found[i].visits), {site: at for at, site in enumerate(order)}


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
