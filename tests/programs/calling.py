"""Calls: arguments of every form, methods, inheritance, closures, modules."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from three_ways import Program, call
from torch import nn

from programs.cases import PROGRAMS, cases, tensor

X = tensor(3, 4)
SCALE = 3
TABLE = {"a": 2, "b": (1, 2)}
WEIGHT = tensor(4, 4, seed=9)


def helper(x, k=2, *, bias=1.0):
    if k == 0:
        return x
    for i in range(k):
        if i == 3:
            return x * 100
        x = x + bias
    return x * 2


@cases((X, 0), (X, 2), (X, 7))
def inlined_early_return(x, n):
    y = helper(x, n)
    return helper(y, bias=0.5) + helper(x, 1, bias=2)


@cases(call(X), call(X, 2), call(X, b=3), call(b=1, x=X, c=True), call(X, 1, False), call(X, 2.5))
def defaults(x, b=4, c=None):
    return (x * b if c else x + b), c


@cases(call(X, k=2), call(X, k=1.5), call(X, k=2, flag=True))
def keyword_only(x, *, k, flag=False):
    return x * k if flag else x - k


@cases(call(X, 1), call(X, b=1), call())
def positional_only(x, /, b=2):
    return x * b


@cases(call(X), call(X, 1), call(X, 1, 2.5), call(X, X, X))
def star_args(x, *rest):
    for r in rest:
        x = x + r
    return x, len(rest)


@cases(call(X), call(X, a=1), call(X, b=2, a=X))
def star_kwargs(x, **options):
    for k in options:
        x = x * options[k]
    return x, len(options)


@cases(call(X, 1, 2, scale=2.0), call(X))
def everything(x, *args, scale=1.0, **kwargs):
    return target(x * scale, *args, **kwargs)


def target(x, a=1, b=2, **more):
    return x * a + b


@cases((X, 2), (X, 0))
def closures(x, n):
    k = n + 1

    def inner(y, m=n):
        def innermost(z):
            return z * k + m

        return innermost(y) + n

    k = k + 1
    double = lambda v: v * 2  # noqa: E731
    return inner(double(x)), inner(x, 5)


def make_captured(scale, weight):
    def captured(x):
        return x @ weight * scale

    return captured


PROGRAMS.append(Program(make_captured(2.5, WEIGHT), [call(X)]))


@cases(X)
def reads_globals(x):
    return x * SCALE + TABLE["a"] * TABLE["b"][1] + F.relu(x @ WEIGHT)


class Config:
    hidden = 3

    def __init__(self, n):
        self.n = n
        self.names = ["a", "b"]

    @property
    def doubled(self):
        return self.n * 2

    @staticmethod
    def fixed(x):
        return x + 1

    @classmethod
    def from_class(cls, x):
        return x * cls.hidden

    def method(self, x, k=2):
        return self.fixed(x) * k + self.doubled


CONFIG = Config(4)


@cases(X)
def uses_object(x):
    return CONFIG.method(x) + CONFIG.method(x, k=CONFIG.n) + CONFIG.from_class(x) + len(CONFIG.names)


class Base(nn.Module):
    gain = 2.0

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)
        self.register_buffer("offset", torch.arange(4.0))
        self.steps = 3
        self.mode = "sum"
        self.optional = None

    @property
    def doubled(self):
        return self.linear.weight * 2

    @staticmethod
    def static(x):
        return x - 1

    @classmethod
    def klass(cls, x):
        return x * cls.gain

    def step(self, x):
        return torch.tanh(self.linear(x)) + self.offset

    def forward(self, x):
        for _ in range(self.steps):
            x = self.step(x)
        return x


class Derived(Base):
    gain = 0.5

    def step(self, x):
        return super().step(x) * self.gain

    def forward(self, x, scale: float = 1.0):
        y = super().forward(x)
        y = self.klass(self.static(y)) @ self.doubled
        if self.optional is not None:
            y = y + self.optional
        if self.mode == "sum" and not self.training:
            return y.sum(-1) * scale
        return y * scale


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
        self.table = nn.ModuleDict({"act": nn.Tanh(), "norm": nn.LayerNorm(4)})
        self.seq = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.shared = self.layers[0]
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(4)) for _ in range(2)])

    def forward(self, x, limit: float):
        for i, layer in enumerate(self.layers):
            if i == 3:
                break
            x = layer(x)
            if x.abs().sum() > limit:
                return x
        for i in range(len(self.layers)):
            x = x + self.layers[i].bias
        x = self.seq(self.table["act"](x)) + self.shared(x) + self.seq[0].bias.sum() + self.layers[-1].weight.sum()
        for w in self.weights:
            x = x * w
        return x


PROGRAMS.append(Program(Derived().eval(), [call(X), call(X, 2.5), call(tensor(0, 4)), call(X, scale=3)]))
PROGRAMS.append(Program(Derived(), [call(X), call(tensor(4))]))
PROGRAMS.append(Program(Derived().step, [call(X)]))
PROGRAMS.append(Program(Stack(), [call(X, 1e9), call(X, 0.1)]))


@cases(call(X, "relu"), call(X, "tanh"), call(X, None))
def known_args(x, kind):
    if kind == "relu":
        return torch.relu(x)
    return x if kind is None else torch.tanh(x)


@cases((X, 0), (X, 1), (X, -1), (X, 2))
def int_needed_as_dim(x, dim):
    return x.sum(dim)


@cases((X, torch.float64), (X, torch.int32))
def dtype_arg(x, dtype):
    return x.to(dtype) + torch.ones(1, dtype=dtype)


@cases((X, torch.relu), (X, torch.tanh), (X, helper))
def function_arg(x, f):
    return f(x)


@cases((X,))
def isinstances(x):
    if isinstance(x, torch.Tensor) and not isinstance(x, (list, tuple)):
        return x + 1
    return 0


@cases((X, None), (X, X))
def optional_arg(x, mask=None):
    if mask is None:
        mask = torch.ones_like(x)
    return x * mask


def evaluation_order_helper(log, v):
    log.append(v)
    return v


@cases(([0],))
def evaluation_order(log):
    a = evaluation_order_helper(log, 1) + evaluation_order_helper(log, 2) * evaluation_order_helper(log, 3)
    b = evaluation_order_helper(log, 4) < evaluation_order_helper(log, 3) < evaluation_order_helper(log, 5)
    return a, b


def no_return(x):
    x + 1


@cases(X)
def returns_none(x):
    return no_return(x)


@cases(X)
def nothing_at_all(x):
    pass


def mutates(x, xs):
    x.add_(1)
    xs.append(2)


@cases((X, [1]))
def callee_mutates(x, xs):
    mutates(x, xs)
    mutates(x, xs)
    return x.sum(), len(xs)


@cases(X)
def wrong_arguments(x):
    return helper(x, 1, 2, 3)


@cases(X)
def no_such_name(x):
    return x + no_such_thing  # noqa: F821


@cases(X)
def no_such_attribute(x):
    return x.no_such_thing


half = partial(torch.mul, other=0.5)
