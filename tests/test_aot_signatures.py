"""Several signatures of one entry: functions in C, one function in Python that chooses by its arguments."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_aot import cmake_build, cmake_tool, environment, run
from torch import Tensor, nn

import scriptc

pytestmark = pytest.mark.usefixtures("compiles_once")

X, H = torch.linspace(-1, 1, 6).reshape(2, 3), torch.ones(2, 3)


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.calls = 0

    def step(self, x: Tensor, h: Tensor | None = None, keep: bool = False) -> Any:
        self.calls += 1
        y = self.linear(x) if x.dtype == torch.float32 else self.linear(x.float())
        y = y if h is None else torch.tanh(y + h)
        return (y, self.calls) if keep else y

    def count(self) -> int:
        return self.calls


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cell, Path]:
    torch.manual_seed(0)
    cell = Cell()
    calls = scriptc.signatures((X,), (X, H), (X.double(),), step_and_keep=(X, H, True))
    out = tmp_path_factory.mktemp("signatures") / "cell"
    options = {"optimize": 0, "march": "native", "bindings": "pybind11"}
    return cell, scriptc.build({"step": (cell.step, calls), "count": (cell.count, ())}, out=out, **options)


def check(model: Any, cell: Cell, convert: Any) -> None:
    """Compare every signature with eager, and the state that they share."""
    eager = Cell()
    eager.load_state_dict(cell.state_dict())
    start = model.count()
    with torch.no_grad():
        for args in ((X,), (X, H), (X.double(), None), (X * 2, None, False)):
            got = model.step(*(convert(a) if isinstance(a, Tensor) else a for a in args))
            np.testing.assert_allclose(np.asarray(got), eager.step(*args).numpy(), rtol=1e-5, atol=1e-6)
        y, calls = model.step(convert(X), keep=True, h=convert(H))
        np.testing.assert_allclose(np.asarray(y), eager.step(X, H).numpy(), rtol=1e-5, atol=1e-6)
    assert calls == model.count() == start + 5
    with pytest.raises(TypeError, match=r"(?s)no signature of step takes.*step: .*step_2: .*step_and_keep: "):
        model.step(convert(X), None, True)
    with pytest.raises(TypeError, match=r"step: argument 'x': expected 2 dimensions, got 1"):
        model.step(convert(X[0]))
    with pytest.raises(TypeError, match=r"step_3: argument 'x': expected dtype float64, got int64"):
        model.step(convert(X.long()))
    assert model.count() == start + 5 and str(inspect.signature(model.step)) == "(x, h=None, keep=False)"


def test_python_chooses_by_the_arguments(built: tuple[Cell, Path]) -> None:
    model = scriptc.load(built[1])
    assert sorted(model.entries) == ["count", "step"]
    check(model, built[0], lambda x: x.numpy())


@pytest.mark.slow
def test_the_extension_module_chooses(built: tuple[Cell, Path]) -> None:
    pytest.importorskip("pybind11")
    from test_aot_pybind11 import extension

    module = extension(built[1])
    check(module.load(), built[0], lambda x: x)
    check(module.load(), built[0], lambda x: x.numpy())


def test_functions_in_c(built: tuple[Cell, Path], tmp_path: Path) -> None:
    header = (built[1] / "include" / "cell.h").read_text()
    for name in ("step", "step_2", "step_3", "step_and_keep", "count"):
        assert f"int cell_{name}(cell_context *context, cell_state *state" in header
    env = environment(tmp_path)
    cmake_build(built[1], tmp_path / "build", env, "-DSC_MARCH=native")
    assert "100% tests passed" in run(cmake_tool("ctest"), "--output-on-failure", env=env, cwd=tmp_path / "build")
    if shutil.which("c++"):
        flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"]
        subprocess.run(["c++", *flags, built[1] / "include" / "cell.hpp"], check=True)


def double(x: Any) -> Any:
    return x * 2


def test_a_function_alone(tmp_path: Path) -> None:
    calls = scriptc.signatures((X,), (3,), (2.5,), (X.long(),))
    model = scriptc.load(scriptc.build(double, calls, out=tmp_path / "twice", optimize=0, march="native"))
    assert model(5) == 10 and type(model(5)) is int and model(0.5) == 1.0
    np.testing.assert_array_equal(model(X.numpy()), 2 * X.numpy())
    assert model(np.arange(6).reshape(2, 3)).dtype == np.int64
    rows = json.loads((tmp_path / "twice" / "manifest.json").read_text())["entries"]
    assert [row["name"] for row in rows] == ["double_", "double_2", "double_3", "double_4"]


def test_signatures_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"a call is a Tensor: give the arguments of each call as a tuple"):
        scriptc.signatures(X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="with_h= is a list"):
        scriptc.signatures((X,), with_h=[X, H])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no call"):
        scriptc.signatures()
    with pytest.raises(ValueError, match="a signature of 'a' would be named b in C"):
        entries = {"b": (double, (1,)), "a": (double, scriptc.signatures((X,), b=(1,)))}
        scriptc.build(entries, out=tmp_path / "no")
    with pytest.raises(TypeError, match=r"the example arguments of 'a' are a Tensor"):
        scriptc.build({"a": (double, X)}, out=tmp_path / "no")
