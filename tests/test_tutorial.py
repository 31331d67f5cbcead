"""The tutorial's files run as the page has them, from the first measurement to a package that C calls."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import fresh_python
import pytest

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "tutorial.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def python(*arguments: str, cwd: Path, status: int = 0) -> str:
    done = fresh_python.run(arguments, cwd=cwd)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="folder")
def folder_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    for block in blocks("python"):
        name = block.splitlines()[0].removeprefix("# ")
        (folder / name).write_text(block)
    (program,) = blocks("c")
    (folder / "main.c").write_text(program)
    return folder


def test_the_model_compiles_for_all_lengths(folder: Path) -> None:
    output = python("measure.py", cwd=folder).splitlines()
    assert [line.split()[0] for line in output] == ["eager", "scriptc", "frames:"]
    assert output[-1] == blocks("text")[0].splitlines()[-1]


def test_the_comparison_succeeds(folder: Path) -> None:
    report = python("-m", "scriptc", "compare", "detector.py:Detector", "--eval", cwd=folder)
    assert report.splitlines()[0].split()[:2] == blocks("text")[1].split()[:2]


def test_the_explanation_names_what_cannot_be_compiled(folder: Path) -> None:
    text = (folder / "detector.py").read_text()
    (scores,) = re.findall(r"`(scores = torch.tensor.*)`", PAGE.read_text())
    (folder / "copied.py").write_text(text.replace("scores = torch.softmax(self.classify(h), 0)", scores))
    output = python("-m", "scriptc", "explain", "copied.py:Detector", "--eval", cwd=folder, status=1)
    shown = blocks("text")[2].splitlines()
    assert output.splitlines()[0] == shown[0]
    assert all(line in output for line in shown[3:])


def test_c_code_calls_the_package(folder: Path) -> None:
    """The package's own tests build and run packages; here the program of the page must fit the header."""
    python("-m", "scriptc", "build", "detector.py:Detector", "--eval", "--out", "detector", cwd=folder)
    subprocess.run(["cc", "-Wall", "-Werror", "-fsyntax-only", "-Idetector/include", "main.c"], cwd=folder, check=True)
    assert "detector_forward(context, &frames, &scores, &read)" in (folder / "main.c").read_text()
