"""Writes between forward and backward to what a user holds: autograd raises where eager raises, whatever was kept as a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor

import scriptc


def last_state(x: Tensor, h: Tensor):
    for row in x:
        h = torch.tanh(h * row)
    return h


def listed_states(x: Tensor, h: Tensor):
    outs = []
    for row in x:
        h = torch.tanh(h * row)
        outs.append(h)
    return outs


def stacked_states(x: Tensor, h: Tensor):
    outs = []
    for row in x:
        h = torch.tanh(h * row)
        outs.append(h)
    return torch.stack(outs), h


def over_a_list(xs: list[Tensor], h: Tensor):
    for x in xs:
        h = torch.tanh(h * x)
    return h


def over_rows_in_a_list(xs: list[Tensor], h: Tensor):
    for x in xs:
        h = torch.tanh(h * x[0])
    return h


def of_other_sizes(xs: list[Tensor], h: Tensor):
    for x in xs:
        h = torch.sin(x * h.sum())
    return h


FUNCTIONS = [last_state, listed_states, stacked_states, over_a_list, over_rows_in_a_list, of_other_sizes]


def outcome(call: Callable[..., Any], given: str, written: str) -> list[Tensor] | str:
    """Return the gradients, or "raises" if autograd tells of the write."""
    torch.manual_seed(0)
    x, h = torch.randn(4, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    state = h * 1
    inputs = {"rows": x * 1, "list": [row * 1 for row in x], "matrices": [(x + i) * 1 for i in range(3)],
              "sizes": [row[: 1 + i % 3] * 1 for i, row in enumerate(x)]}[given]  # fmt: skip
    results = call(inputs, state)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    total = sum(r.sum() for r in results)
    with torch.no_grad():
        target = {"state": state, "input": inputs[1] if isinstance(inputs, list) else inputs, "first": results[0],
                  "last": results[-1], "middle": results[len(results) // 2]}[written]  # fmt: skip
        target.mul_(2)
    try:
        total.backward()
    except RuntimeError as error:
        assert "modified" in str(error)
        return "raises"
    assert x.grad is not None and h.grad is not None
    return [x.grad, h.grad]


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_writes_are_told(function: Callable[..., Any]) -> None:
    given = {"over_a_list": "list", "over_rows_in_a_list": "matrices", "of_other_sizes": "sizes"}.get(function.__name__, "rows")
    compiled, found = scriptc.compile(function, optimize=OPTIMIZE), []
    for written in ("state", "input", "first", "middle", "last"):
        want, have = (outcome(call, given, written) for call in (function, compiled))
        assert isinstance(have, str) is isinstance(want, str), written
        if not isinstance(have, str):
            torch.testing.assert_close(have, want)
        found.append(have)
    assert "raises" in found
