"""The data file runner, run by pytest inside pytest."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import fresh_python
import pytest

HERE = Path(__file__).parent
STALE = """\
-- kept
[case testFirst]
a wrong line
-- kept too
also wrong  # E: an old message  # N: and an old note
[out]
OLD

[case testSecond]
two


[case testThird]
three  # E:3: gone
[options]
quiet
[out]
old
--- not text but a comment

[case testFourth]
\\[out]
\\-- text
plain
[options]
keep
[out]
same
"""
UPDATED = """\
-- kept
[case testFirst]
a wrong line  # E:3: this is wrong
-- kept too
also wrong  # E:6: this is wrong
[out]
A WRONG LINE
ALSO WRONG

[case testSecond]
two
[out]
TWO


[case testThird]
three
[options]
quiet
--- not text but a comment

[case testFourth]
\\[out]
\\-- text
plain
[options]
keep
[out]
\\[out]
\\-- text
plain
"""


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return fresh_python.run(["-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *arguments], cwd=directory)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for support in HERE.glob("*.py"):
        if not support.name.startswith("test_"):
            shutil.copy(support, tmp_path)
    (tmp_path / "suite-stale.test").write_text(STALE)
    return tmp_path


def test_failure_shows_difference_and_command(suite: Path) -> None:
    done = run_pytest(suite, "suite-stale.test")
    assert done.returncode == 1
    assert "4 failed" in done.stdout
    assert "-main:2: error: an old message" in done.stdout
    assert "+main:3:3: error: this is wrong" not in done.stdout  # comments do not count as lines of the source
    assert "+main:1:3: error: this is wrong" in done.stdout
    assert "python -m pytest 'suite-stale.test::testFirst' --update-data" in done.stdout
    assert (suite / "suite-stale.test").read_text() == STALE


def test_update_rewrites_and_then_passes(suite: Path) -> None:
    done = run_pytest(suite, "suite-stale.test", "--update-data")
    assert done.returncode == 0, done.stdout
    assert "suite-stale.test: 4 cases updated" in done.stdout
    assert (suite / "suite-stale.test").read_text() == UPDATED
    assert run_pytest(suite).returncode == 0


def test_update_of_one_case_leaves_the_others(suite: Path) -> None:
    assert run_pytest(suite, "suite-stale.test::testThird", "--update-data").returncode == 0
    old, new = STALE.split("[case "), UPDATED.split("[case ")
    assert (suite / "suite-stale.test").read_text() == "[case ".join([old[0], old[1], old[2], new[3], old[4]])


def test_bad_files_are_collection_errors(suite: Path) -> None:
    bad = {
        "odd-name.test": ("[case a]\n", "starts with one of"),
        "suite-a.test": ("text\n", "text before the first [case]"),
        "suite-b.test": ("[out]\n", "a section before the first [case]"),
        "suite-c.test": ("[case a]\n[case a]\n", "missing or not unique"),
    }
    for name, (text, _) in bad.items():
        (suite / name).write_text(text)
    done = run_pytest(suite, *bad)
    assert done.returncode != 0
    for name, (_, message) in bad.items():
        assert message in done.stdout.partition(f"ERROR collecting {name}")[2].partition("ERROR collecting")[0]
