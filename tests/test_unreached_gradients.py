"""Inputs that a result depends on on other paths alone have the gradient None, as in eager (ir/gradients/reached.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc


def loops(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = torch.tanh(x * w)
    return x


def branches(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    if n > 1:
        x = x * w
    elif n == 1:
        x = x * v
    return x


def delays(x: Tensor, w: Tensor, v: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = w * 2
    first, second = v * 0, v * 0
    for _ in range(n):
        first, second = second, x * y
    return first, second.sin()


def leaves_a_loop(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    i = 0
    while i < n:
        if i == 2:
            x = x * v
            break
        x = x + w
        i += 1
    return x * 2


def writes(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    out = torch.zeros(3)
    if n > 1:
        out += w
    for i in range(n):
        if i == 2:
            out[i] = v[0]
    return out + x


def writes_behind_a_read(x: Tensor, w: Tensor, v: Tensor, n: int) -> tuple[Tensor, Tensor]:
    out = x * 2
    before = out * 3
    if n:
        out.mul_(w)
    return before, out * v


def takes_turns(x: Tensor, w: Tensor, v: Tensor, n: int) -> tuple[Tensor, Tensor]:
    for i in range(n):
        x = x * w if i % 2 == 0 else x * v
    return x, x.sum()


def returns_early(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    if n == 0:
        return x * 2
    if n == 1:
        return x * w
    return x * v


def may_be_none(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    y = None
    for i in range(n):
        y = w * i if y is None else y + v
    return x if y is None else x * y


def lists(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    rows = [x]
    for i in range(n):
        rows.append(rows[-1] * w if i < 2 else rows[0] * v)
    return torch.stack(rows)


def a_list_that_loses_items(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    rows = [x]
    for _ in range(n):
        rows.append(w * 2)
    total = x * 1
    while len(rows) > 2:
        total = total + rows.pop() * v
    return total


PROGRAMS = [
    loops, branches, delays, leaves_a_loop, writes, writes_behind_a_read, takes_turns, returns_early, may_be_none, lists,
    a_list_that_loses_items,
]  # fmt: skip


def gradients(call: Callable[..., Any], n: int) -> list[Tensor | None]:
    """Return the gradients of each result alone, and those of all results together."""
    torch.manual_seed(0)
    inputs = [torch.rand(3, requires_grad=True) for _ in range(3)]
    made = call(*inputs, n)
    results = [t for t in (made if isinstance(made, tuple) else (made,)) if t.requires_grad]
    found: list[Tensor | None] = []
    for several in (*([t] for t in results), results):
        found += torch.autograd.grad([t.sum() for t in several], inputs, allow_unused=True, retain_graph=True)
    return found


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_functions(function: Callable[..., Any]) -> None:
    compiled = scriptc.compile(function, optimize=OPTIMIZE)
    for n in (0, 1, 2, 3, 4):
        want, have = gradients(function, n), gradients(compiled, n)
        assert [g is None for g in have] == [g is None for g in want], n
        torch.testing.assert_close([g for g in have if g is not None], [g for g in want if g is not None])


class Experts(nn.Module):
    """Rows go to one of several experts."""

    def __init__(self, count: int):
        super().__init__()
        self.gate = nn.Linear(3, count)
        self.weights = nn.ParameterList(torch.randn(3) for _ in range(count))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        chosen = self.gate(x).softmax(-1)
        best = chosen.argmax(-1)
        out = torch.zeros_like(x)
        for i, weight in enumerate(self.weights):
            (rows,) = torch.where(best == i)
            if rows.numel():
                out.index_add_(0, rows, x[rows] * weight * chosen[rows, i].unsqueeze(1))
        return {"out": out}


class Layers(nn.Module):
    """The first layers run; there are more than one number has bits."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.rand(3) for _ in range(70))

    def forward(self, x: Tensor, n: int) -> Tensor:
        for i, weight in enumerate(self.weights):
            if i < n:
                x = x * weight
        return x


