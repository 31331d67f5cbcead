"""Random numbers: after the same torch.manual_seed, the numbers of eager, and a generator that goes on as eager's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from three_ways import Args, _interpret, _same, compiled, eager
from torch import Tensor, nn
from torch.nn import functional as F

import scriptc

X = torch.arange(24.0).reshape(4, 6) / 7 - 1
P = torch.rand(3, 5, generator=torch.Generator().manual_seed(0))


def makes(n: int) -> Any:
    a = torch.rand(n, 2)
    b = torch.randn(n)
    return a, b, torch.rand([2, n], dtype=torch.float64), torch.randn(3, n, dtype=torch.float64), torch.randn(1)


def likes(x: Tensor) -> Any:
    return torch.rand_like(x), torch.randn_like(x.t()), torch.rand_like(x, dtype=torch.float64), torch.randint_like(x, 2, 9)


def halves(n: int) -> Any:
    a = torch.rand(n, dtype=torch.float16)
    return a, torch.randn(n, dtype=torch.bfloat16), torch.randn(n, dtype=torch.float16)


def complexes(n: int, deviation: float) -> Any:
    a = torch.rand(n, 2, dtype=torch.complex64)
    b = torch.randn(n, dtype=torch.complex128)
    torch.rand_like(a)
    a.t()[0].uniform_(-2, 3)
    b[1:].normal_(0.5, deviation)
    return a, b, torch.randn_like(a.t()), torch.normal(a, 2.0), torch.normal(0.5, deviation, (n,), dtype=torch.complex64)


def integers(n: int) -> Any:
    a = torch.randint(10, (n,))
    b = torch.randint(-5, 2**40, (n, 2))
    c = torch.randint(0, 2**28, (n,), dtype=torch.int32)
    return a, b, c, torch.randint(low=1, high=3, size=(n,), dtype=torch.uint8), torch.randperm(n)


def in_place(x: Tensor) -> Any:
    x[1:3].uniform_(-1, 3)
    x.t()[0].normal_(2, 0.5)
    x[:, 4].exponential_(2.0)
    x[:, ::2].bernoulli_(0.3)
    x[0].random_(3, 9)
    x[:, 5].normal_()
    return x


def permuted(x: Tensor) -> Any:
    x.t().uniform_()
    y = torch.empty(6, 4).t().normal_()
    return x, y


def bernoullis(p: Tensor) -> Any:
    a = torch.bernoulli(p), p.bernoulli(), torch.empty_like(p).bernoulli_(p[0])
    return a, torch.bernoulli(p, 0.9), torch.bernoulli(p.double())


def dropouts(x: Tensor, p: float) -> Any:
    y = F.dropout(x, p)
    z = F.dropout2d(x.view(1, 4, 3, 2), p)
    return y, z, F.alpha_dropout(x, p, True), F.feature_alpha_dropout(x, p, True), F.dropout1d(x.view(1, 4, 6), p)


def dropouts_in_place(x: Tensor, p: float) -> Any:
    y = F.dropout(x.clone(), p, inplace=True)
    z = F.dropout2d(x.reshape(1, 4, 3, 2).clone(), p, inplace=True)
    return y, z, F.alpha_dropout(x.clone(), p, True, True), x


def activations(x: Tensor) -> Any:
    return F.rrelu(x, 0.1, 0.3, True), F.gumbel_softmax(x), F.gumbel_softmax(x, hard=True, dim=0)


def multinomials(p: Tensor) -> Any:
    return (
        torch.multinomial(p, 7, replacement=True),
        torch.multinomial(p, 3),
        torch.multinomial(p[0], 1),
        p[1].multinomial(4, True),
    )


def normals(x: Tensor) -> Any:
    s = x.abs()
    return torch.normal(x, s), torch.normal(1.0, s), torch.normal(x, 2.0), torch.normal(0.5, 2.0, (20,))


def distributions(p: Tensor) -> Any:
    a = torch.distributions.Categorical(p).sample((2,))
    return a, torch.distributions.Normal(p, p + 1).sample(), torch.distributions.Bernoulli(p).sample()


def in_loops(n: int) -> Any:
    total = torch.zeros(3)
    kept = []
    for _ in range(n):
        noise = torch.rand(3)
        other = torch.rand(3)
        total = total + noise * other
        if torch.rand(()) > 0.5:
            kept.append(torch.randn(2))
    return total, kept


def unused(x: Tensor) -> Any:
    torch.rand(3)
    F.dropout(x, 0.5)
    return x


def raises(n: int) -> Any:
    a = torch.rand(2)
    if n > 1:
        raise ValueError
    return a


CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (makes, [(0,), (1,), (8,), (16,), (37,), (1000,)]),
    (likes, [(X,), (X[:2],), (torch.ones(5, 7),)]),
    (halves, [(3,), (16,), (37,)]),
    (complexes, [(0, 2.0), (1, 0.5), (9, 0.0), (40, 2.0)]),
    (integers, [(0,), (1,), (9,)]),
    (in_place, [(X,)]),
    (permuted, [(X,)]),
    (bernoullis, [(P,), (P * 0,)]),
    (dropouts, [(X, 0.4), (X, 0.0), (X, 1.0)]),
    (dropouts_in_place, [(X, 0.4), (X, 0.0), (X, 1.0), (X[:0].reshape(0, 6), 0.4)]),
    (activations, [(X,), (-X,)]),
    (multinomials, [(P,), (P + 1,)]),
    (normals, [(X,), (torch.ones(3, 3),)]),
    (distributions, [(P,), (P / 2,)]),
    (in_loops, [(0,), (5,), (20,)]),
    (unused, [(X,)]),
    (raises, [(1,), (2,)]),
]
IDS = [function.__name__ for function, _ in CASES]


def check(function: Callable[..., Any], calls: list[tuple[Any, ...]], run: Callable[..., Any]) -> None:
    for seed, call in enumerate(calls):
        outcomes, states = [], []
        for machine in (lambda given: eager(function, given), run):
            torch.manual_seed(seed)
            torch.randn(1)  # the generator holds the second of a pair
            outcomes.append(machine(Args(call)))
            states.append(torch.get_rng_state())
        assert type(outcomes[0].error) is type(outcomes[1].error), outcomes[1].error
        _same(outcomes[0].result, outcomes[1].result, "result")
        assert torch.equal(states[0], states[1]), f"the generator behind {function.__name__}{call}"


@pytest.mark.parametrize(("function", "calls"), CASES, ids=IDS)
def test_interpreter_draws_eagers_numbers(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    check(function, calls, lambda given: eager(lambda *args: _interpret(function, args, {}), given))


@pytest.mark.compiled_together
@pytest.mark.parametrize("optimize", sorted({0, 2, OPTIMIZE}))
@pytest.mark.parametrize(("function", "calls"), CASES, ids=IDS)
def test_compiled_code_draws_eagers_numbers(
    function: Callable[..., Any], calls: list[tuple[Any, ...]], optimize: int
) -> None:
    target = scriptc.compile(function, optimize=optimize)
    check(function, calls, lambda given: compiled(target, given))


WRONG: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x, p: F.dropout(x, p), (X, 1.5)),
    (lambda x, p: torch.bernoulli(x), (X, 0.5)),
    (lambda x, p: x.bernoulli_(p), (X, -0.5)),
    (lambda x, p: x.normal_(0, p), (X, -1.0)),
    (lambda x, p: x.uniform_(1, p), (X, -1.0)),
    (lambda x, p: x.exponential_(p), (X, 0.0)),
    (lambda x, p: torch.randint(5, p, (2,)), (X, 5)),
    (lambda x, p: torch.multinomial(x, p), (X, 2)),
    (lambda x, p: torch.multinomial(x * 0, p), (X, 2)),
    (lambda x, p: torch.multinomial(x, p, True), (X, 2)),
    (lambda x, p: torch.multinomial(x, p), (X.abs(), 9)),
]


@pytest.mark.compiled_together
@pytest.mark.parametrize("index", range(len(WRONG)))
def test_wrong_arguments_raise_as_in_eager(index: int) -> None:
    function, call = WRONG[index]
    expected, found = eager(function, Args(call)), compiled(scriptc.compile(function, optimize=0), Args(call))
    assert expected.error is not None
    assert type(found.error) is type(expected.error)


def test_modules_in_training_mode() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.RReLU(), nn.BatchNorm1d(8), nn.AlphaDropout(0.2))
    target = scriptc.compile(net, optimize=0)
    for seed in range(3):
        torch.manual_seed(seed)
        expected = net(X)
        torch.manual_seed(seed)
        torch.testing.assert_close(target(X), expected)


def test_gradients_of_dropout_in_place() -> None:
    def f(x: Tensor) -> Tensor:
        y = F.alpha_dropout(F.dropout(x.sin(), 0.4, inplace=True), 0.3, True, True)
        return F.dropout(torch.flatten(y.view(2, 2, 6) + 1, 1), 0.2, inplace=True)

    x = X.clone().requires_grad_()
    found = []
    for target in (scriptc.compile(f, optimize=OPTIMIZE), f):
        torch.manual_seed(7)
        found.append(torch.autograd.grad(target(x).sum(), x))
    torch.testing.assert_close(*found)


def test_calls_without_random_numbers_leave_the_generator_alone() -> None:
    before = torch.get_rng_state()
    scriptc.compile(lambda x: x + 1, optimize=0)(X)
    assert torch.equal(before, torch.get_rng_state())
