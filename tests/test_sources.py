"""Which text is a function's: several lambdas may stand on a line."""

from __future__ import annotations

from types import FunctionType

import torch
import torch.nn.functional as F
from settings import OPTIMIZE

import scriptc

# fmt: off
ALIKE = [lambda x: F.relu(x), lambda x: F.silu(x), lambda x: x + 1, lambda x: x + 2, lambda x: (lambda x: x * 2)(x)]
BRANCHING = [lambda x: 1 if x.size(0) > 1 else 2, lambda x: 1 if x.size(0) > 2 else 3, lambda x: None, lambda x: f"ä{x.dim()}ö"]
MADE = (lambda x: lambda y: (y * 2, x))(1), (lambda x: lambda y: (y * 3, x))(1)
# fmt: on


def test_lambdas_of_a_line_are_told_apart() -> None:
    x = torch.tensor([-1.0, 2.0])
    for function in (*ALIKE, *BRANCHING, *MADE):
        assert repr(scriptc.compile(function, optimize=OPTIMIZE)(x)) == repr(function(x))


def test_copies_of_code_that_are_called_by_their_class() -> None:
    """As libraries make them that want a code object for each class."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    code = forward.__code__.replace(co_name="Layer.forward")
    copied = FunctionType(code, forward.__globals__, "forward")
    assert scriptc.compile(copied, optimize=OPTIMIZE)(torch.ones(2)).tolist() == [2, 2]
