"""Python's own random numbers: the module `random`, whose generator goes on as Python's does."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from three_ways import Args, _interpret, assert_same, compiled, eager

import scriptc

X = torch.ones(2)


def forces(x: Any, n: int, ratio: float) -> Any:
    """As decoders choose between the target and their own last word."""
    chosen = []
    for i in range(n):
        chosen.append(i if random.random() < ratio else -1)
    return chosen, x * random.random()


def integers(x: Any, n: int, ratio: float) -> Any:
    return random.randint(0, 9), random.randrange(3, 30, 4), random.getrandbits(n), random.getrandbits(63)


def items(x: Any, n: int, ratio: float) -> Any:
    xs = list(range(n))
    random.shuffle(xs)
    return xs, random.choice([1, 2, 3]), random.choices([1, 2, 3], k=4), random.sample(range(100), 3)


def distributions(x: Any, n: int, ratio: float) -> Any:
    return random.uniform(2, 5), random.gauss(0, ratio), random.expovariate(2.0), random.betavariate(1 + ratio, 2)


def beside_torch(x: Any, n: int, ratio: float) -> Any:
    noise = torch.rand(2)
    return (noise, random.random()) if random.random() < ratio else (x + torch.rand(2), 0.0)


def refused_bits(x: Any, n: int, ratio: float) -> Any:
    return random.getrandbits(-n)


FUNCTIONS = (forces, integers, items, distributions, beside_torch, refused_bits)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["interpreted", "compiled"])
def test_numbers_are_pythons_and_the_generator_goes_on(function: Any, way: str) -> None:
    target = scriptc.compile(function, optimize=OPTIMIZE)
    for n, ratio in ((1, 0.0), (5, 0.5), (40, 1.0), (3, 0.5)):
        outcomes, states = [], []
        for run in (lambda given: eager(function, given), lambda given: other(function, target, way, given)):
            random.seed(n)
            torch.manual_seed(n)
            outcomes.append(run(Args((X, n, ratio))))
            states.append((random.getstate(), torch.get_rng_state().tolist()))
        assert_same(*outcomes)
        assert states[0] == states[1]


def other(function: Any, target: Any, way: str, given: Args) -> Any:
    if way == "compiled":
        return compiled(target, given)
    return eager(lambda *args: _interpret(function, args, {}), given)


def test_compare_leaves_the_generator_alone() -> None:
    before = random.getstate()
    assert scriptc.compare(forces, X, 3, 0.5).ok
    assert random.getstate() == before
