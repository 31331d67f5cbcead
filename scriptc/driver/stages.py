"""Record the time of each stage of a compilation, and show a progress line on the terminal while one takes long."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

logger = logging.getLogger("scriptc")
PATIENCE = 2.0  # seconds until the progress line is shown
PERIOD = 0.5  # seconds between two updates of the line
_CLEAR = "\r\x1b[K"


class Stages:
    """The stages of one compilation: the current one, and the seconds that each took."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.now = "starting"
        self.seconds: dict[str, float] = {}
        self.started = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.now, begin = name, time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def rename(self, name: str, to: str) -> None:
        """Rename a stage that turned out to be another one."""
        self.seconds[to] = self.seconds.pop(name)

    @property
    def total(self) -> float:
        return time.perf_counter() - self.started

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {seconds:.3f}" for name, seconds in self.seconds.items())
        return f"{self.total:.3f} s ({parts})"


def shows_progress(stream: TextIO | None) -> bool:
    """Return whether a progress line may be written to a stream.

    The stream must be a terminal that a person reads, without log messages. SCRIPTC_PROGRESS=0 turns the line off.
    """
    environment = os.environ
    if environment.get("SCRIPTC_PROGRESS") == "0" or environment.get("TERM") == "dumb":
        return False
    if "CI" in environment or "PYTEST_CURRENT_TEST" in environment:
        return False
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        return False
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # the stream is closed
        return False


@contextmanager
def progress(stages: Stages) -> Iterator[None]:
    """Show a progress line while a compilation takes more than `PATIENCE` seconds."""
    stream = sys.stderr
    if not shows_progress(stream):
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(stages, stream, done), name="scriptc-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(stages: Stages, stream: TextIO, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    while True:
        text = f"scriptc: compiling {stages.name}: {stages.now}, {stages.total:.0f} s"
        _write(stream, _CLEAR + text[: _columns(stream) - 1])
        if done.wait(PERIOD):
            break
    _write(stream, _CLEAR)


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):  # the terminal was closed; the compilation continues
        return
