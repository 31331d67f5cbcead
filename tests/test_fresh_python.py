"""Forks of a process that has imported torch do what Python does with the same arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fresh_python
import pytest

PROGRAM = """
import os, sys
print(sys.argv[1:], __name__, sys.path[0], os.getcwd(), os.environ.get("MARK"), sys.stdin.read())
print(sorted(name for name in globals() if name not in ("__cached__", "__annotations__")), file=sys.stderr)
"""
ENDS = [
    "pass", "raise ValueError('é')", "import sys; sys.exit('no')", "import sys; sys.exit(3)",
    "import os; os.kill(os.getpid(), 9)",
]  # fmt: skip


def by_python(arguments: list[object], **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)  # type: ignore[call-overload]


def same(arguments: list[object], **options: object) -> None:
    expected, found = by_python(arguments, **options), fresh_python.run(arguments, **options)  # type: ignore[arg-type]
    assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_files_texts_and_modules_are_run_as_python_runs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("MARK", "here")
    same([tmp_path / "program.py", "a", 1])
    same(["program.py"], cwd=tmp_path)
    same(["-c", PROGRAM, "a"], cwd=tmp_path)
    found = fresh_python.run(["-m", "program", "a"], cwd=tmp_path)
    assert found.stdout == by_python(["-m", "program", "a"], cwd=tmp_path).stdout


@pytest.mark.parametrize("end", ENDS)
def test_programs_end_as_in_python(end: str) -> None:
    same(["-c", f"def f():\n    {end}\nf()"])


@pytest.mark.skipif(not fresh_python.IS_FORKED, reason="programs have processes of their own")
def test_a_program_finds_torch_and_nothing_of_scriptc() -> None:
    text = "import sys; print('torch' in sys.modules, [name for name in sys.modules if name.startswith('scriptc')])"
    assert fresh_python.run(["-c", text]).stdout == "True []\n"


def test_programs_draw_different_random_numbers() -> None:
    assert len({fresh_python.run(["-c", "import random; print(random.random())"]).stdout for _ in range(2)}) == 2


def test_a_program_is_ended_at_its_time_limit() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        fresh_python.run(["-c", "import time; time.sleep(600)"], timeout=0.1)
    assert fresh_python.run(["-c", "print(1)"], check=True).stdout == "1\n"


def test_a_program_that_fails_is_an_error_where_it_is_checked() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        fresh_python.run(["-c", "raise SystemExit(1)"], check=True)
