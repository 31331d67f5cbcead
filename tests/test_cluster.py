"""examples/cluster on two workers of this machine, of which one is killed. Workers cannot import torch."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "examples" / "cluster"

pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[cluster]'")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("compiles_once")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example with its package."""
    made = tmp_path_factory.mktemp("cluster") / "cluster"
    shutil.copytree(SOURCE, made, ignore=shutil.ignore_patterns("recognizer", "__pycache__"))
    spec = importlib.util.spec_from_file_location("cluster_build", SOURCE / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build(made, optimize=0, march="native")
    return made


def run(folder: Path, *command: str) -> str:
    """Return the last line that a program prints, where neither it nor its workers can import torch."""
    (folder / "no_torch").mkdir(exist_ok=True)
    (folder / "no_torch" / "torch.py").write_text('raise ImportError("workers have no torch")')
    path = os.pathsep.join(filter(None, [str(folder / "no_torch"), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if "one process" in line)


def test_batches(folder: Path) -> None:
    assert run(folder, "batch.py", "--kill") == "2000 rows, close to those of one process: True"


def test_streams(folder: Path) -> None:
    expected = "6 streams of 20 frames, 1 actors replaced, equal to those of one process: True"
    assert run(folder, "streams.py", "--kill") == expected
