"""The text that is compiled is that of the function, whatever its file holds by now."""

from __future__ import annotations

import importlib
import linecache
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from settings import OPTIMIZE

import scriptc

HEAD = "import functools\nimport torch\nfrom torch import nn\n"
X = torch.tensor([1.0, 2.0, 3.0])


class Files:
    """Modules that are written, imported and edited."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder, self.monkeypatch = folder, monkeypatch
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.py"

    def load(self, text: str, name: str = "edited") -> types.ModuleType:
        self.path(name).write_text(HEAD + text)
        importlib.invalidate_caches()
        self.monkeypatch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module(name)
        self.monkeypatch.setitem(sys.modules, name, module)
        return module

    def edit(self, text: str, name: str = "edited") -> None:
        self.path(name).write_text(HEAD + text)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    return Files(tmp_path, monkeypatch)


def compiled(function: Any, **options: Any) -> Any:
    return scriptc.compile(function, optimize=OPTIMIZE, **options)


def refused(function: Any, *args: Any) -> str:
    with pytest.raises(scriptc.CompileError) as error:
        compiled(function)(*args)
    return str(error.value)


BEFORE = "def f(x):\n    y = x * 2\n    return y + 1\n"
EDITED = {
    "constant": BEFORE.replace("2", "3"),
    "sign of zero": BEFORE.replace("2", "-0.0"),
    "type of a constant": BEFORE.replace("2", "2.0"),
    "operator": BEFORE.replace("+", "-"),
    "name": BEFORE.replace("y", "z"),
    "attribute": BEFORE.replace("x * 2", "x.abs() * 2"),
    "statement": BEFORE.replace("    return", "    y = y\n    return"),
    "argument": BEFORE.replace("f(x)", "f(x, *rest)"),
    "nested": BEFORE.replace("x * 2", "(lambda: x * 2)()"),
    "gone": "",
    "cut": "def f(x):\n",
    "another in its place": "def other(x):\n    return x\n" + BEFORE.replace("2", "3"),
}


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_function_is_refused(files: Files, name: str) -> None:
    f = files.load(BEFORE).f
    files.edit(EDITED[name])
    message = refused(f, X)
    assert f"{files.path('edited')}:4:1: error: " in message and "was edited since" in message


def test_the_text_of_import_time_serves_where_linecache_has_it(files: Files) -> None:
    f = files.load(BEFORE.replace("+ 1", "+ y.to_sparse()")).f
    linecache.getlines(f.__code__.co_filename)
    files.edit("\n\n" + EDITED["operator"])
    message = refused(f, X)
    assert ":6:16: error: " in message and "    return y + y.to_sparse()\n" in message
    g = files.load(BEFORE, "another").f
    linecache.getlines(g.__code__.co_filename)
    files.edit(EDITED["operator"], "another")
    assert compiled(g)(X).tolist() == [3, 5, 7]


def test_lines_that_moved_are_found(files: Files) -> None:
    module = files.load(BEFORE + "lam = (\n    lambda x:\n    x - 2)\n")
    files.edit("def f(x):\n    return x\n\n" + BEFORE + "\n\nlam = (1,\n  lambda x: x - 2)[1]\n")
    assert compiled(module.f)(X).tolist() == [3, 5, 7]
    assert compiled(module.lam)(X).tolist() == [-1, 0, 1]


def test_a_helper_that_was_edited_is_refused_at_its_call(files: Files) -> None:
    files.load("def helper(x):\n    return x * 2\n", "helpers")
    f = files.load("from helpers import helper\ndef f(x):\n    return helper(x) + 1\n").f
    files.edit("def helper(x):\n    return x * 3\n", "helpers")
    message = refused(f, X)
    assert "edited.py:6:12: error: helpers.helper cannot be followed" in message and "was edited since" in message


def test_code_under_the_name_of_a_file_that_holds_other_code(files: Files) -> None:
    files.load(BEFORE)
    names: dict[str, Any] = {}
    text = HEAD + EDITED["constant"]
    exec(compile(text, str(files.path("edited")), "exec"), names)
    assert "was edited since" in refused(names["f"], X)
    assert compiled(names["f"], source=text)(X).tolist() == [4, 7, 10]


def test_a_reloaded_module_is_read_anew(files: Files) -> None:
    module = files.load(BEFORE)
    assert compiled(module.f)(X).tolist() == [3, 5, 7]
    files.edit("\n" + EDITED["constant"])
    assert compiled(importlib.reload(module).f)(X).tolist() == [4, 7, 10]


KINDS = """
def passes_on(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) + 1
    return inner

class Base:
    def scale(self, x):
        return x * 2

class _Net(Base):
    __factor = 3
    def __init__(self):
        self.__offset = 4
    def private(self, x):
        return x * self.__factor + self.__offset
    def inherited(self, x):
        return super().scale(x)
    @passes_on
    @passes_on
    def decorated(self, x):
        def __inner(y): return y * self.__factor
        return __inner(x)
    @staticmethod
    def static(x):
        '''A docstring
that is not indented.'''
        text = '''a
            b'''
        return x * len(text)
    @classmethod
    def of_class(cls, x):
        return x * cls.__factor

net = _Net()
made = (lambda n: lambda x: x * n)(2), (lambda n: lambda x: x * n)(3)
line = [lambda x: x + 1, lambda x: x + 2, lambda x, y=(lambda z: z): y(x) + 3, lambda x: x.abs()]
def outer(n):
    def inner(x):
        return x * n
    return inner
closure = outer(4)
def imports(x):
    import math
    from torch import relu as r
    return r(x) * math.floor(torch.finfo(torch.float32).eps + 2.5)
def replaced(x):
    return x
def replacing(x):
    return x * 5
replaced.__code__ = replacing.__code__
def asserts(x):
    assert x.dim() == 1, "one dim"
    return x
"""
CALLS = """net.private net.inherited net.decorated net.static net.of_class closure imports replaced asserts
made[0] made[1] line[0] line[1] line[2] line[3]""".split()


def test_every_kind_of_function_compiles_to_its_code(files: Files) -> None:
    expected = vars(files.load(KINDS, "expected"))
    found = vars(files.load(KINDS))
    for call in CALLS:
        result = compiled(eval(call, found))(X)
        assert result.tolist() == eval(call, expected)(X).tolist(), call


@pytest.mark.parametrize("call", CALLS)
def test_every_kind_of_function_is_refused_once_edited(files: Files, call: str) -> None:
    found = vars(files.load(KINDS))
    files.edit(KINDS.replace(" x", " x.neg()").replace("(x)", "(x.neg())").replace("lambda x.neg()", "lambda x")
               .replace("scale(x.neg())", "scale(x)").replace("def inner(x.neg())", "def inner(x)"))  # fmt: skip
    function = eval(call, found)
    with pytest.raises(scriptc.CompileError, match="was edited since"):
        compiled(function)(X)
