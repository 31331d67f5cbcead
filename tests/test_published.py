"""`tests.published` counts differences as it says. The tests do not run the models, whose packages they do not install."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch

from tests.published.check import difference

X = torch.tensor([1.0, 2.0])


class Output(OrderedDict):
    """A dict with attributes, as models return it."""

    def __init__(self, x: torch.Tensor, k: int) -> None:
        super().__init__(x=x)
        self.k = k


@pytest.mark.parametrize("value", [X, (X, 1), [X, None, 0.1], {"a": X}, Output(X, 2)])
def test_equal(value: Any) -> None:
    assert difference(value, value) is None


def test_equal_within_the_tolerance_of_a_dtype() -> None:
    for dtype, error in ((torch.float32, 1e-5), (torch.complex64, 1e-5j), (torch.complex128, 1e-10)):
        assert difference(X.to(dtype) + error, X.to(dtype)) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (X, X + 1),
        (X, X.double()),
        (X + 0j, X + 0.1j),
        (X, X[:1]),
        ((X, 1), (X, 2)),
        (1.5, 1.6),
        ((X,), [X]),
        ({"a": X}, {"b": X}),
        (OrderedDict(x=X), Output(X, 2)),
        (X, torch.tensor([1.0, float("nan")])),
    ],
)
def test_different(found: Any, expected: Any) -> None:
    assert difference(found, expected) is not None
    assert difference(expected, found) is not None
