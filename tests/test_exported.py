"""Modules of torch.fx and torch.export: compiled alone and inside other modules, with their checks of the arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from settings import OPTIMIZE
from torch import nn
from torch.export import Dim, export

import scriptc

X = torch.arange(8.0).reshape(2, 4) / 8
IMAGE = torch.arange(96.0).reshape(1, 6, 4, 4).sin()


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)
        self.register_buffer("shift", torch.arange(4.0))
        self.scale = nn.Parameter(torch.ones(4) / 3)

    def forward(self, x):
        return self.second(F.relu(self.first(x * self.scale + self.shift)))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.pool = nn.Conv2d(6, 4, 3, padding=1), nn.BatchNorm2d(4), nn.MaxPool2d(2)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.pool(F.relu(self.norm(self.conv(x)))), 1)
        return F.log_softmax(self.out(torch.flatten(x, 1)), dim=-1)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.calls


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.norm = nn.LSTM(4, 5, batch_first=True), nn.LayerNorm(5)

    def forward(self, x):
        y, (h, c) = self.cells(x[None])
        return self.norm(y), h


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.project(x[None]).view(1, -1, 3, 2, 2).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).flatten(2), torch.where(x > 0.5, x.to(torch.float64), torch.tensor(1.0))


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class CountsItems(nn.Module):
    def forward(self, x):
        n = (x > 0).sum().item()
        torch._check(n <= x.shape[0])
        return torch.ones(n)


class Inside(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner

    def forward(self, *args):
        return self.inner(*args)


def made(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    return module


def same(make: Callable[[], nn.Module], *args: Any) -> None:
    """Compare two modules, each called twice; state may change."""
    for wrap in (lambda module: module, Inside):
        eager, compiled = wrap(make()), scriptc.compile(wrap(make()), optimize=OPTIMIZE)
        for _ in range(2):
            torch.testing.assert_close(compiled(*args), eager(*args))


MODULES = [
    (Layers, X), (Convolutions, IMAGE), (Counts, X), (Recurrent, X), (Attends, X), (Branches, X), (Branches, -X),
    (CountsItems, X.flatten()),
]  # fmt: skip


@pytest.mark.parametrize("cls", [Layers, Convolutions, Recurrent])
def test_traced_modules(cls: type[nn.Module]) -> None:
    same(lambda: torch.fx.symbolic_trace(made(cls())), IMAGE if cls is Convolutions else X)


@pytest.mark.parametrize("core", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["exported", "core ATen"])
@pytest.mark.parametrize(("cls", "x"), MODULES, ids=[cls.__name__ for cls, _ in MODULES])
def test_exported_modules(cls: type[nn.Module], x: torch.Tensor, core: bool) -> None:
    program = export(made(cls()).eval(), (x,))
    program = program.run_decompositions() if core else program
    same(lambda: copy.deepcopy(program).module(), x)


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


class Takes(nn.Module):
    def forward(self, x, held, *, k, n=2):
        return {"sum": x + held["a"][0], "rest": (Pair(held["a"][1] * k, x), [held["list"][1] * n])}


class TakesPairs(nn.Module):
    def forward(self, rows):
        return [a * 2 for a, b in rows], {"last": rows[0][1]}


class Equal(nn.Module):
    def forward(self, x, y):
        return x[: y.shape[0]] + y


def outcome(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return f(*args, **kwargs)
    except Exception as e:
        return type(e).__name__, str(e).split("\n  at ")[0]


def alike(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tuple) and isinstance(expected[0], str):
        assert found == expected
    else:
        torch.testing.assert_close(found, expected)


def check(program: torch.export.ExportedProgram, *calls: Any) -> None:
    """Compare calls, each positional arguments or (positional, keyword) arguments: results, or errors with their text."""
    for call in calls:
        args, kwargs = call if len(call) == 2 and isinstance(call[1], dict) else (call, {})
        compiled = scriptc.compile(program.module(), optimize=OPTIMIZE)
        expected, found = outcome(program.module(), args, kwargs), outcome(compiled, args, kwargs)
        alike(found, expected)


@torch.no_grad()
def test_guards_on_sizes() -> None:
    module, batch = made(Layers()), Dim("batch", max=5)
    program = export(module, (X,), dynamic_shapes=({0: batch},))
    check(program, (X,), (torch.ones(5, 4),), (torch.ones(6, 4),), (torch.ones(2, 3),), (torch.ones(4),))


def test_guards_between_sizes() -> None:
    batch = Dim("batch")
    sizes = {"x": {0: batch + 1}, "y": {0: batch}}
    program = export(Equal(), (torch.ones(4, 2), torch.ones(3, 2)), dynamic_shapes=sizes)
    check(program, (torch.ones(5, 2), torch.ones(4, 2)), (torch.ones(5, 2), torch.ones(5, 2)))


def test_structures_of_arguments() -> None:
    held = {"a": (X, X + 1), "list": [X, X * 2]}
    check(
        export(Takes(), (X, held), {"k": X}),
        ((X, held), {"k": X + 1}), ((X, {"list": held["list"], "a": held["a"]}), {"k": X}),
        ((X, {**held, "list": [X] * 3}), {"k": X}), ((X, {**held, "list": (X, X)}), {"k": X}),
        ((X, {**held, "a": [X, X]}), {"k": X}), ((X, {"a": held["a"]}), {"k": X}), ((X, held), {"j": X}),
        ((X, held), {"k": X, "n": 3}), ((X,), {"k": X}), ((), {}),
    )  # fmt: skip


def test_lists_of_tuples_and_numbers() -> None:
    check(export(TakesPairs(), ([(X, X + 1), (X, X + 3)],)), ([(X, X), (X, X * 5)],), ([(X, X)],), ([X, X],))
    numbers = export(Takes(), (X, {"a": (X, X), "list": [X, X]}), {"k": 3, "n": 4})
    held = {"a": (X, X), "list": [X, X]}
    check(numbers, ((X, held), {"k": 3, "n": 4}), ((X, held), {"k": 2, "n": 4}), ((X, held), {"n": 4, "k": 3}))


def test_changed_graphs() -> None:
    graph = torch.fx.symbolic_trace(made(Layers()))
    compiled = scriptc.compile(graph, optimize=OPTIMIZE)
    torch.testing.assert_close(compiled(X), graph(X))
    for node in graph.graph.nodes:
        if node.target is F.relu:
            node.target, node.kwargs = torch.tanh, {}
    graph.recompile()
    torch.testing.assert_close(compiled(X), graph(X))


@torch.compiler.disable
def plain(x):
    return x + 1


@torch._dynamo.patch_dynamo_config(verbose=False)
def patched(x):
    return plain(x) * 2


def test_functions_under_settings_of_torchs_compiler() -> None:
    for f in (lambda x: plain(x), lambda x: patched(x)):
        torch.testing.assert_close(scriptc.compile(f, optimize=OPTIMIZE)(X), f(X))


@pytest.mark.parametrize("x", [torch.ones(2, 1, 3, 1), torch.ones(1, 1, 1, 1)])
def test_operators_of_graphs(x: torch.Tensor) -> None:
    def f(x, n):
        torch.ops.aten._assert_scalar.default(n > 0, "n > 0")
        torch.ops.aten._assert_tensor_metadata.default(x, dtype=torch.float32, device=torch.device("cpu"))
        torch.ops.aten.sym_constrain_range_for_size.default(n, min=1, max=4)
        torch.ops.aten.sym_constrain_range.default(n, min=2)
        return torch.ops.aten.squeeze.dims(x, [1, 3]), torch.squeeze(x, [1]), torch.ops.aten.lift_fresh_copy.default(x)

    compiled = scriptc.compile(f, optimize=OPTIMIZE)
    for n in (2, 4, 0, 1, 5):
        alike(outcome(compiled, (x, n), {}), outcome(f, (x, n), {}))
    assert outcome(compiled, (x.double(), 2), {}) == outcome(f, (x.double(), 2), {})


def test_dims_that_are_named_twice() -> None:
    for f in (lambda x: torch.squeeze(x, (0, 0)), lambda x: torch.ops.aten.squeeze.dims(x, [1, -1])):
        assert outcome(scriptc.compile(f, optimize=OPTIMIZE), (X[:1],), {}) == outcome(f, (X[:1],), {})
