"""Elementwise ops and lists in loops, over tensors whose strides and sizes are known only when they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import scriptc

T, B, H = 4, 3, 16


def rows_of_an_argument(x: Tensor, h: Tensor) -> Tensor:
    for t in range(x.size(0)):
        h = torch.tanh(h + x[t] * 0.5)
    return h


def argument_first(x: Tensor, h: Tensor) -> Tensor:
    for t in range(x.size(0)):
        h = x[t] * 0.5 + h
    return h


def broadcast(x: Tensor, h: Tensor) -> Tensor:
    out = torch.zeros(h.size(0), h.size(1))
    for t in range(x.size(0)):
        out = out * 0.5 + x[t, :, :1] * h[:1] + h[0, 0]
    return out


def parts(x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    both = torch.zeros(h.size(0), 2 * h.size(1))
    for t in range(x.size(0)):
        both = torch.cat([h, x[t]], 1) + both
        a, b = both.chunk(2, 1)
        h = torch.sigmoid(a) * b.tanh() + a.transpose(0, 1).transpose(0, 1)
    return h, both


def outer_product(x: Tensor, h: Tensor) -> Tensor:
    state = torch.zeros(h.size(0), h.size(1), h.size(1))
    for t in range(x.size(0)):
        state = 0.5 * state + x[t].unsqueeze(2) * h.unsqueeze(1)
    return state


def halves(x: Tensor, h: Tensor) -> Tensor:
    low = h.to(torch.bfloat16)
    for t in range(x.size(0)):
        low = low * x[t].to(torch.bfloat16) + 1
    return low


def layouts(t: Tensor) -> list[Tensor]:
    """The same values with other strides, and tensors of other sizes that broadcast."""
    last = t.dim() - 1
    wide = torch.empty(*t.shape[:-1], 2 * t.size(-1))[..., ::2].copy_(t)
    return [t, t.transpose(last - 1, last).contiguous().transpose(last - 1, last), wide]


def many_loops(x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """More loops over elements than one function keeps."""
    s = float(x.size(0)) * 0.5
    scaled = torch.tanh(h * s)
    shifted = scaled.transpose(0, 1) + h.size(0)
    for t in range(x.size(0)):
        h = torch.sigmoid(h + x[t] * s)
        if t % 2 == 1:
            h = h * t
        low = x[t, :, : h.size(1) // 2]
        h = torch.cat([low * 2 - s, low.exp()], 1) + h
    return h, shifted


PROGRAMS = [many_loops, rows_of_an_argument, argument_first, broadcast, parts, outer_product, halves]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_layouts(program: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    compiled = scriptc.compile(program)
    for batch in (B, 1, 0):
        for x in layouts(torch.randn(T, batch, H)):
            for h in layouts(torch.randn(batch, H)):
                if batch or program is not broadcast:
                    scriptc.compare(compiled, x, h).check()
        scriptc.compare(compiled, torch.randn(0, batch, H), torch.randn(batch, H)).check()


@pytest.mark.parametrize("program", [rows_of_an_argument, argument_first], ids=lambda p: p.__name__)
def test_sizes_that_broadcast_or_do_not(program: Callable[..., Any]) -> None:
    compiled = scriptc.compile(program)
    for x, h in (((T, 1, H), (B, H)), ((T, B, H), (1, H)), ((T, B, 1), (B, H)), ((T, B, H), (1, 1))):
        scriptc.compare(compiled, torch.randn(x), torch.randn(h)).check()
    with pytest.raises(RuntimeError, match="must match the size"):
        compiled(torch.randn(T, B, H), torch.randn(B, H + 1))


def weighted(x: Tensor, w: Tensor) -> Tensor:
    total = torch.zeros(x.size(1), H)
    for t in range(x.size(0)):
        total = total * w + x[t]
    return total


def test_a_weight_of_any_stride() -> None:
    compiled = scriptc.compile(weighted)
    for w in (torch.randn(H), torch.randn(H, 2)[:, 0], torch.randn(1).expand(H), torch.randn(1)):
        scriptc.compare(compiled, torch.randn(T, B, H), w).check()


def stacked(x: Tensor, dim: int) -> Tensor:
    outputs = []
    for t in range(x.size(0)):
        outputs.append(torch.tanh(x[t]))
    return torch.stack(outputs, dim)


def joined(x: Tensor, dim: int) -> Tensor:
    outputs = []
    for t in range(x.size(0)):
        outputs.append(torch.tanh(x[t]))
    return torch.cat(outputs, dim)


@pytest.mark.parametrize("join", [stacked, joined], ids=lambda p: p.__name__)
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_lists_that_are_joined(join: Callable[..., Tensor], dim: int) -> None:
    compiled = scriptc.compile(join)
    for shape in ((T, B, H), (1, 1, H), (T, 0, H)):
        x = torch.randn(shape)
        if dim < 2 or join is stacked:
            for way in layouts(x):
                scriptc.compare(compiled, way, dim).check()


def test_lists_of_images() -> None:
    for join in (stacked, joined):
        compiled = scriptc.compile(join)
        for size in ((T, 2, 3, 4, 5), (T, 2, 1, 4, 5), (T, 2, 3, 1, 1)):
            x = torch.randn(size)
            scriptc.compare(compiled, x, 1).check()
            scriptc.compare(compiled, x.transpose(2, 4).contiguous().transpose(2, 4), 1).check()


@pytest.mark.parametrize("join", [stacked, joined], ids=lambda p: p.__name__)
def test_empty_lists_raise(join: Callable[..., Tensor]) -> None:
    compiled = scriptc.compile(join)
    with pytest.raises((RuntimeError, ValueError)) as eager:
        join(torch.randn(0, B, H), 0)
    with pytest.raises(eager.type, match="non-empty"):
        compiled(torch.randn(0, B, H), 0)


def growing(x: Tensor) -> Tensor:
    outputs = []
    for t in range(x.size(0)):
        outputs.append(x[: t + 1] * 2)
    return torch.cat(outputs)


def uneven(x: Tensor) -> Tensor:
    outputs = []
    for t in range(x.size(0)):
        outputs.append(x[: t + 1] * 2)
    return torch.stack(outputs)


def mutated(x: Tensor) -> Tensor:
    outputs = []
    for t in range(x.size(0)):
        h = x[t] * 2
        outputs.append(h)
        h.add_(1)
    return torch.stack(outputs)


def returned_too(x: Tensor) -> tuple[Tensor, Tensor]:
    outputs, h = [], x[0]
    for t in range(x.size(0)):
        h = h + x[t]
        outputs.append(h)
    all_of_them = torch.stack(outputs)
    h.add_(1)
    return all_of_them, h


@pytest.mark.parametrize("program", [growing, mutated, returned_too], ids=lambda p: p.__name__)
def test_items_that_differ_or_change(program: Callable[..., Any]) -> None:
    compiled = scriptc.compile(program)
    for steps in (1, T):
        scriptc.compare(compiled, torch.randn(steps, H)).check()


def test_items_that_cannot_be_stacked() -> None:
    compiled = scriptc.compile(uneven)
    scriptc.compare(compiled, torch.randn(1, H)).check()
    with pytest.raises(RuntimeError, match=r"stack expects each tensor to be equal size, but got \[1, 16\] at entry 0"):
        compiled(torch.randn(T, H))


class ReadAgain(torch.nn.Module):
    """`a` could have become `e` where it was made, but for the loop behind the product, which reads both."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.Linear(H, H)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(1), H)
        for t in range(x.size(0)):
            s, e = self.cell(h + x[t]), self.cell(h.exp())
            a = s - e
            h = torch.tanh(self.cell(a) * a) / e
        return h


@pytest.mark.parametrize("optimize", [0, 2])
def test_what_a_later_loop_reads_is_not_taken_over(optimize: int) -> None:
    torch.manual_seed(0)
    scriptc.compare(scriptc.compile(ReadAgain(), optimize=optimize), torch.randn(T, B, H)).check()


def test_a_loop_that_frees_the_tensor_of_its_bound_ends_where_eager_ends() -> None:
    def shrinks(x, v):
        for _ in range(2):
            for _ in x:
                x = x.clone()
                v = v * 0.5
                last = x.split(2)[1].narrow(0, -1, 1)[0]
        return last, x, v

    x, v = torch.arange(12.0).reshape(4, 3), torch.full((3,), 256.0)
    for have, want in zip(scriptc.compile(shrinks)(x, v), shrinks(x, v), strict=True):
        assert torch.equal(have, want)
