"""Functions whose code a tool changed, or whose text stands in no file, are compiled from their text all the same."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import typeguard
from settings import OPTIMIZE, sweep
from typeguard import _importhook

import scriptc

X = torch.tensor([1.0, 2.0, 3.0])


def compiled(function: Any, **options: Any) -> Any:
    return scriptc.compile(function, optimize=OPTIMIZE, **options)


def doubled(x: torch.Tensor, n: int = 2) -> torch.Tensor:
    y = x * n
    assert y.shape == x.shape and (n > 0 or n < -3), f"no {n}"
    assert (
        n not in (7, 8)
    )
    return y + 1


def test_asserts_that_pytest_rewrote() -> None:
    """As it rewrote those of this file."""
    assert "@pytest_ar" in doubled.__code__.co_names
    assert compiled(doubled)(X).tolist() == [3, 5, 7]
    with pytest.raises(AssertionError, match="no 0"):
        compiled(doubled)(X, 0)


EDITS = [
    ("* n", "+ n"), ("+ 1", "+ 2"), ("y =", "z ="), ("y + 1", "y"), ("x * n", "torch.add(x, n)"), ("[x, x]", "[x, [x]]"),
    ("continue", "break"), ("y + 1", "[y + 1]"), ("max(n, 0)", "max((n, 0))"), ("if n", "if not n"), ("return y", "y"),
]  # fmt: skip


@pytest.mark.parametrize("old, new", EDITS)
def test_edits_of_what_pytest_rewrote_are_refused(tmp_path: Path, old: str, new: str) -> None:
    """Beside its asserts, the text is compared as closely as any other."""
    from _pytest.assertion.rewrite import rewrite_asserts

    text = (
        "def f(x, n=2):\n    y = x * n\n    for z in [x, x]:\n        if n > 5:\n            continue\n"
        "        y = y * max(n, 0)\n    assert y.shape == x.shape, 'no'\n    return y + 1\n"
    )
    path = tmp_path / "edited.py"
    tree = ast.parse(text)
    rewrite_asserts(tree, text.encode())
    names: dict[str, Any] = {}
    exec(compile(tree, str(path), "exec"), names)
    path.write_text("\n\n" + text.replace(old, new))
    with pytest.raises(scriptc.CompileError, match="was edited since"):
        compiled(names["f"])(X)
    path.write_text("\n" + text)
    assert compiled(names["f"])(X).tolist() == [9, 17, 25]


@typeguard.typechecked
def checked(x: torch.Tensor, n: int = 2, *, names: list[str] | None = None) -> torch.Tensor:
    k: int = n + 1
    k += 2
    for i in range(n):
        x = x * k + i
    return x


def test_checks_that_typeguard_added() -> None:
    assert "check_return_type_internal" in checked.__code__.co_varnames
    assert torch.equal(compiled(checked)(X), checked(X))


def loaded(path: Path, loader: type, name: str = "made_by_a_tool") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=loader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKED = """
import torch
def f(x: torch.Tensor, n: int = 2) -> torch.Tensor:
    k: int = n + 1
    g = lambda y: y * k
    return g(x)
