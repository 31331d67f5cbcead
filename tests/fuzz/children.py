"""Runs batches of programs in child processes, which compiled code may crash or keep busy for ever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from scriptc.frontend import library
from tests.fuzz import batch as whole_programs
from tests.fuzz import gradient_batch
from tests.fuzz.batch import Program, Report

SILENCE = 150  # seconds without a word from a child, after which it is ended: a library at -O3 takes 12 of an idle machine
_FORK = multiprocessing.get_context("fork")


@dataclass
class _Child:
    """A process and the programs that it has not reported on; `at` is the seed that it works on."""

    process: Any
    pipe: Connection
    left: dict[int, Program]
    at: int
    reports: list[Report] = field(default_factory=list)
    heard: float = field(default_factory=time.monotonic)


def run_batches(batches: Iterable[list[Program]], jobs: int = 1) -> Iterator[list[Report]]:
    """The reports on each batch, in the order in which batches end. A child that dies is a finding on the program it was at;
    another takes over the rest of its batch."""
    torch.set_num_threads(1)
    library.load()  # once, not in each child
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # the first comparison imports half of torch
    pending, children = iter(batches), []
    while True:
        while len(children) < jobs and (batch := next(pending, None)):
            children.append(_start(batch))
        if not children:
            return
        for pipe in wait([c.pipe for c in children], timeout=5):
            child = next(c for c in children if c.pipe is pipe)
            ended = _listen(child)
            if ended:
                children.remove(child)
                if child.left:
                    children.append(_start(list(child.left.values()), child.reports))
                else:
                    yield child.reports
        for child in children:
            if time.monotonic() - child.heard > SILENCE:
                child.process.kill()


def _start(batch: list[Program], reports: list[Report] | None = None) -> _Child:
    here, there = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_work, args=(batch, there), daemon=True)
    process.start()
    there.close()
    return _Child(process, here, {p.seed: p for p in batch}, batch[0].seed, [] if reports is None else reports)


def _work(batch: list[Program], pipe: Connection) -> None:
    torch.set_num_threads(1)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    with tempfile.TemporaryDirectory() as directory:
        run = gradient_batch.run if batch[0].gradients else whole_programs.run
        try:
            run(batch, Path(directory), pipe.send)
        except BaseException:
            pipe.send(traceback.format_exc())


def _listen(child: _Child) -> bool:
    """Takes one message; whether the child has come to its end."""
    child.heard, silent = time.monotonic(), time.monotonic() - child.heard > SILENCE
    try:
        told = child.pipe.recv()
    except EOFError:
        child.process.join()
        if child.left:
            program = child.left.pop(child.at)
            code = child.process.exitcode
            how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            child.reports.append(Report(program, "hang" if silent else "crash", how))
        return True
    match told:
        case Report():
            child.reports.append(told)
            del child.left[told.program.seed]
        case str():
            raise RuntimeError(f"the fuzzer itself failed at seed {child.at}:\n{told}")
        case int():
            child.at = told
    return False
