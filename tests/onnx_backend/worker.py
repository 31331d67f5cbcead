"""A process that runs backend tests: it reads lines of names, and writes a line of JSON after each test.

The programs of the tests in one line are compiled together.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.compiled_together import run_together
from tests.onnx_backend.cases import all_cases, run


def main() -> None:
    eager = "--eager" in sys.argv
    cases = all_cases()
    warnings.simplefilter("ignore")
    out = sys.stdout
    sys.stdout = sys.stderr  # what tests print is no record
    with tempfile.TemporaryDirectory() as folder:

        def recorded(name: str) -> None:
            start = time.thread_time()
            try:
                why = run(cases[name], Path(folder), eager)
            except BaseException as error:
                why = f"{type(error).__name__}: {error}"
            record = {"name": name, "kind": cases[name].kind, "why": why, "seconds": round(time.thread_time() - start, 3)}
            print(json.dumps(record), file=out, flush=True)

        print(json.dumps({"ready": True}), file=out, flush=True)
        for line in sys.stdin:
            names = line.split()
            run_together([lambda name=name: recorded(name) for name in names])  # type: ignore[misc]


if __name__ == "__main__":
    main()
