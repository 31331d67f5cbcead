"""What decorators wrap: their functions get what callers give, as they give it."""

from __future__ import annotations

import functools

import pytest
import torch

import scriptc

X = torch.tensor([1.0, 2.0])


def passes_on(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return inner


def has_more(function):
    @functools.wraps(function)
    def inner(*args, scale=2, plain: bool = False, **kwargs):
        if plain:
            return function(*args, **kwargs)
        return function(*args, **kwargs) * scale

    return inner


def has_others(function):
    @functools.wraps(function)
    def inner(x, y=X, *, k=1.5):
        return function(x, 3) * k + y

    return inner


def looks(function):
    @functools.wraps(function)
    def inner(self, *args, **kwargs):
        if "n" in kwargs:
            return function(self, *args, **kwargs) * 10
        return function(self, *args, **kwargs) + len(args)

    return inner


def plus(x, n: int = 1):
    return x + n


class Method(torch.nn.Module):
    @passes_on
    @torch.no_grad()
    def forward(self, x, n: int = 1):
        return x + n

    @looks
    def looked_at(self, x, n: int = 1):
        return x + n

    def all_of_them(*args, **kwargs):
        return args[1] * len(args) + kwargs.get("n", 0)


@pytest.mark.parametrize(
    "target",
    [
        passes_on(plus), has_more(plus), has_others(plus), has_more(passes_on(plus)), passes_on(has_more(plus)), Method(),
        Method().looked_at, Method().all_of_them,
    ],
)  # fmt: skip
def test_decorated(target) -> None:
    made = scriptc.compile(target)
    taken = 0
    for args, kwargs in (
        ((X,), {}), ((X, 3), {}), ((X,), {"n": 4}), ((), {"x": X}), ((), {"n": 2, "x": X}), ((X, 1), {"scale": 5}),
        ((X,), {"plain": True}), ((X, X), {"k": 2}), ((X,), {"wrong": 1}), ((X, 1, 2), {}),
    ):  # fmt: skip
        try:
            expected = target(*args, **kwargs)
        except (TypeError, IndexError) as e:
            with pytest.raises(type(e)):
                made(*args, **kwargs)
        else:
            taken += 1
            assert torch.equal(made(*args, **kwargs), expected)
    assert taken >= 3


def test_what_passes_its_arguments_on_has_the_signature_of_what_it_wraps() -> None:
    made = scriptc.compile(Method())
    made(X, n=3), made(n=2, x=X)
    assert made.signatures() == ["x: f32[?], n: int"]
