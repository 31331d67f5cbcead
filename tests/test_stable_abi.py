"""The bridge reads Python's objects in place where it finds their fields, and by the stable ABI where it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bridge_support import library_fixture  # noqa: F401  (fixture)
from settings import sweep

TESTS = Path(__file__).parent
PROGRAM = TESTS / "data" / "bridge_without_torch.py"
FOUND = "floats, tuples, lists, cells, functions, sets, strings, types, dicts, calls, new strings, buffers".split(", ")


def run(*command: str, cwd: Path = TESTS) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": str(TESTS)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_fields_are_found(library: Path) -> None:
    missing = {"calls"} if sys.version_info < (3, 11) else set()  # PyObject_Vectorcall is no function there
    assert set(FOUND) - set(run(sys.executable, str(PROGRAM), str(library)).strip().split(", ")) == missing


def test_the_stable_abi_does_without_them(library: Path) -> None:
    assert run(sys.executable, str(PROGRAM), str(library), "alone").strip() == "sets"


@pytest.mark.parametrize("name", sweep(["test_bridge.py", "test_watched.py"]))
def test_suites_pass_by_the_stable_abi_alone(name: str) -> None:
    told = run(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "stable_abi_only", "-p", "no:cacheprovider", name)
    assert " passed" in told
