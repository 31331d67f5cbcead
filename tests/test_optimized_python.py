"""`python -O`: no assertion is compiled, and what was compiled with assertions is not found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fresh_python
import pytest

_PROGRAM = """
import torch
import scriptc


@scriptc.compile(optimize=0)
def positive(x, n):
    assert n > 0, "no positive number"
    assert x.sum() > 0
    assert (m := n) or True
    return x * 2, __debug__


try:
    print(positive(torch.zeros(2), -1)[1])
except AssertionError as error:
    print(str(error).split(chr(10))[0])
"""


@pytest.mark.usefixtures("compiles_once_in_test")
def test_assertions(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM)
    env = os.environ | {"SCRIPTC_CACHE_DIR": str(tmp_path / "cache")}

    def run(*flags: str) -> str:
        program = str(tmp_path / "program.py")
        if not flags:
            return fresh_python.run([program], env=env, check=True).stdout.strip()
        command = [sys.executable, *flags, program]
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip()

    assert [run(), run("-O"), run()] == ["no positive number", "False", "no positive number"]
