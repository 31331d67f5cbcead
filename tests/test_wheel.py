"""A wheel, installed into a fresh environment away from the checkout, holds everything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What the wheel is built from; a checkout holds caches and builds beside it.
PARTS = ["scriptc", "frontend", "ir", "backend_c", "runtime", "setup.py", "pyproject.toml", "README.md", "LICENSE"]
STAGES = ["frontend", "ir", "ir.passes", "backend_c.build", "runtime"]
MODULES = ["scriptc", *(f"scriptc.{stage}" for stage in STAGES)]
PROGRAM = f"""
import importlib.metadata, importlib.util, sys
from pathlib import Path
print(importlib.metadata.version("scriptc"))
for name in {MODULES}:
    print(Path(importlib.util.find_spec(name).origin).is_relative_to(sys.prefix))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel, and of its dependencies none."""
    tmp = tmp_path_factory.mktemp("wheel")
    unwanted = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tmp / "source" / part, ignore=unwanted)
        else:
            shutil.copy(ROOT / part, tmp / "source" / part)
    run = [sys.executable, "-m"]
    for command in (
        [*run, "venv", "--without-pip", str(tmp / "venv")],
        [*run, "pip", "-q", "wheel", "--no-deps", "-w", str(tmp), str(tmp / "source")],
    ):
        call(command)
    (wheel,) = tmp.glob("*.whl")
    made = tmp / "venv" / "bin" / "python"
    call([*run, "pip", "-q", "--python", str(made), "install", "--no-deps", "--no-index", str(wheel)])
    return made


def call(command: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_modules_come_from_the_environment(python: Path) -> None:
    version, *found = call([str(python), "-c", PROGRAM]).split()
    assert version == "0.1.0"
    assert found == ["True"] * len(MODULES)


def test_everything_beside_the_modules_is_there(python: Path) -> None:
    (installed,) = python.parent.parent.glob("lib/python*/site-packages/scriptc")
    sources = [path for path in (ROOT / "runtime").rglob("*") if path.suffix in (".c", ".h", ".inc")]
    wanted = [
        "py.typed",
        *(f"backend_c/templates/{path.name}" for path in (ROOT / "backend_c" / "templates").glob("*")),
        *(f"ir/{path.name}" for path in (ROOT / "ir").glob("*.lark")),
        *(str(path.relative_to(ROOT)) for path in sources if path.relative_to(ROOT).parts[1] in ("src", "include")),
    ]
    assert [name for name in wanted if not (installed / name).is_file()] == []


def test_only_one_name_is_installed(python: Path) -> None:
    (packages,) = python.parent.parent.glob("lib/python*/site-packages")
    assert sorted(path.name for path in packages.iterdir()) == ["scriptc", "scriptc-0.1.0.dist-info"]