@pytest.mark.parametrize(
    ("net", "args"),
    [(Experts(3), (torch.randn(2, 3),)), (Layers(), (torch.randn(3), 2)), (Layers(), (torch.randn(3), 65))],
    ids=["experts", "few layers", "many layers"],
)
def test_weights_that_a_call_does_not_read(net: nn.Module, args: tuple[Any, ...]) -> None:
    """An optimizer leaves weights alone whose gradients are None, and changes those whose gradients are zeros."""
    compiled = scriptc.compile(net, optimize=OPTIMIZE)
    found = []
    for call in (net, compiled):
        net.zero_grad(set_to_none=True)
        made = call(*args)
        (made["out"] if isinstance(made, dict) else made).sum().backward()
        found.append([p.grad for p in net.parameters()])
    assert [g is None for g in found[0]] == [g is None for g in found[1]]
    assert None in found[0]
    torch.testing.assert_close(*([g for g in each if g is not None] for each in found))


def steps(x: Tensor, w: Tensor, v: Tensor, n: int) -> tuple[Tensor, ...]:
    scaled = x.round() if n > 1 else x * v
    whole = torch.div(w, v, rounding_mode="floor"), torch.div(x, n, rounding_mode="trunc")
    return w.sign() * (x > 0), torch.trunc(w * n) + scaled, v.floor().detach(), v.ceil() * x, *whole


def steps_of_items(xs: list[Tensor]) -> Tensor:
    total = torch.ones(3)
    for x in xs:
        total = total + x.sign() * 2
    return total


@pytest.mark.parametrize("n", [1, 2])
def test_steps_have_gradients_of_zeros(n: int) -> None:
    """A derivative that is zero everywhere gives zeros, not None: an optimizer with weight decay changes such a weight."""
    compiled = scriptc.compile(steps, optimize=OPTIMIZE)
    for output in range(6):
        inputs = [torch.rand(3, requires_grad=True) for _ in range(3)]
        found = []
        for call in (steps, compiled):
            made = call(*inputs, n)[output]
            none = [None] * 3
            found.append(torch.autograd.grad(made.sum(), inputs, allow_unused=True) if made.requires_grad else none)
        assert [g is None for g in found[0]] == [g is None for g in found[1]], output
        torch.testing.assert_close(*([g for g in each if g is not None] for each in found))


def test_steps_of_items_of_a_list() -> None:
    xs = [torch.rand(3, requires_grad=True) for _ in range(2)]
    scriptc.compile(steps_of_items, optimize=OPTIMIZE)(xs).sum().backward()
    assert all(x.grad is not None and not x.grad.any() for x in xs)


def asks_behind_a_step(x: Tensor) -> tuple[Tensor, bool]:
    w = x.detach().clone().requires_grad_(True)
    y = w.round() * 2
    return torch.autograd.grad((y * x).sum(), w)[0], y.requires_grad


def test_a_gradient_of_zeros_that_the_code_asks_for() -> None:
    gradient, requires = scriptc.compile(asks_behind_a_step, optimize=OPTIMIZE)(torch.rand(3))
    assert torch.equal(gradient, torch.zeros(3)) and requires


def test_a_power_of_zero_has_gradients_of_zeros() -> None:
    x = torch.tensor([0.0, 2.0, float("nan"), float("inf")], requires_grad=True)
    results = scriptc.compile(lambda x: (x**0, torch.pow(x, 0.0)), optimize=OPTIMIZE)(x)
    assert all(result.requires_grad and torch.equal(result, torch.ones(4)) for result in results)
    (gradient,) = torch.autograd.grad(sum(results).sum(), x)
    assert torch.equal(gradient, torch.zeros(4))


def catches(x: Tensor, w: Tensor, n: int) -> list[Tensor]:
    try:
        if n > 1:
            raise ValueError(f"{n} is too much")
    except ValueError:
        *rows, _ = (x * w).sin().topk(2, 1)[0]
    return rows


def test_a_list_that_a_handler_fills() -> None:
    found = []
    for function in (catches, scriptc.compile(catches, optimize=OPTIMIZE)):
        x, w = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
        found.append(torch.autograd.grad(sum(function(x, w, 2)).sum(), (x, w)))
    torch.testing.assert_close(found[1], found[0])
