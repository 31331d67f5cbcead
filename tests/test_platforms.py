"""Platforms that are out say so, before anything else fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def on_windows(statement: str) -> str:
    """Return the last line that Python writes, where it runs a statement and takes itself to be on Windows."""
    program = f"import os, subprocess, sys\nsys.platform = 'win32'\n{statement}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_importing_on_windows_says_that_it_is_out() -> None:
    last = on_windows("import scriptc")
    assert last.startswith("ImportError: scriptc does not run on Windows: ")
    assert "WSL" in last


def test_installing_on_windows_says_that_it_is_out() -> None:
    last = on_windows("exec(open('setup.py').read())")
    assert last.startswith("scriptc does not run on Windows")
