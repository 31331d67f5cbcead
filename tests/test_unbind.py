"""`unbind` of tensors whose sizes are known: many views are a run-time tuple of known length, so that loops stay loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc

LAYERS = nn.ModuleList(nn.Linear(3, 3) for _ in range(20)).requires_grad_(False)


def states(x: Tensor):
    h = torch.zeros(3)
    outs = []
    for row in x.unbind(0):
        h = torch.tanh(row + h)
        outs.append(h)
    return torch.stack(outs)


def with_layers(x: Tensor):
    return torch.stack([layer(row) for layer, row in zip(LAYERS, x.unbind(0), strict=True)])


def by_number(x: Tensor):
    total = torch.zeros(3)
    for i, row in enumerate(x.unbind(0)):
        total = total + LAYERS[i](row)
    return total


def by_index(x: Tensor):
    rows = x.unbind(0)
    return rows[3] + rows[-1], len(rows)


def without_a_first_state(x: Tensor):
    h = None
    for row in x.unbind(0):
        h = row if h is None else h * row
    return h


def unpacked(x: Tensor):
    first, second, *rest = x.unbind(0)
    return first + second, len(rest), rest[-1]


def rows_that_change(x: Tensor):
    rows = [row * 2 for row in x.unbind(0)]
    for i in range(20):
        rows[i] = LAYERS[i](rows[i])
    return rows


def joined(x: Tensor):
    return sum(row.sum() for row in x.unbind(0)), torch.cat(x.unbind(0)), x.unbind(0)


PROGRAMS = [states, with_layers, by_number, by_index, without_a_first_state, unpacked, rows_that_change, joined]


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_views_of_known_number(function: Callable[..., Any]) -> None:
    x = torch.linspace(-1, 1, 60).reshape(20, 3)
    found, wanted = scriptc.compile(function, optimize=OPTIMIZE, dynamic=False)(x), function(x)
    torch.testing.assert_close(found, wanted)
    assert type(found) is type(wanted)


@pytest.mark.parametrize("function", [states, without_a_first_state])
def test_the_code_of_a_loop_does_not_grow_with_its_length(function: Callable[..., Any]) -> None:
    lengths = []
    for n in (20, 100):
        compiled = scriptc.compile(function, optimize=OPTIMIZE, dynamic=False)
        compiled(torch.zeros(n, 3))
        lengths.append(len(compiled.c_source().splitlines()))
    assert lengths[0] == lengths[1]
