"""The command line: what each command prints, and its exit status. Most run in this process: torch loads slowly."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import scriptc
from scriptc.cli import main
from scriptc.report import Report, Row

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, inputs, hidden=4):
        super().__init__()
        self.inner = nn.Linear(inputs, hidden)
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.inner(x)).relu()

def twice(x, n: int):
    return x * n

def raises(x):
    return x[5]

def generates(x):
    yield x

net = Net(3)
net_args = (torch.ones(2, 3),)

def example_args():
    return torch.ones(3), 2
"""
IR = """
module "m" entries(@f)
func @f(%x: i64) -> (i64) {
  %a = const() {value = 1} -> (i64)
  %b = const() {value = 1} -> (i64)
  return(%x)
}
"""


@pytest.fixture
def nets(tmp_path: Path) -> str:
    path = tmp_path / "nets.py"
    path.write_text(NETS)
    return str(path)


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code


def test_help_and_errors_load_no_torch(nets: str) -> None:
    program = "import sys; from scriptc.cli import main\ntry: main(['--help'])\nfinally: print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("False\n") and "doctor" in done.stdout


def test_python_m_scriptc_shows_compile_errors_without_a_traceback(nets: str) -> None:
    command = [sys.executable, "-m", "scriptc", "c", f"{nets}:generates", "--args", "torch.ones(1)"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    assert "nets.py:20:5:" in done.stderr and "error:" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("twice", []),
        ("twice", ["--args", "torch.ones(2), n=3"]),
        ("net", ["--eval"]),
        ("net.inner", ["--args", "torch.ones(1, 3)"]),
        ("Net", ["--init", "5, hidden=2", "--eval", "--args", "torch.ones(1, 5)"]),
        ("raises", ["--args", "torch.ones(2)"]),
    ],
)
def test_compare(nets: str, target: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", f"{nets}:{target}", *options) == 0
    assert "verdict" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ir", "nets"], "a target is file.py:Name"),
        (["ir", "absent.py:f"], "there is no file absent.py"),
        (["ir", "absent.module:f"], "there is no module absent.module"),
        (["ir", "{nets}:absent"], "has no absent; it has Net, twice, raises"),
        (["ir", "{nets}:Net"], "give its arguments with --init"),
        (["ir", "{nets}:twice", "--init", "1"], "--init is for classes"),
        (["ir", "{nets}:twice", "--args", "torch.ones("], "SyntaxError"),
        (["ir", "{nets}:twice", "--args", ""], "missing a required argument: 'x'"),
        (["ir", "{nets}:net_args", "--args", ""], "not tuple objects"),
        (["ir", "{nets}:twice", "--after", "nothing"], "no pass nothing ran; these did: read"),
        (["opt", "--passes=cse", "absent.ir"], "No such file"),
        (["opt", "--passes=absent", "-"], "there is no pass absent"),
    ],
)
def test_mistakes_of_the_user(
    nets: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(IR))
    assert run(*(a.replace("{nets}", nets) for a in arguments)) == 2
    assert message in capsys.readouterr().err


def test_a_failed_comparison(nets: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failed = Report((Row("out", "int 1", "DIFFERS: int 2", False),))
    monkeypatch.setattr(scriptc, "compare", lambda *args, **kwargs: failed)
    assert run("compare", f"{nets}:twice") == 1
    assert "DIFFERS: int 2" in capsys.readouterr().out


def test_ir_at_each_stage(nets: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert run("ir", f"{nets}:twice", *options) == 0
        return capsys.readouterr().out

    everything = printed("--all")
    assert everything.startswith("// after read\n")
    assert printed("--after", "read") in everything
    assert printed("--optimize", "0") == printed("--after", "read")
    assert "%x: f32[3]" in printed("--static") and "%x: f32[3]" not in printed()
    assert "nets.py" not in printed() and "nets.py" in printed("--locs")


def test_c(nets: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("c", f"{nets}:twice") == 0
    assert "/* nets.py:14: return x * n */" in capsys.readouterr().out


def test_build(nets: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made"
    assert run("build", f"{nets}:twice", "--out", str(out), "--name", "doubled") == 0
    assert (out / "CMakeLists.txt").is_file() and (out / "include" / "doubled.h").is_file()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    assert run("build", f"{nets}:twice", "--out", str(tmp_path / "other")) == 2
    assert run("build", f"{nets}:twice", "--out", str(out), "--name", "not a name") == 2


@pytest.mark.parametrize("source", ["-", "file"])
def test_opt(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.ir"
    path.write_text(IR)
    monkeypatch.setattr(sys, "stdin", io.StringIO(IR))
    assert run("opt", "--passes=cse,dce", "-" if source == "-" else str(path)) == 0
    out = capsys.readouterr().out
    assert "const" not in out and "return(%x)" in out


def test_opt_refuses_what_is_not_ir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("nonsense", IR.replace("return(%x)", "return()")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert run("opt", "--passes=cse", "-") == 2
        assert capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor") in (0, 1)
    out = capsys.readouterr().out
    assert "C compiler" in out and "cache" in out
