"""Leaves that compiled code makes: flags and classes of results, gradients that pass them by, state and packages."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import nn

import scriptc

X = torch.randn(3, 4)


def marked(x):
    y = torch.zeros(4)
    y[1] = 2.0
    y.requires_grad_()
    return x * y


def marked_view(x):
    h = x[:, None]
    h.requires_grad_()
    return h * 2


def created(x):
    return x * torch.ones(4, requires_grad=True), x.new_zeros(4, requires_grad=True)


def parameter_and_more(x):
    p = nn.Parameter(torch.ones(4))
    return p, nn.Parameter(x.sum(0), requires_grad=False), x * 2


def one_leaf_twice(x):
    y = torch.zeros_like(x).requires_grad_()
    return y, {"again": y}


def leaf_and_what_depends_on_it(x):
    q = torch.zeros(4).requires_grad_()
    p = nn.Parameter(torch.ones(4) * 2)
    h = x
    for _ in range(x.size(0)):
        h = h * p + q
    return h, {"p": p, "q": q}, h.sum() * 2


class Lazy(nn.Module):
    """Makes its weight in the first call."""

    def __init__(self):
        super().__init__()
        self.weight = None
        self.seen = None

    def forward(self, x):
        if self.weight is None:
            self.weight = nn.Parameter(torch.full((x.size(-1),), 3.0))
        return x * self.weight, self.weight


def without_grad(x):
    with torch.no_grad():
        y = torch.ones(4).requires_grad_()
        z = y * 2
    return x * y, z, z.requires_grad


def flags(x):
    y = x * 2
    return y, x.requires_grad, y.requires_grad, y.is_leaf, y.detach().requires_grad, (y > 0).requires_grad


def turned_off(x):
    y = x * 2
    y.requires_grad_(False)
    return y + 1


def written(x):
    y = torch.zeros(4).requires_grad_()
    y.add_(1)
    return x * y


def written_by_view(x):
    y = torch.zeros(4).requires_grad_()
    y[0] = 1
    return x * y


def flags_of_views(x):
    row = x[0]
    with torch.no_grad():
        last = x[-1]
    return x * 1, row.requires_grad, row.detach().requires_grad, last.view(-1).requires_grad, (row * 2).requires_grad


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.seen = None

    def forward(self, x):
        self.seen = torch.zeros(4).requires_grad_()
        return x * self.weight, self.weight.requires_grad, self.weight.is_leaf


PROGRAMS = [marked, marked_view, created, parameter_and_more, one_leaf_twice, without_grad, flags, flags_of_views, turned_off,
            written, written_by_view, Keeps()]  # fmt: skip


def told(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return type(value), value.requires_grad, value.is_leaf, value.tolist()
    if isinstance(value, (tuple, list)):
        return [told(v) for v in value]
    return [told(v) for v in value.values()] if isinstance(value, dict) else value


def results(target: Any, required: bool, recorded: bool) -> list[Any]:
    """Return what a call gives, then the gradients that a backward through its results gives to its argument."""
    x = X.clone().requires_grad_(required)
    try:
        with torch.set_grad_enabled(recorded):
            found = target(x)
    except RuntimeError as e:
        return [str(e).partition("\n")[0]]
    tensors = [t for t in (found if isinstance(found, tuple) else (found,)) if isinstance(t, torch.Tensor) and t.requires_grad]
    if tensors:
        sum((t * torch.arange(t.numel()).view(t.shape)).sum() for t in tensors).backward()
    return [told(found), told(x.grad), [told(t.grad) for t in tensors if t.is_leaf]]


MODES = {"plain": (False, True), "required": (True, True), "no_grad": (True, False)}
CASES = [
    pytest.param(target, mode, id=f"{getattr(target, '__name__', type(target).__name__)}-{name}")
    for target in PROGRAMS
    for name, mode in MODES.items()
]


@pytest.mark.parametrize(("target", "mode"), CASES)
def test_flags_and_gradients(target: Any, mode: tuple[bool, bool]) -> None:
    own = copy.deepcopy(target)
    compiled = scriptc.compile(own, optimize=OPTIMIZE)
    for _ in range(2):
        assert results(compiled, *mode) == results(target, *mode)
    if isinstance(target, nn.Module):
        assert told(own.seen) == told(target.seen)


def tensors_of(value: Any) -> list[torch.Tensor]:
    if isinstance(value, (tuple, dict)):
        return [t for part in (value.values() if isinstance(value, dict) else value) for t in tensors_of(part)]
    return [value] if isinstance(value, torch.Tensor) else []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("made", [lambda: leaf_and_what_depends_on_it, Lazy], ids=["function", "module"])
def test_gradients_reach_leaves_that_the_caller_gets(made: Any, mode: str) -> None:
    required, recorded = MODES[mode]
    expected, own = made(), made()
    compiled, told_of = scriptc.compile(own, optimize=OPTIMIZE), []
    for target, module in ((compiled, own), (expected, expected)):
        found: list[Any] = []
        for _ in range(2):
            x = X.clone().requires_grad_(required)
            with torch.set_grad_enabled(recorded):
                given = tensors_of(target(x))
            if recorded:
                sum((t * torch.arange(t.numel()).view(t.shape)).sum() for t in given if not t.is_leaf).backward()
            for t in given:
                found += [isinstance(t, nn.Parameter), t.is_leaf, t.requires_grad, t.detach(), t.grad if t.is_leaf else None]
            found.append(x.grad)
        kept = getattr(module, "weight", None)
        assert kept is None or given[1] is kept
        told_of.append(found)
    torch.testing.assert_close(*told_of)


def test_one_leaf_is_one_object() -> None:
    first, rest = scriptc.compile(one_leaf_twice, optimize=0)(X)
    assert first is rest["again"]
    parameter, _, _ = scriptc.compile(parameter_and_more, optimize=0)(X)
    assert type(parameter) is nn.Parameter


def test_a_call_that_makes_a_leaf_is_seen_by_autograd_without_inputs_that_require_grad() -> None:
    result = scriptc.compile(marked, optimize=0)(X)
    assert result.requires_grad and not result.is_leaf
    result.sum().backward()
