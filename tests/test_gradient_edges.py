"""Gradients where formulas are delicate: at ties, zeros, bounds and where exponentials overflow."""

from __future__ import annotations

import pytest
import torch
from settings import OPTIMIZE
from torch.nn import functional as F

import scriptc


def activations(x):
    return (
        F.softplus(x), F.elu(x, 0.5), F.celu(x, 2.0), F.selu(x), F.mish(x), F.logsigmoid(x), F.hardtanh(x), F.relu6(x),
        F.hardsigmoid(x), F.hardswish(x), F.relu(x), F.gelu(x), F.silu(x), torch.clamp(x, -1, 1), torch.clamp(x, min=3),
    )  # fmt: skip


def distances(x):
    a, b = x.unsqueeze(0), x.unsqueeze(1)
    return (
        F.huber_loss(*torch.broadcast_tensors(a, b), reduction="none"), torch.hypot(a, b + 10), torch.atan2(a, b),
        F.smooth_l1_loss(*torch.broadcast_tensors(a, b), reduction="none"), torch.clamp(a, b), torch.clamp(a, max=b),
        torch.maximum(a, b), torch.fmin(a, b),
    )  # fmt: skip


def norms(x):
    zero, part = x * 0, x[:6]
    return (
        torch.norm(zero), torch.norm(zero, 3), torch.norm(part, 0.5), torch.norm(part, -1), torch.norm(part, 1),
        torch.std(zero), torch.linalg.vector_norm(part, 1.5), torch.dist(part, part), F.normalize(zero, dim=0),
        F.cosine_similarity(zero, x, dim=0), torch.cdist(part.reshape(2, 3), part.reshape(2, 3)),
    )  # fmt: skip


def extremes(x):
    tied = torch.stack([x, x, x * 0])
    return (
        torch.max(tied, 0)[0], torch.min(tied, 0)[0], torch.amax(tied, 0), torch.max(tied), torch.median(tied),
        torch.median(tied, 0)[0], torch.cummax(tied, 0)[0], torch.mode(tied, 0)[0], torch.aminmax(tied, dim=0)[1],
        F.max_pool1d(tied, 2), torch.prod(tied[:, :5], 0), torch.cumprod(tied[:, :5], 1), torch.logcumsumexp(tied[:, :5], 1),
    )  # fmt: skip


@pytest.mark.compiled_together
@pytest.mark.parametrize("function", [activations, distances, norms, extremes])
def test_gradients_at_edges(function):
    x = torch.tensor(
        [0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 3.0, 6.0, -0.5, 20.0, -30.0, 1000.0, -1000.0], dtype=torch.float64
    )
    given = [x.clone().requires_grad_() for _ in range(2)]
    results = [function(given[0]), scriptc.compile(function, optimize=OPTIMIZE)(given[1])]
    for i, (want, have) in enumerate(zip(*results, strict=True)):
        cotangent = torch.linspace(1, 2, want.numel(), dtype=torch.float64).reshape(want.shape)
        (expected,) = torch.autograd.grad(want, given[0], cotangent, retain_graph=True)
        (got,) = torch.autograd.grad(have, given[1], cotangent, retain_graph=True)
        torch.testing.assert_close(got, expected, equal_nan=True, msg=lambda m, i=i: f"result {i}: {m}")


@pytest.mark.compiled_together
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_extremes_of_nan(name):
    compiled = scriptc.compile(lambda x: getattr(x, name)(), optimize=OPTIMIZE)
    for values in ([1, torch.nan, 3], [torch.nan, torch.nan, 1], [1, 3, 3], [torch.inf, torch.inf, torch.nan], [2]):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        (want,), (have,) = (torch.autograd.grad(2 * y, x) for y in (getattr(x, name)(), compiled(x)))
        torch.testing.assert_close(have, want, equal_nan=True)


def test_a_value_of_views_that_an_op_made_together_is_read_before_a_write():
    def scaled(x):
        x = x.clone()
        x[0] = x[-1] * torch.split(x, 1)[-2][0]
        return x

    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda saved: saved):  # eager refuses what it saved itself
        (expected,) = torch.autograd.grad(scaled(x).sum(), x)
    torch.testing.assert_close(torch.autograd.grad(scriptc.compile(scaled, optimize=OPTIMIZE)(x).sum(), x)[0], expected)


