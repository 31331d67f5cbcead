"""NumPy's global generator, `np.random`, which compiled code draws from as NumPy does and leaves as NumPy leaves it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from settings import OPTIMIZE
from three_ways import Args, _interpret, assert_same, compiled, eager

import scriptc

X = torch.arange(6.0).reshape(2, 3)


def uniform_numbers(x: Any, n: int) -> Any:
    both = np.random.rand(), np.random.uniform(-1, n)
    return both, np.random.rand(n, 2), np.random.random((2, n)), np.random.uniform(0, 5, 4), np.random.random_sample(n)


def normal_numbers(x: Any, n: int) -> Any:
    return (
        np.random.randn(n),
        np.random.normal(2, 3),
        np.random.standard_normal((2, 2)),
        np.random.normal(0.5, 2, n),
        np.random.randn(),
    )


def integers(x: Any, n: int) -> Any:
    wide = np.random.randint(0, 2**40, 3), np.random.randint(-(2**62), 2**62, 2), np.random.randint(0, 2**32, 2)
    return (
        np.random.randint(n + 1),
        np.random.randint(3, 9, 5),
        wide,
        np.random.randint(5, 6),
        x[:, : np.random.randint(1, 3)],
    )


def orders(x: Any, n: int) -> Any:
    a, rows, items = np.arange(n), x.numpy(), list(range(n))
    np.random.shuffle(a)
    np.random.shuffle(rows)
    np.random.shuffle(items)
    return np.random.permutation(n), np.random.permutation(a), a, rows, items, np.random.permutation(rows), x


def choices(x: Any, n: int) -> Any:
    weighted = np.random.choice(3, 5, p=[0.2, 0.3, 0.5]), np.random.choice(3, p=[0.5, 0.5, 0.0])
    of_items = np.random.choice([10, 20, 30]), np.random.choice(np.array([1.5, 2.5]), size=(2, 2))
    return np.random.choice(5), np.random.choice(n, 3), np.random.choice(n, n, replace=False), weighted, of_items


def decides(x: Any, n: int) -> Any:
    found = [i if np.random.rand() < 0.5 else -1 for i in range(n)]
    if np.random.randint(2):
        return found, x + torch.rand(2, 1)
    return found, x * np.random.rand()


def raises_between(x: Any, n: int) -> Any:
    drawn = np.random.randn(3)
    np.random.shuffle(drawn)
    if n > 1:
        raise ValueError(f"{n}")
    return drawn, np.random.randint(5, n)


def edges(x: Any, n: int) -> Any:
    """Calls that NumPy refuses, and those that it takes without elements or dims."""
    probabilities = np.array([0.1, 0.2, 0.7], np.float32)
    found = [
        np.random.choice(0, (0, 2)),
        np.random.choice([1.5, n], ()),
        np.random.choice(3, 2, p=probabilities),
        np.random.permutation(-n),
        np.random.randint(0, n, size=0),
        np.random.randint(0, n, 3, dtype=np.int32),
        np.random.randint(0, n, dtype=np.int64),
        np.random.uniform(size=()),
    ]
    for draw in (
        lambda: np.random.choice(x.numpy()),
        lambda: np.random.choice(0),
        lambda: np.random.choice(2.5),
        lambda: np.random.choice([], 2),
        lambda: np.random.choice(n, n + 1, replace=False),
        lambda: np.random.choice(3, p=[0.5, 0.2, 0.2]),
        lambda: np.random.choice(3, p=[0.5, 0.6, -0.1]),
        lambda: np.random.choice(3, p=[float("nan"), 0, 1]),
        lambda: np.random.choice(3, p=[1.0]),
        lambda: np.random.choice(3, p=[[1.0, 0, 0]]),
        lambda: np.random.choice(3, -n),
        lambda: np.random.rand(-n),
        lambda: np.random.normal(0, -0.0),
        lambda: np.random.uniform(0, math.inf),
        lambda: np.random.randint(-n),
        lambda: np.random.randint(n, n),
        lambda: np.random.randint(0, 2**40, dtype=np.int32),
        lambda: np.random.permutation(2.5),
    ):
        try:
            draw()
        except (ValueError, IndexError, OverflowError) as e:
            found.append(str(e))
    return found, np.random.rand()


FUNCTIONS = (uniform_numbers, normal_numbers, integers, orders, choices, decides, raises_between, edges)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["interpreted", "compiled"])
def test_numbers_are_numpys_and_the_generator_goes_on(function: Any, way: str) -> None:
    target = scriptc.compile(function, optimize=OPTIMIZE)
    for n in (1, 4, 3):
        outcomes, states = [], []
        for run in (lambda given: eager(function, given), lambda given: other(function, target, way, given)):
            np.random.seed(n)
            np.random.randn()  # the generator keeps the second number of a pair
            torch.manual_seed(n)
            outcomes.append(run(Args((X, n))))
            states.append((*map(repr, np.random.get_state(legacy=False).items()), torch.get_rng_state().tolist()))
        assert_same(*outcomes)
        assert states[0] == states[1]


def other(function: Any, target: Any, way: str, given: Args) -> Any:
    if way == "compiled":
        return compiled(target, given)
    return eager(lambda *args: _interpret(function, args, {}), given)


def test_numbers_beyond_one_block_of_words() -> None:
    def many() -> Any:
        return np.random.rand(700), np.random.randn(3), np.random.randint(0, 7, 1000)

    np.random.seed(5)
    expected = many()
    np.random.seed(5)
    for found, want in zip(scriptc.compile(many, optimize=OPTIMIZE)(), expected, strict=True):
        assert (found == want).all()


def test_numbers_are_equal_where_gradients_flow() -> None:
    def noisy(x: Any) -> Any:
        for _ in range(3):
            x = (
                x.sin() * torch.from_numpy(np.random.randn(3))
                if np.random.rand() < 0.5
                else x * np.random.randint(1, 4)
            )
        return x.sum()

    found = []
    for function in (noisy, scriptc.compile(noisy, optimize=OPTIMIZE)):
        np.random.seed(7)
        x = torch.arange(3.0, dtype=torch.float64).requires_grad_()
        y = function(x)
        y.backward()
        found.append((y.detach(), x.grad, np.random.rand()))
    for got, want in zip(*found, strict=True):
        torch.testing.assert_close(got, want)


def test_compare_leaves_the_generator_alone() -> None:
    before = np.random.get_state()
    assert scriptc.compare(uniform_numbers, X, 3).ok
    assert all(np.array_equal(a, b) for a, b in zip(before, np.random.get_state(), strict=True))


@pytest.mark.usefixtures("compiles_once_in_test")
def test_a_package_has_a_generator_of_its_own(tmp_path: Any) -> None:
    def noisy(x: Any) -> Any:
        return x + torch.from_numpy(np.random.rand(3)).float(), np.random.randint(0, 9, 4), np.random.randn(2)

    scriptc.build(noisy, X, out=tmp_path / "noisy", optimize=0, march="native")
    package = scriptc.load(tmp_path / "noisy")
    package.seed(3)
    found = package(X.numpy())
    np.random.seed(3)
    for got, want in zip(found, noisy(X), strict=True):
        np.testing.assert_array_equal(got, np.asarray(want))
