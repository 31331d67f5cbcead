"""The cases of `python -m benchmarks ulp`: the functions of one float, as a user calls them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Case:
    """`exact`: the function in double, if eager's own formula loses digits in double too; None: the same function."""

    name: str
    function: Callable[[Tensor], Tensor]
    referee: Callable[[Tensor], Tensor] | None = None

    @property
    def exact(self) -> Callable[[Tensor], Tensor]:
        return self.referee or self.function


def _called(name: str) -> Case:
    function = getattr(torch, name)
    return Case(name, lambda x: function(x))


def _gelu(x: Tensor) -> Tensor:
    return 0.5 * x * torch.erfc(-x * math.sqrt(0.5))


def _gelu_tanh(x: Tensor) -> Tensor:
    return x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))


_PLAIN = (
    "exp exp2 expm1 log log2 log10 log1p sigmoid tanh erf erfc erfinv sin cos tan asin acos atan sinh cosh asinh acosh atanh "
    "sqrt rsqrt reciprocal lgamma digamma"
)

CASES = (
    *map(_called, _PLAIN.split()),
    Case("softplus", lambda x: F.softplus(x)),
    Case("logsigmoid", lambda x: F.logsigmoid(x)),
    Case("silu", lambda x: F.silu(x)),
    Case("gelu", lambda x: F.gelu(x), _gelu),
    Case("gelu, tanh", lambda x: F.gelu(x, approximate="tanh"), _gelu_tanh),
    Case("mish", lambda x: F.mish(x)),
    Case("elu", lambda x: F.elu(x)),
    Case("selu", lambda x: F.selu(x)),
    Case("logit", lambda x: torch.logit(x)),
    Case("sinc", lambda x: torch.sinc(x)),
    Case("x ** 2", lambda x: x**2),
    Case("x ** 3", lambda x: x**3),
    Case("x ** 0.5", lambda x: x**0.5),
    Case("x ** -0.5", lambda x: x**-0.5),
    Case("x ** -1", lambda x: x**-1),
    Case("x ** 2.5", lambda x: x**2.5),
    Case("x ** 0.25", lambda x: x**0.25),
    Case("2 ** x", lambda x: 2**x),
    Case("10 ** x", lambda x: 10**x),
)