def test_a_write_by_another_name_behind_a_branch_is_refused():
    def negated(n, w, h):
        if n:
            h = h * 3.0
            w = h
        w.neg_()
        return h

    h = torch.randn(3, requires_grad=True)
    result = scriptc.compile(negated, optimize=OPTIMIZE)(1, torch.randn(3), h)
    torch.testing.assert_close(result, h * -3.0)
    with pytest.raises(NotImplementedError, match="may be one of several"):
        result.sum().backward()


def test_sizes_decide_the_rank_of_items():
    def stacked(x, w):
        rows = []
        for i in range(3):
            rows.append((x * w * i).squeeze())
        return torch.stack(rows)

    given = torch.randn(4, 1), torch.randn(4, 1, requires_grad=True)
    with pytest.raises(NotImplementedError, match="tensors of one rank(.|\n)*dynamic=False"):
        scriptc.compile(stacked, optimize=OPTIMIZE)(*given).sum().backward()
    known = scriptc.compile(stacked, optimize=OPTIMIZE, dynamic=False)
    wanted, found = (torch.autograd.grad(f(*given).square().sum(), given[1]) for f in (stacked, known))
    torch.testing.assert_close(found, wanted)


def test_a_norm_of_an_empty_batch():
    """The gradients of its weight and bias are zero, though the statistics are not defined."""

    def normed(x, w, b):
        return F.batch_norm(x, None, None, w, b, training=True)

    compiled = scriptc.compile(normed, optimize=OPTIMIZE)
    for sizes in ((0, 4, 5), (2, 4, 0), (2, 4, 3)):
        given = torch.randn(sizes, requires_grad=True), torch.rand(4, requires_grad=True), torch.rand(4, requires_grad=True)
        wanted, found = (torch.autograd.grad(f(*given).square().sum(), given) for f in (normed, compiled))
        torch.testing.assert_close(found, wanted)


def test_a_call_with_gradients_that_always_raises():
    """The formula of the gradient raises for such operands, too."""
    weight, index = torch.randn(4, 3, requires_grad=True), torch.ones(2, dtype=torch.bool)
    with pytest.raises(RuntimeError, match="index_select"):
        scriptc.compile(lambda w, i: torch.index_select(w, 0, i), optimize=OPTIMIZE)(weight, index)


def filled(x, mask, value):
    return x.masked_fill(mask, value), torch.index_fill(x, 0, torch.tensor([1]), value), x * value


@pytest.mark.parametrize("sizes", [(), (1,), (4,), (1, 4)])
def test_the_bias_of_a_linear_layer_is_broadcast(sizes):
    given = torch.randn(2, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True), torch.randn(sizes, requires_grad=True)
    compiled = scriptc.compile(lambda x, w, b: F.linear(x, w, b), optimize=OPTIMIZE)
    wanted, found = (torch.autograd.grad(f(*given).square().sum(), given) for f in (F.linear, compiled))
    torch.testing.assert_close(found, wanted)


def test_a_value_of_a_wider_dtype_has_a_gradient():
    mask, value = torch.tensor([True, False, True]), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    x = torch.randn(3, requires_grad=True)
    results = filled(x, mask, value), scriptc.compile(filled, optimize=OPTIMIZE)(x, mask, value)
    wanted, found = (torch.autograd.grad(sum(t.square().sum() * (i + 1) for i, t in enumerate(r)), (x, value)) for r in results)
    torch.testing.assert_close(found, wanted)


def test_lists_of_pairs_in_code_that_asks_for_gradients():
    def loss_and_gradient(x, w, n):
        w = w.detach().requires_grad_()
        states = [(x * w, x), (x, w)]
        for _ in range(n):
            for layer in range(2):
                h, c = states[layer]
                states[layer] = (torch.tanh(h * w + c), c * w)
        loss = (states[0][0] * states[1][1]).sum()
        return loss, torch.autograd.grad(loss, w)[0]

    given = torch.rand(4), torch.rand(4)
    for n in (0, 3):
        torch.testing.assert_close(
            scriptc.compile(loss_and_gradient, optimize=OPTIMIZE)(*given, n), loss_and_gradient(*given, n)
        )
