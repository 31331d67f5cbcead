"""Tensors that are not there on some path, and are used in loops behind the test of that: no pass may look at them before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import scriptc

X, W = torch.rand(2, 4), torch.rand(4, 4)
IMAGE, KERNEL = torch.rand(1, 2, 4, 4), torch.rand(2, 2, 1, 1)


def matrix_or_vector(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 3:
        w = w.sum(0)
    for _ in range(n):
        x = torch.tanh(x @ w) if w.dim() == 2 else x * w
    return x


def vector_or_matrix(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 3:
        w = torch.ones(4) / n
    for _ in range(n):
        x = x + (w if w.dim() == 1 else w[:, 0] * w[:, 1])
    return x


def bound_on_a_path(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 3:
        q = w * 2
    for _ in range(n):
        if n > 3:
            x = torch.tanh(x @ q)
        x = x + 1
    return x


def transposed_or_not(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 3:
        w = w.sum((2, 3))
    for _ in range(n):
        x = torch.conv_transpose2d(x, w) if w.dim() == 4 else x * w.sum()
    return x


def passed_on(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 3:
        w = w.sum(0)

    def go(x: Tensor, w: Tensor, k: int) -> Tensor:
        if k <= 0:
            return x
        for _ in range(n):
            x = torch.tanh(x @ w) if w.dim() == 2 else x * w
        return go(x, w, k - 1) * 0.5

    return go(x, w, n - 1)


def returned(x: Tensor, w: Tensor, n: int) -> Tensor:
    def go(k: int) -> Tensor:
        if k > 5:
            return w.sum(0) if n > 3 else w
        return go(k + 1)

    found = go(n - 3)
    for _ in range(n):
        x = torch.tanh(x @ found) if found.dim() == 2 else x * found
    return x


PROGRAMS: list[tuple[Callable[..., Any], Tensor, Tensor]] = [
    *((f, X, W) for f in (matrix_or_vector, vector_or_matrix, bound_on_a_path, passed_on, returned)),
    (transposed_or_not, IMAGE, KERNEL),
]


@pytest.mark.parametrize(("program", "x", "w"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_what_is_not_there_is_not_read(program: Callable[..., Any], x: Tensor, w: Tensor) -> None:
    compiled = scriptc.compile(program)
    for n in (0, 2, 5):
        torch.testing.assert_close(compiled(x, w, n), program(x, w, n))
