"""No record serves a process whose functions are others than those of the files: these were edited after it imported them."""

from __future__ import annotations

import pytest
import torch
from settings import OPTIMIZE
from test_remembered import HEAD, World, run, world

import scriptc
from scriptc.frontend.source import functions as source

__all__ = ["world"]

HELPERS = """
import contextlib, functools
def helper(x):
    return x * 2
class Base:
    def inherited(self, x):
        return x * 2
class Tool(Base):
    def __init__(self, k=2):
        self.k = k * 1
    def method(self, x):
        return x * 2
    def over(self, x):
        return super().inherited(x)
    @staticmethod
    def static(x):
        return x * 2
    @classmethod
    def of_class(cls, x):
        return x * 2
    @property
    def two(self):
        return 4 / 2
    def __call__(self, x):
        return x * 2
    def __add__(self, x):
        return x * 2
class Layer(nn.Module):
    def forward(self, x):
        return x * 2
def doubles(f):
    @functools.wraps(f)
    def inner(*a):
        return f(*a) * 2
    return inner
@contextlib.contextmanager
def manager():
    yield 4 - 2
TABLE = {"a": helper}
PAIR = (helper, lambda x: x * 2)
def make_closure():
    def inner(x): return x * 2
    return inner
closure = make_closure()
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g
tool, layer, layers, part = Tool(), Layer(), nn.Sequential(Layer()), functools.partial(helper)
@doubles
def decorated(x): return x
"""
EDITED = HELPERS.replace("* 2", "* 3").replace("4 / 2", "6 / 2").replace("4 - 2", "5 - 2").replace("k * 1", "k + 1")
CALLS = """
helper(x); users_helpers.helper(x); tool.method(x); tool.inherited(x); tool.over(x); tool.static(x); Tool.static(x)
Tool.of_class(x); x * tool.two; tool(x); tool + x; x * Tool(2).k; Tool(2).method(x); Tool(2).inherited(x); x * Tool(2).two
layer(x); layers(x); TABLE['a'](x); PAIR[0](x); PAIR[1](x); closure(x); part(x); managed(x); list(map(helper, [x]))[0]
Function.apply(x); decorated(x)
"""
MAIN = """
from users_helpers import *
import users_helpers
def managed(x):
    with manager() as k:
        return x * k
def f(x):
    return {}
"""


@pytest.mark.parametrize("call", CALLS.replace(";", "\n").strip().split("\n"))
def test_edits_of_what_is_called(world: World, call: str) -> None:  # noqa: F811
    main, x = MAIN.format(call.strip()), torch.ones(2)
    for text, expected in (HELPERS, [2, 2]), (EDITED, [3, 3]):
        world.load(text, "users_helpers")
        compiled = scriptc.compile(world.load(main).f, optimize=OPTIMIZE)
        assert run(compiled, x).tolist() == expected
        again = scriptc.compile(world.load(main).f, optimize=OPTIMIZE)
        assert world.without_reading(lambda again=again: run(again, x)).tolist() == expected
    world.load(HELPERS, "users_helpers")
    compiled = scriptc.compile(world.load(main).f, optimize=OPTIMIZE)
    (world.folder / "users_helpers.py").write_text(HEAD + world.mark + EDITED)
    source._sources.clear()  # another process knows no source
    with pytest.raises(scriptc.CompileError, match="was edited since"):
        run(compiled, x)
