"""The C of runtime and programs compiles where libraries declare no more than POSIX, and under clang without warnings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import scriptc
from scriptc import runtime
from scriptc.backend_c.toolchain import find_compiler

FLAGS = ["-fsyntax-only", *(f"-I{folder}" for folder in (runtime.INCLUDE_DIR, runtime.SOURCE_DIR))]
UNITS = [runtime.SOURCE_DIR / "sc_all.c", *sorted((runtime.SOURCE_DIR / "package").glob("*.c"))]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, n: int, words: list[str]) -> dict[str, Tensor]:
        found = {}
        for i, word in enumerate(words):
            y = torch.softmax(self.fc(x).clamp(max=2.0) % 0.3, -1)
            if i > n // 2:
                y = torch.maximum(y, x.lgamma()).cumsum(0)
            found[f"{word}:{i}"] = y
        return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiled = scriptc.compile(Net(), optimize=2)
    compiled(torch.rand(2, 3), 1, ["a", "b"])
    made = tmp_path_factory.mktemp("program") / "program.c"
    made.write_text(compiled.c_source())
    return made


def compile_all(command: list[str], program: Path) -> list[str]:
    """What the compiler says."""
    runs = [subprocess.run([*command, *FLAGS, str(unit)], capture_output=True, text=True) for unit in (*UNITS, program)]
    return [run.stderr for run in runs if run.returncode or run.stderr]


def test_functions_beyond_posix_are_declared(program: Path) -> None:
    """macOS hides such functions, lgamma_r among them, unless a macro asks for them."""
    strict = ["-std=c11", "-D_XOPEN_SOURCE=700", "-Wno-psabi", "-Werror=implicit-function-declaration"]
    assert compile_all([*find_compiler().command, *strict], program) == []


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
def test_clang_has_nothing_to_say(program: Path) -> None:
    assert compile_all(["clang", "-std=gnu11", "-Wall", "-Wextra", "-Wpedantic"], program) == []
