"""Run ONNX's own backend tests and list those that fail. A skipped test counts as failed."""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.compiled_together import AT_A_TIME
from tests.onnx_backend.cases import KINDS, all_cases


class Worker:
    """A process that runs tests. Its records come without waiting longer than a timeout."""

    def __init__(self, eager: bool):
        command = [sys.executable, "-m", "tests.onnx_backend.worker", *(["--eager"] if eager else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._pump, daemon=True).start()
        self.next(120.0)

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def next(self, timeout: float) -> dict[str, Any] | None:
        """Return the next record; None if it does not come in time, or the process has ended."""
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            return None
        return json.loads(line) if line else None

    def send(self, names: list[str]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(names) + "\n")
        self.process.stdin.flush()

    def end(self) -> str:
        """End the process, and say how it stood."""
        status = self.process.poll()
        self.process.kill()
        self.process.wait()
        return "it takes too long" if status is None else f"the process ended with status {status}"


def run_all(names: list[str], eager: bool, timeout: float, record: Any) -> None:
    """Run tests in batches. A batch that crashes or hangs is run again test by test."""
    worker = Worker(eager)
    batches = [names[i : i + AT_A_TIME] for i in range(0, len(names), AT_A_TIME)]
    while batches:
        batch = batches.pop(0)
        left = list(batch)
        worker.send(batch)
        while left:
            made = worker.next(timeout * (1 if len(batch) == 1 else 4))
            if made is None:
                break
            left.remove(made["name"])
            record(made)
        if left:
            why = worker.end()
            worker = Worker(eager)
            if len(batch) == 1:
                record({"name": left[0], "why": why})
            else:
                batches = [[name] for name in left] + batches
    worker.end()


def records_of(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return the last record of each test in a file; a line that an interrupted run left unfinished counts as none."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else ():
        try:
            made = json.loads(line)
        except ValueError:
            continue
        found[made["name"]] = made
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.onnx_backend")
    parser.add_argument("--only", default="", help="a part of the name")
    parser.add_argument("--skip", action="append", default=[], help="a part of the names of tests to leave out")
    parser.add_argument("--from", dest="start", help="the name of the first test to run")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--eager", action="store_true", help="run the Python in eager torch")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of one test")
    parser.add_argument("--record", type=Path, help="append a line of JSON for each test; tests that it has are not run")
    parser.add_argument("--failed", action="store_true", help="run those that failed in the record again")
    parser.add_argument("--report", action="store_true", help="only print what the record has")
    options = parser.parse_args()
    wanted = [n for n in all_cases(options.kind) if options.only in n and not any(part in n for part in options.skip)]
    if options.start:
        wanted = wanted[wanted.index(options.start) :]
    done = records_of(options.record)
    todo = [n for n in wanted if (done[n]["why"] and options.failed if n in done else True)]
    if options.failed:
        todo = [n for n in todo if n in done]
    if options.report:
        todo = []

    def record(made: dict[str, Any]) -> None:
        done[made["name"]] = made
        if made["why"]:
            print(f"{made['name']}: {made['why']}", flush=True)
        if options.record:
            with options.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(made) + "\n")

    start, used = time.monotonic(), os.times()
    if todo:
        run_all(todo, options.eager, options.timeout, record)
    seconds, now = time.monotonic() - start, os.times()
    shown = [done[n] for n in wanted if n in done]
    if not todo:
        print("".join(f"{r['name']}: {r['why']}\n" for r in shown if r["why"]), end="")
    passed = sum(not r["why"] for r in shown)
    spent = now.children_user - used.children_user + now.children_system - used.children_system
    print(f"{passed} of {len(wanted)} pass; {len(wanted) - len(shown)} have not run; {seconds:.0f} s, {spent:.0f} s of CPU")


if __name__ == "__main__":
    main()
