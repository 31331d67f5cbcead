"""Programs, folders and texts beyond ASCII, in a locale that knows ASCII alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from settings import sweep

pytestmark = pytest.mark.usefixtures("compiles_once")

PROGRAM = '''
import sys
import traceback
import warnings

import torch

import scriptc

def größe(x, text):
    # Zeile mit Umlaut: äöü → ∑
    ergebnis = x * 2  # ü
    print("äöü", text)
    if x.sum() > 100:
        raise ValueError("zu groß: ∞ " + text)
    warnings.warn("Vorsicht, ä")
    return ergebnis, text + "é"

sys.stdout.reconfigure(errors="backslashreplace")
for _ in range(2):  # compiled, and found
    compiled = scriptc.compile(größe, optimize=0)
    result, text = compiled(torch.ones(2), "x")
    assert result.tolist() == [2, 2] and text == "xé"
    try:
        compiled(torch.ones(2) * 100, "∑")
    except ValueError as error:
        assert str(error).startswith("zu groß: ∞ ∑\\n  at " + __file__ + ":15 in größe: raise"), ascii(str(error))
        assert 'raise ValueError("zu groß' in "".join(traceback.format_exception(error))
    else:
        raise AssertionError
    assert "größe" in compiled.ir() and "größe" in compiled.ir(after="read")
    assert compiled.c_source() and compiled.signatures()
folder = scriptc.build(lambda größe: größe * 2, torch.ones(3), out=sys.argv[1], optimize=0, march="native", name="net")
assert scriptc.load(folder)(torch.ones(3).numpy()).tolist() == [2, 2, 2]
'''
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "Größe ∑"
    made.mkdir()
    (made / "prog.py").write_text(PROGRAM, encoding="utf-8")
    return made


def run(folder: Path, *command: object) -> str:
    environment = os.environ | ASCII | {"SCRIPTC_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, *map(str, command)], env=environment, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode("ascii")
    return done.stdout.decode("ascii")


def test_programs_compile_raise_and_build(folder: Path) -> None:
    run(folder, folder / "prog.py", folder / "net")


@pytest.mark.parametrize("command", sweep(["ir", "c"], "ir"))
def test_the_command_line_prints(folder: Path, command: str) -> None:
    (folder / "nets.py").write_text(PROGRAM.partition("sys.stdout")[0], encoding="utf-8")
    target = f"{folder / 'nets.py'}:größe"
    text = run(folder, "-m", "scriptc", command, target, "--args", "torch.ones(2), 'ä'", "--optimize", "0")
    assert "gr\\xf6\\xdfe" in text or command == "c"
