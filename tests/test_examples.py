"""The examples run, and the command line can use each as a target."""

from __future__ import annotations

import os
from pathlib import Path

import fresh_python
import pytest
from settings import sweep
from test_aot import cmake_tool

EXAMPLES = Path(__file__).parent.parent / "examples"
TARGETS = {"rnn": "model", "mnist": "small", "custom_add": "custom_add", "lstm_cell": "model", "decode": "model",
           "train_char_rnn": "model", "train_cells": "model", "train_word_lm": "model", "binary_digits": "model",
           "search": "model"}  # fmt: skip
SHORTLY = {
    "train_cells": ["--steps", "12", "--cells", "LSTM", "minGRU"],
    "train_word_lm": ["--steps", "8", "--words", "1000"],
    "binary_digits": ["--epochs", "2"],
    "search": ["--candidates", "2", "--epochs", "1", "--plot", "front.png"],
}  # the options of examples that take longer by default
LONG = {"train_cells", "train_word_lm", "binary_digits", "search"}
IN_C = {
    "train_char_rnn": ["--steps", "8"],
    "train_cells": ["--steps", "8", "--cells", "minGRU"],
    "train_word_lm": ["--steps", "6", "--words", "1000"],
}


def test_all_are_listed() -> None:
    assert sorted(TARGETS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", sweep(TARGETS, *(TARGETS.keys() - LONG)))
def test_runs(name: str, tmp_path: Path) -> None:
    done = fresh_python.run([EXAMPLES / f"{name}.py", *SHORTLY.get(name, [])], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "equal" in done.stdout or "close" in done.stdout
    if name == "rnn":
        written = {path.name for path in (tmp_path / "build" / "demo").iterdir()}
        assert written == {"rnn.read.ir", "rnn.ir", "rnn.c"}


@pytest.mark.slow
def test_all_cells_train(tmp_path: Path) -> None:
    done = fresh_python.run([EXAMPLES / "train_cells.py", "--steps", "12"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "close" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_C)
def test_trains_in_a_program_without_python(name: str, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(cmake_tool('cmake')).parent}{os.pathsep}{os.environ['PATH']}"}
    done = fresh_python.run([EXAMPLES / f"{name}.py", "--package", *IN_C[name]], cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "in C" in done.stdout and "close" in done.stdout


@pytest.mark.slow
def test_binary_digits_in_c(tmp_path: Path) -> None:
    """The C program classifies every held-out image as eager does, and the accuracy is that of the example's page."""
    pytest.importorskip("sklearn")
    env = {**os.environ, "PATH": f"{Path(cmake_tool('cmake')).parent}{os.pathsep}{os.environ['PATH']}"}
    done = fresh_python.run([EXAMPLES / "binary_digits.py", "--epochs", "10", "--package"], cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    found = {line.split(":")[0]: float(line.split()[1].rstrip("%")) for line in done.stdout.splitlines() if "held-out" in line}
    assert found["mlp"] >= 94 and found["convolutional"] >= 96
    assert done.stdout.count("equal for all 599 images") == 2


@pytest.mark.parametrize("name", sweep(TARGETS, *(TARGETS.keys() - {"mnist", "binary_digits", "search"})))
def test_is_a_target(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    from scriptc.cli import main

    with pytest.raises(SystemExit) as end:
        main(["compare", f"{EXAMPLES / name}.py:{TARGETS[name]}"])
    assert end.value.code == 0, capsys.readouterr().out
