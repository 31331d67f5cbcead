"""Writes into tensors in exported ONNX models: through views, in loops and branches, and those that are refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import scriptc

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_export import differs, run, session_of  # noqa: E402

from scriptc.onnx.writing.model import model_of  # noqa: E402


def rows_in_a_loop(x: Tensor) -> Tensor:
    y = torch.zeros(x.shape[0], 3)
    for i in range(x.shape[0]):
        y[i] = x[i] * 2
        y[i, 1] += 1
    return y


def views_see_writes(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y = x.clone()
    z = y.t()
    z[0] = 5
    w = y[1:]
    y += 1
    w *= 2
    return y, z, w


def flat_views(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 2
    z = y.view(-1)
    z[::2] = 0
    w = y.reshape(-1)
    w[1] = 9
    y.relu_().add_(1)
    return y, z


def accumulator(x: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.zeros(3)
    out = []
    for t in range(x.shape[0]):
        h += x[t]
        out.append(h.clone())
    return torch.stack(out), h


def buffer_of_each_step(x: Tensor) -> Tensor:
    out = []
    for t in range(x.shape[0]):
        buffer = torch.zeros(4)
        buffer[1:] = x[t]
        if t % 2 == 0:
            buffer[0] = x[t].sum()
        out.append(buffer)
    return torch.stack(out)


def masks_and_indices(x: Tensor) -> Tensor:
    y = x * 2
    y[x > 0] = 0
    y[:, torch.tensor([0, 2])] = 7
    y.masked_fill_(y == 0, -1)
    y.diagonal().fill_(3)
    return y


def scattered(x: Tensor) -> Tensor:
    y = x * 1
    y.scatter_(0, torch.zeros(1, 3, dtype=torch.long), 5.0)
    y.index_add_(1, torch.tensor([0, 0]), torch.ones(x.shape[0], 2))
    y.index_fill_(1, torch.tensor([2]), 4)
    return y


def left_early(x: Tensor) -> Tensor:
    y = torch.empty(2, x.shape[0], 3)
    y[0] = x
    y[1] = -x
    while y.sum() < 100:
        y += 10
        if y[0, 0, 0] > 50:
            y[0] = 0
            break
    return y


WRITES = [rows_in_a_loop, views_see_writes, flat_views, accumulator, buffer_of_each_step, masks_and_indices, scattered,
          left_early]  # fmt: skip


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_writes(f: Any) -> None:
    session = None
    for x in (torch.randn(2, 3), torch.randn(4, 3), -torch.ones(3, 3)):
        session = session or session_of(model_of(f, (x,), {}, None)[0])
        wanted = f(x)
        got = run(session, [x])
        assert not any(map(differs, got, wanted if isinstance(wanted, tuple) else [wanted])), (got, wanted)


def an_argument(x: Tensor) -> Tensor:
    x[0] = 1
    return x


def one_buffer_in_a_list(x: Tensor) -> Tensor:
    out = []
    buffer = torch.zeros(3)
    for t in range(x.shape[0]):
        buffer[:] = x[t]
        out.append(buffer)
    return torch.stack(out)


def one_of_two(x: Tensor) -> Tensor:
    y = x * 2
    z = y if x.shape[0] > 2 else x * 3
    z[0] = 1
    return z + y


def maybe_a_view(x: Tensor) -> Tensor:
    y = x * 2
    z = y.t().reshape(-1)
    y[0] = 1
    return z


@pytest.mark.parametrize(
    ("f", "why"), [(an_argument, "argument"), (one_buffer_in_a_list, "names"), (one_of_two, "names"), (maybe_a_view, "names")]
)
def test_refused_writes(f: Any, why: str) -> None:
    with pytest.raises(scriptc.CompileError, match=why):
        model_of(f, (torch.randn(2, 3),), {}, None)
