"""ONNX files on the command line. Commands run in this process, as in test_cli.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scriptc.cli import main

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("compiles_once")

SUMS = """<ir_version: 8, opset_import: ["" : 17]>
sums (float[n, 4] x, int64 times) => (float[n, 4] y, int64[2] at) {
  limit = Constant<value_float = 3.0>()
  yes = Constant<value = bool {1}>()
  y = Loop(times, yes, x) <body = step (int64 i, bool going, float[n, 4] h) => (bool on, float[n, 4] g) {
    on = Identity(going)
    d = Div(h, limit)
    g = Add(d, x)
  }>
  at = Shape(y)
}"""
STRANGE = """<ir_version: 8, opset_import: ["" : 17, "w" : 1]>
strange (float[n, 4] x, bool b) => (float[n, 4] y) {
  a = w.One(x)
  c = If (b) <then_branch = yes () => (float[n, 4] t) { t = w.Two(a) }, else_branch = no () => (float[n, 4] e) { e = Relu(a) }>
  y = Add(c, x)
}"""


@pytest.fixture
def sums(tmp_path: Path) -> str:
    path = tmp_path / "sums.onnx"
    onnx.save(onnx.parser.parse_model(SUMS), path)
    return str(path)


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code


def test_compare_shows_eager_and_another_runtime(sums: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", sums, "--optimize", "0", "--dims", "n=5", "--json") == 0
    rows = {row["output"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["out[0]"]["value"] == "float32[5, 4]" and all(row["ok"] for row in rows.values())
    assert {"y (reference)", "at (reference)"} <= rows.keys() or {"y (onnxruntime)", "at (onnxruntime)"} <= rows.keys()


def test_arguments_and_sizes_that_do_not_fit(sums: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", sums, "--dims", "m=5") == 2
    assert "no input has a dim 'm'; the named dims are n" in capsys.readouterr().err
    assert run("compare", sums, "--args", "torch.ones(2, 4)") == 2
    assert "gives 1 arguments, and the model takes x, times" in capsys.readouterr().err
    assert run("compare", "nets.py:Net", "--dims", "n=4") == 2
    assert "--dims is for ONNX files" in capsys.readouterr().err


def test_a_package_of_a_file_needs_no_torch(sums: str, tmp_path: Path) -> None:
    out = tmp_path / "pkg"
    assert run("build", sums, "--out", str(out), "--optimize", "0", "--march", "native") == 0
    assert not any(str(tmp_path) in file.read_text() or "scriptc_onnx_" in file.read_text() for file in out.glob("*.c"))
    program = f"""
import sys
import numpy as np
import scriptc
model = scriptc.load({str(out)!r})
y, at = model.forward(np.ones((3, 4), np.float32), 2)
print(np.asarray(y)[2, 3], "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["1.4444444", "False"], done.stderr


def test_print(sums: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("onnx", "print", sums) == 0
    assert "y = Loop (times, yes, x)" in capsys.readouterr().out
    assert run("onnx", "print", sums, "--form", "python") == 0
    assert "for i in range(times):" in capsys.readouterr().out
    assert run("onnx", "print", sums, "--form", "ir") == 0
    assert "loop" in capsys.readouterr().out


def test_elements_of_large_tensors_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    m (float[9] x) => (float[9] y) <float[9] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = Add(x, w) }""")
    onnx.save(model, tmp_path / "m.onnx")
    assert run("onnx", "print", str(tmp_path / "m.onnx")) == 0
    out = capsys.readouterr().out
    assert 'float[9] w = ["elements": "9"]' in out and "y = Add (x, w)" in out


def test_check_lists_all_nodes_that_cannot_be_read(sums: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("onnx", "check", sums) == 0
    assert "reads all 4 nodes" in capsys.readouterr().out
    onnx.save(onnx.parser.parse_model(STRANGE), tmp_path / "strange.onnx")
    assert run("onnx", "check", str(tmp_path / "strange.onnx"), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert ["makes 'a'" in p or "makes 't'" in p for p in found["problems"]] == [True, True]
    model = onnx.parser.parse_model(SUMS)
    model.graph.node[0].attribute[0].name = "speed"
    model.graph.node.append(onnx.helper.make_node("Relu", [""], ["z"]))
    onnx.save(model, tmp_path / "wrong.onnx")
    assert run("onnx", "check", str(tmp_path / "wrong.onnx"), "--json") == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert problems[0].startswith("onnx.checker:") and "'speed'" in problems[1] and "lacks its input 0" in problems[2]
    (tmp_path / "text.onnx").write_text("no model")
    assert run("onnx", "check", str(tmp_path / "text.onnx")) == 1
    assert run("onnx", "check", str(tmp_path / "none.onnx")) == 2
    assert "there is no file" in capsys.readouterr().err


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nets.py").write_text("def twice(x, n: int):\n    for i in range(n):\n        x = x * 2\n    return x\n")
    file = tmp_path / "twice.onnx"
    assert run("onnx", "export", f"{tmp_path / 'nets.py'}:twice", "--args", "torch.ones(3), 2", "-o", str(file)) == 0
    assert [node.op_type for node in onnx.load(file).graph.node].count("Loop") == 1
    assert run("onnx", "export", f"{tmp_path / 'nets.py'}:twice", "--args", "torch.ones(3)", "-o", str(file)) == 2