class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return f(x) + 1
"""


class Traced(importlib.machinery.SourceFileLoader):
    """A loader that puts a call in front of each statement of a function, as tools for tracing do."""

    def source_to_code(self, data: Any, path: Any, *, _optimization: int = -1) -> Any:  # type: ignore[override]
        tree = ast.parse(data)
        for node in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
            node.body = [part for s in node.body for part in (ast.copy_location(self.call, s), s)]
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    call = ast.parse("print('traced', end='')").body[0]


@pytest.mark.parametrize("loader", [_importhook.TypeguardLoader, Traced])
def test_modules_whose_loader_rewrites_them(tmp_path: Path, monkeypatch: Any, loader: type) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "hooked.py"
    path.write_text(HOOKED)
    edited, module = loaded(path, loader), loaded(path, loader)
    path.write_text(HOOKED.replace("y * k", "y + k"))
    with pytest.raises(scriptc.CompileError, match="was edited since"):
        compiled(edited.f)(X)
    path.write_text("\n" + HOOKED)
    assert compiled(module.Net())(X).tolist() == [4, 7, 10]
    assert compiled(module.f)(X, 3).tolist() == [4, 8, 12]


def test_functions_that_are_traced() -> None:
    """As coverage traces them: by `sys.settrace`, or by events of `sys.monitoring`, for which Python changes code in place."""

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y + 1

    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        monitoring.use_tool_id(3, "test")
        monitoring.set_local_events(3, f.__code__, monitoring.events.LINE)
    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: None)
    try:
        for _ in range(100):  # Python specializes its code
            f(X)
        assert compiled(f)(X).tolist() == [3, 5, 7]
    finally:
        sys.settrace(before)
        if monitoring is not None:
            monitoring.free_tool_id(3)


TEXT = """
import torch

def helper(x):
    return x * 2

def f(x):
    return helper(x) + 1

class Net(torch.nn.Module):
    def forward(self, x):
        return self.twice(x).neg()
    def twice(self, x):
        return x * 2
    @staticmethod
    def refused(x):
        return x.to_sparse()
"""


def executed(text: str = TEXT) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "executed"}
    exec(text, names)
    return names


def part(name: str, text: str = TEXT) -> str:
    node = next(n for n in ast.parse(text).body if getattr(n, "name", "") == name)
    return ast.get_source_segment(text, node) or ""


def test_texts_that_are_given() -> None:
    names, others = executed(), executed()
    compiled(others["Net"](), source=part("Net"))
    with pytest.raises(scriptc.CompileError, match="the source of f is not available; .*source=text"):
        compiled(names["f"])(X)
    assert compiled(names["f"], source=TEXT)(X).tolist() == [3, 5, 7]
    names = executed()
    assert compiled(names["helper"], source=part("helper"))(X).tolist() == [2, 4, 6]
    assert compiled(names["f"], source=part("f"))(X).tolist() == [3, 5, 7]
    assert scriptc.compile(optimize=OPTIMIZE, source=part("helper"))(executed()["helper"])(X).tolist() == [2, 4, 6]
    for target in names["Net"], names["Net"](), names["Net"]().forward:
        made = compiled(target, source="".join("    " + line for line in part("Net").splitlines(keepends=True)))
        made = made() if isinstance(made, type) else made
        assert made(X).tolist() == [-2, -4, -6]


def test_a_given_text_is_compared_and_shown() -> None:
    names = executed(TEXT.replace("* 2", "* 9"))
    with pytest.raises(scriptc.CompileError, match="does not hold the source of Net.twice"):
        compiled(names["Net"](), source=part("Net"))(X)
    text = TEXT.replace("x.to_sparse()", "x.neg().to_sparse()")
    with pytest.raises(scriptc.CompileError) as error:
        compiled(executed(text)["Net"].refused, source=part("Net", text))(X)
    assert "of Net.refused>:8:16: error: " in str(error.value) and "\n        return x.neg().to_sparse()\n" in str(error.value)


@pytest.mark.parametrize("optimized", sweep([False, True], False))
def test_what_stands_behind_the_option_c(optimized: bool) -> None:
    text = f"""
import scriptc, torch
@scriptc.compile(optimize={OPTIMIZE})
def f(x):
    assert x.dim() == 1
    return x * 2
print(f(torch.ones(2)).tolist(), [scriptc.compile(lambda x: x + 1, optimize=0)(torch.ones(1)).item()])
scriptc.compile(lambda x: x.to_sparse())(torch.ones(2))
"""
    command = [sys.executable, *(["-O"] if optimized else []), "-c", text]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "[2.0, 2.0] [2.0]\n", done.stderr
    assert "<source of <lambda>>:8:27: error:" in done.stderr and "\nscriptc.compile(lambda x: x.to_sparse())" in done.stderr
