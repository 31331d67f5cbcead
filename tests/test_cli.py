"""The command line: what each command prints, and its exit status. Most run in this process: torch loads slowly."""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fresh_python
import numpy as np
import pytest

import scriptc
from scriptc.cli import main, terminal
from scriptc.cli.json_output import dumped
from scriptc.inspect.comparison_report import Report, Row

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

def returns_none(x):
    x + 1

class Raises:
    def __init__(self):
        raise ValueError("two\\nlines")

def summed(x, dim):
    return x.sum(dim)

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
    done = fresh_python.run(["-m", "scriptc", "c", f"{nets}:generates", "--args", "torch.ones(1)"])
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
        ("raises", ["--args", "torch.ones(2)", "--expect-raise"]),
    ],
)
def test_compare(nets: str, target: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", f"{nets}:{target}", *options) == 0
    assert "verdict" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("raises", ["--args", "torch.ones(2)"], "both raised IndexError"),
        ("twice", ["--args", "torch.ones(2), 3, 4"], "both raised TypeError"),
        ("returns_none", ["--args", "torch.ones(2)"], "returned None and wrote nothing"),
        ("twice", ["--expect-raise"], "expected to raise, but it returned"),
    ],
)
def test_a_comparison_of_no_values_fails(
    nets: str, target: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", f"{nets}:{target}", "--optimize", "0", *options) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scriptc: ") and message in line


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
        (["ir", "{folder}/broken.py:f"], "broken.py: SyntaxError: "),
        (["ir", "{folder}/fails.py:f"], "fails.py:2: ZeroDivisionError: division by zero"),
        (["ir", "{folder}/needs.py:f"], "needs.py:1: ModuleNotFoundError: No module named 'absent_module'"),
        (["ir", "{folder}/exits.py:f"], "exits.py:1: SystemExit: 3"),
        (["ir", "{nets}:Raises"], "cannot make a Raises: ValueError: two; lines"),
        (["profile", "{nets}:raises", "--args", "torch.ones(2)", "--optimize", "0"], "the call raised IndexError: "),
        (["memory", "{nets}:twice", "--args", "1, 2, 3"], "too many positional arguments"),
        (["profile", "{nets}:twice", "--threads", "0"], "--threads is at least 1"),
        (["c", "{nets}:twice", "--weights", "float16"], "weights='float16' needs freeze=True"),
        (["compare", "{nets}:twice", "--optimize", "7"], "argument --optimize: invalid choice: 7"),
        (["compare", "{nets}:net_args"], "not tuple objects"),
        (["build", "{nets}:twice", "--out", "{nets}/out"], "[Errno "),
        (["nothing"], "invalid choice: 'nothing'"),
        (["compare"], "the following arguments are required: TARGET"),
        (["opt", "--passes=cse", "{folder}"], "Is a directory"),
        (["opt", "--passes=cse", "absent.ir"], "No such file"),
        (["opt", "--passes=absent", "-"], "there is no pass absent"),
    ],
)
def test_mistakes_of_the_user(
    nets: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(nets).parent
    files = {"broken": "f = (", "fails": "\n1 / 0", "needs": "import absent_module", "exits": "raise SystemExit(3)"}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(sys, "stdin", io.StringIO(IR))
    assert run(*(a.replace("{nets}", nets).replace("{folder}", str(folder)) for a in arguments)) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("scriptc: ") and message in line and not said.out


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


def test_readings(nets: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ir", f"{nets}:summed", "--readings", "--args", "torch.ones(2), dim=0") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "reading 1" and re.fullmatch(r"reading 2: .*nets.py:\d+:5: specialize: .* compile time.*", second)
    assert run("ir", f"{nets}:generates", "--readings", "--args", "torch.ones(2)") == 2
    assert capsys.readouterr().out == "reading 1\n"


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


@pytest.mark.usefixtures("compiles_once_in_test")
def test_build_of_several_entries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "parts.py"
    source.write_text("""
import torch

class Net(torch.nn.Module):
    def encode(self, x):
        return x * 2

    def forward(self, x):
        return self.encode(x) + 1

def train(x, scale):
    return x.sum() * scale
""")
    out, target = tmp_path / "net", f"{source}:Net"
    entries = ("--entry", "encode=.encode(torch.ones(2))", "--entry", "step = train(torch.ones(2), 3.0)")
    assert run("build", target, "--out", str(out), "--march", "native", "--optimize", "0", *entries) == 0
    net = scriptc.load(out)
    assert net.encode(np.ones(3, np.float32)).tolist() == [2, 2, 2] and net.step(np.ones(2, np.float32), 4.0) == 8
    for wrong, why in {
        "encode": "an entry is name=function(arguments)",
        "a=.decode(1)": "'Net' object has no attribute 'decode'",
        "a=train(x)": "NameError",
        "a=train(scale=1)": "takes the arguments of the call by position",
    }.items():
        assert run("build", target, "--out", str(out), "--entry", wrong) == 2
        assert why in capsys.readouterr().err
    assert run("build", target, "--out", str(out), *entries, "--args", "1") == 2
    assert run("build", target, "--out", str(out), *entries, *entries) == 2


@pytest.mark.parametrize("source", ["-", "file"])
def test_opt(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.ir"
    path.write_text(IR)
    monkeypatch.setattr(sys, "stdin", io.StringIO(IR))
    assert run("opt", "--passes=cse,dce", "-" if source == "-" else str(path)) == 0
    out = capsys.readouterr().out
    assert "const" not in out and "return(%x)" in out


def test_opt_takes_functions_alone_and_runs_all_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    functions = """
    func @f(%x: f32[3]) -> (f32[3]) {
      %a = transpose(%x) {dim0 = 0, dim1 = 0} -> (f32[3])
      %b = tanh(%a) -> (f32[3])
      %c = sigmoid(%b) -> (f32[3])
      return(%c)
    }
    """
    monkeypatch.setattr(sys, "stdin", io.StringIO(functions))
    assert run("opt", "-") == 0
    out = capsys.readouterr().out
    assert "transpose" not in out and "fuse(%x)" in out


def test_opt_refuses_what_is_not_ir(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("nonsense", IR.replace("return(%x)", "return()")):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert run("opt", "--passes=cse", "-") == 2
        assert capsys.readouterr().err


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert "Examples:" in capsys.readouterr().out
    assert run("--version") == 0
    assert capsys.readouterr().out == f"scriptc {scriptc.__version__}\n"


ROW = {"output", "value", "verdict", "ok", "max_abs", "max_rel", "max_ulp", "where", "rtol", "atol"}
KEYS = [
    ("compare", {"ok", "failure", "rows", "located"}, ("rows", ROW)),
    ("explain", {"ok", "name", "signature", "diagnostics"}, None),
    (
        "profile",
        {"name", "calls", "seconds", "peaks", "rows"},
        ("rows", {"file", "line", "source", "kernel", "visits", "seconds", "flops", "bytes"}),
    ),
    ("memory", {"name", "formula", "symbols", "sizes", "least", "predicted", "measured"}, None),
    ("doctor", {"ok", "checks"}, ("checks", {"check", "found", "ok", "advice"})),
]


@pytest.mark.parametrize(("command", "keys", "inner"), KEYS)
def test_json_has_the_documented_keys(
    nets: str, command: str, keys: set[str], inner: tuple[str, set[str]] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [] if command == "doctor" else [f"{nets}:twice", "--optimize", "0"]
    assert run(command, *target, "--json") in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert set(found) == keys
    page = (Path(__file__).parents[1] / "docs" / "reference" / "cli.md").read_text()
    assert all(f"`{key}`" in page for key in keys)
    if inner is not None:
        assert found[inner[0]] and all(set(row) == inner[1] for row in found[inner[0]])


def test_the_memory_of_backward(nets: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("memory", f"{nets}:net", "--gradients", "--optimize", "0", "--checkpoint", "sqrt", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"forward", "kept", "backward"}
    assert found["kept"]["formula"] and found["backward"]["measured"] > 0
    assert run("memory", f"{nets}:net", "--gradients", "--optimize", "0") == 0
    assert "Net: peak memory of backward, in bytes" in capsys.readouterr().out
    assert run("memory", f"{nets}:twice", "--gradients", "--optimize", "0") == 2
    assert "no gradient flows from a result of twice" in capsys.readouterr().err


def test_json_of_what_cannot_be_compiled(nets: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", f"{nets}:generates", "--args", "torch.ones(1)", "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert set(found) == {"file", "line", "column", "message", "hint", "calls"}
    assert (found["file"], found["line"], found["column"]) == (nets, 20, 5)


def test_json_has_no_numbers_that_json_lacks() -> None:
    assert json.loads(dumped({"a": [math.inf, -math.inf, math.nan, 1.5]})) == {"a": ["inf", "-inf", "nan", 1.5]}


# ---- terminals ----

REPORT = Report((Row("out", "f32[" + "1, " * 40 + "1]", "DIFFERS: " + "error after error " * 6, False, 0.5, 0.25, 3),))


def test_tables_fit_the_terminal_and_are_whole_in_pipes() -> None:
    whole = REPORT.text()
    assert str(REPORT) == whole and "error after error error after error" in whole and "…" not in whole
    for width in (100, 120):
        cut = REPORT.text(width)
        assert max(map(len, cut.splitlines())) <= width and "…" in cut
        assert "".join(cut.split()).count("errorafter") < 7 and cut.split().count("after") == 6  # wrapped, and not cut


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "stream", "expected"),
    [
        ({}, Terminal(), True),
        ({}, io.StringIO(), False),
        ({"TERM": "dumb"}, Terminal(), False),
        ({"NO_COLOR": "1"}, Terminal(), False),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": "0"}, io.StringIO(), False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal(), False),
    ],
)
def test_colors(environment: dict[str, str], stream: Any, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
        if name in environment:
            monkeypatch.setenv(name, environment[name])
    assert terminal.has_colors(stream) == expected
    text = terminal.diagnostics("nets.py:1:2: error: no\n  hint: write it\n", stream)
    assert ("\x1b[31merror:\x1b[0m" in text and "\x1b[36mhint:" in text) == expected
    assert re.sub(r"\x1b\[\d*m", "", text) == "nets.py:1:2: error: no\n  hint: write it\n"


def test_verdicts_are_colored(nets: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run("compare", f"{nets}:twice", "--optimize", "0") == 0
    assert "\x1b[32mequal" in capsys.readouterr().out


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "SCRIPTC_DEBUG"):
        monkeypatch.delenv(name, raising=False)


def test_an_interrupted_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scriptc.backend_c.doctor.examine", interrupted)
    assert run("doctor") == 130 and not capsys.readouterr().err


def test_no_compiler_is_an_error_of_one_line(
    nets: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    assert run("compare", f"{nets}:twice") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scriptc: CC names a compiler that does not exist")


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor") in (0, 1)
    out = capsys.readouterr().out
    assert "C compiler" in out and "cache" in out
