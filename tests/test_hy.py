"""Functions written in Hy, and sources of other languages whose parser the user registers."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import fresh_python
import pytest
import torch
from settings import OPTIMIZE
from test_aot import cmake_tool

import scriptc
from scriptc.frontend.source import providers

HERE = Path(__file__).parent


def line_of(file: Path, text: str) -> int:
    return next(n for n, line in enumerate(file.read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def hy_path() -> Iterator[None]:
    pytest.importorskip("hy")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE.parent / "examples" / "hytorch"))  # for the macros that the networks require
        yield


def _module(file: Path) -> ModuleType:
    """Import a file under a name that no other module of the tests has."""
    name = f"{file.stem}_in_hy"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def programs(hy_path: None) -> ModuleType:
    return _module(HERE / "hy_programs" / "programs.hy")


@pytest.fixture(scope="module")
def nets(hy_path: None) -> ModuleType:
    return _module(HERE.parent / "examples" / "hytorch" / "nets.hy")


def check(function: Any, *args: Any, **kwargs: Any) -> None:
    found, expected = scriptc.compile(function, optimize=OPTIMIZE)(*args, **kwargs), function(*args, **kwargs)
    _check_equal(found, expected)


def _check_equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, (tuple, list)):
        for a, b in zip(found, expected, strict=True):
            _check_equal(a, b)
    elif isinstance(found, torch.Tensor):
        torch.testing.assert_close(found, expected)
    else:
        assert found == expected


def test_the_networks_of_the_post(nets: ModuleType) -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        model = nets.TestModel(4, 6)
        compiled = scriptc.compile(model, optimize=OPTIMIZE)
        for length in (3, 2):
            inputs = [torch.randn(2, 4) for _ in range(length)]
            torch.testing.assert_close(compiled(inputs), model(inputs))
        net = nets.Net().eval()
        x = torch.randn(1, 1, 28, 28)
        torch.testing.assert_close(scriptc.compile(net, optimize=OPTIMIZE)(x), net(x))


def test_the_binarized_network(hy_path: None) -> None:
    binary = _module(HERE.parent / "examples" / "hytorch" / "binary.hy")
    torch.manual_seed(0)
    net = binary.BinaryNet().eval()
    x = torch.randint(0, 17, (3, 64)).float()
    with torch.no_grad():
        torch.testing.assert_close(scriptc.compile(net, optimize=OPTIMIZE)(x), net(x))


@pytest.mark.slow
def test_the_post_from_end_to_end(hy_path: None, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    env = {**os.environ, "PATH": f"{Path(cmake_tool('cmake')).parent}{os.pathsep}{os.environ['PATH']}"}
    done = fresh_python.run([HERE.parent / "examples" / "hytorch" / "post.py", "--epochs", "10"], cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal") == 4 and "torch" not in done.stdout.rpartition("libraries:")[2]
    (accuracy,) = re.findall(r"binarized network in Hy: ([\d.]+)%", done.stdout)
    assert float(accuracy) >= 94


def test_a_loop_with_cond(programs: ModuleType) -> None:
    check(programs.steer, [torch.ones(3), -torch.ones(3), torch.full((3,), 9.0), torch.ones(3)])


def test_a_recursive_function(programs: ModuleType) -> None:
    check(programs.power, torch.tensor([1.5, -2.0]), 13)


def test_cells_of_a_macro(programs: ModuleType) -> None:
    """The macro names a variable by `hy.gensym`, which gives other numbers when scriptc compiles the file again."""
    for cell in programs.tanh_cell, programs.relu_cell:
        check(cell, torch.randn(2, 3), torch.randn(2, 3), torch.randn(3, 3))


def test_statements_that_are_expressions(programs: ModuleType) -> None:
    check(programs.forms, [torch.ones(2), torch.tensor(1.0), torch.zeros(2)], 8, scale=0.5)


def test_errors_show_the_lisp(programs: ModuleType) -> None:
    file = HERE / "hy_programs" / "programs.hy"
    with pytest.raises(scriptc.CompileError) as refused:
        scriptc.compile(programs.refused)(torch.ones(2))
    (found,) = refused.value.diagnostics
    assert (found.loc.file, found.loc.line) == (str(file), line_of(file, "(setv z (eval"))
    assert "(setv z (eval\n          ^~~~" in str(found)
    with pytest.raises(RuntimeError, match=rf"programs\.hy:{line_of(file, '(@ y')}"):
        scriptc.compile(programs.fails, optimize=OPTIMIZE)(torch.ones(2, 2))


def test_c_profiles_and_explanations_name_the_lines(programs: ModuleType) -> None:
    xs = [torch.ones(3), -torch.ones(3)]
    compiled = scriptc.compile(programs.steer, optimize=OPTIMIZE)
    compiled(xs)
    line = line_of(HERE / "hy_programs" / "programs.hy", "(setv h (cond (<")
    assert f"programs.hy:{line}" in compiled.c_source()
    assert f"programs.hy:{line}" in str(compiled.profile(xs))
    assert "programs.hy:" in str(scriptc.explain(programs.refused, torch.ones(2)))


def test_an_edited_file(hy_path: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_in_hy.hy"
    file.write_text("(defn f [x] (+ x 1))\n")
    module = importlib.import_module("edited_in_hy")
    file.write_text("\n(defn f [x] (+ x 2))\n")
    with pytest.raises(scriptc.CompileError, match="was edited since"):
        scriptc.compile(module.f)(torch.ones(2))
    file.write_text("(defn f [x]\n  (+ x 1)]\n")
    with pytest.raises(scriptc.CompileError, match=r"cannot be read: .*edited_in_hy\.hy:2:10: .*\n.*\n +\^"):
        scriptc.compile(module.f)(torch.ones(2))
    file.write_text("\n\n(defn f [x] (+ x 1))\n")
    assert scriptc.compile(module.f, optimize=OPTIMIZE)(torch.ones(2)).tolist() == [2, 2]


def test_a_registered_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A language of assignments without `=`."""

    def provider(text: str, file: str, namespace: dict[str, Any]) -> ast.Module:
        return ast.parse(text.replace("<-", "= "), file)

    monkeypatch.setattr(providers, "_providers", dict(providers._providers))
    scriptc.register_source(".arrow", provider)
    file = tmp_path / "net.arrow"
    file.write_text("def f(x):\n    y <- x * 2\n    return eval('y')\n\ndef g(x):\n    y <- x * 2\n    return y\n")
    names: dict[str, Any] = {}
    exec(compile(provider(file.read_text(), str(file), {}), str(file), "exec"), names)
    assert scriptc.compile(names["g"], optimize=OPTIMIZE)(torch.ones(1)).tolist() == [2]
    with pytest.raises(scriptc.CompileError, match=r"net\.arrow:3"):
        scriptc.compile(names["f"])(torch.ones(1))
    with pytest.raises(ValueError, match="another provider"):
        scriptc.register_source(".py", provider)
    with pytest.raises(ValueError, match="begins with a dot"):
        scriptc.register_source("hy", provider)
    with pytest.raises(TypeError, match="is a function, not int"):
        scriptc.register_source(".x", 3)  # type: ignore[arg-type]
