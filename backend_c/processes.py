"""Run compilers so that they never outlive the process that waits for them.

On Ctrl-C, or at the end of a time limit, a compiler ends with all of its children.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from scriptc.backend_c.fork_safety import unforkable

TIME_LIMIT = "SCRIPTC_COMPILER_SECONDS"  # environment variable: the time limit

_lock = threading.Lock()  # held for the time of one access
_running: dict[int, subprocess.Popen[str]] = {}  # by process id, which is also the id of the group


def _forget_processes() -> None:
    """Let go, in a forked child, of what other threads of the parent run, and of the lock that they may have held."""
    global _lock
    _lock = threading.Lock()
    _running.clear()


os.register_at_fork(after_in_child=_forget_processes)


def _time_limit() -> float | None:
    chosen = os.environ.get(TIME_LIMIT, "").strip()
    try:
        return float(chosen) if chosen else None
    except ValueError:
        warnings.warn(f"{TIME_LIMIT} is {chosen!r}, which is no number of seconds; none is used", RuntimeWarning, stacklevel=2)
        return None


def run(command: Sequence[str], env: Mapping[str, str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process group of its own, with `text` as its input. Raises subprocess.TimeoutExpired."""
    limit = _time_limit()
    given, told = subprocess.PIPE if text is not None else subprocess.DEVNULL, subprocess.PIPE
    # A forked child would keep the pipes open, whose end is awaited here. An interrupt must find each started process.
    with unforkable, _lock:
        process = subprocess.Popen(
            command, stdin=given, stdout=told, stderr=told, encoding="utf-8", errors="replace", env=env, start_new_session=True
        )
        _running[process.pid] = process
    with process:
        try:
            out, err = process.communicate(text, timeout=limit)
        except BaseException:
            _end(process)
            raise
        finally:
            with _lock:
                del _running[process.pid]
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextmanager
def ended_on_interrupt() -> Iterator[None]:
    """End the commands of all threads where KeyboardInterrupt or the like leaves the body.

    They end before anything waits for these threads.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException:
        with _lock:
            for process in _running.values():
                _end(process)
        raise


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
