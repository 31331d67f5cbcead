"""Objects: named tuples, dataclasses, plain classes, enums, dicts."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


class Point(NamedTuple):
    x: torch.Tensor
    y: int = 3

    def total(self):
        return self.x.sum() + self.y

    @property
    def double(self):
        return self.y * 2


@dataclass
class State:
    h: torch.Tensor
    step: int = 0
    log: list = field(default_factory=list)

    def advance(self, x):
        self.h = torch.tanh(self.h + x)
        self.step += 1
        return self

    @property
    def size(self):
        return self.h.shape[0]

    @staticmethod
    def zeros(n):
        return State(torch.zeros(n))

    @classmethod
    def ones(cls, n):
        return cls(torch.ones(n), step=1)


@dataclass(frozen=True)
class Config:
    scale: float
    bias: int = 1


class Base:
    factor = 2

    def __init__(self, n):
        self.n = n

    def value(self):
        return self.n * self.factor

    def __call__(self, k):
        return self.value() + k


class Derived(Base):
    factor = 3

    def __init__(self, n, extra):
        super().__init__(n)
        self.extra = extra

    def value(self):
        return super().value() + self.extra

    def __add__(self, other):
        return Derived(self.n + other.n, self.extra)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@cases((X, 1), (X, 2))
def named_tuples(x, n):
    p = Point(x)
    q = p._replace(y=n)
    x2, y2 = q
    return p, q, q.total(), q.double, p.y + y2, q[1]


@cases((X, 0), (X, 2))
def dataclass_in_a_loop(x, n):
    s = State.zeros(3)
    for i in range(n):
        s.advance(x[i])
    return s.h, s.step, s.size


@cases((X, 0), (X, 2))
def dataclass_returned(x, n):
    s = State.ones(3)
    for i in range(n):
        s = State(s.h + x[i], s.step + 1)
    return s.h, s.step


@cases(0, 1)
def shared_object(n):
    a = Base(1)
    b = a
    if n:
        b.n = 10
    return a.n, b.n, a is b


@cases((2.0, 3), (0.5, 4))
def frozen(s, b):
    c = Config(s)
    d = replace(c, bias=b)
    return c.scale * c.bias + d.bias


@cases(1, 5)
def inheritance(n):
    d = Derived(n, 100)
    e = d + Derived(1, 2)
    return d.value(), d(1), e.value(), isinstance(d, Base), e.extra


@cases(0, 1)
def enums(n):
    c = Colour.RED if n else Colour.BLUE
    if c is Colour.RED:
        return c.value, c.name
    return c.value + 10, "other"


@cases(0, 3)
def dicts(n):
    d = {"a": 1}
    d["b"] = n
    d["a"] += 5
    for i in range(n):
        d["b"] = d["b"] + i
    e = {**d, "c": 2}
    f = {k: v * 2 for k, v in e.items()}
    d.update(a=7)
    return d, f, "a" in d, len(f), list(f), d.get("z", -1), d.setdefault("a", 3), d.pop("b")


@cases(0, 3)
def dict_in_branches(n):
    d = {"k": 1}
    if n:
        d["k"] = 2
    else:
        d["k"] = 3
    return d["k"]


@cases(1, 2, 5)
def sets(n):
    s = {1, 2, 3}
    t = {x * 2 for x in (1, 2)}
    return n in s, n in {n, 7}, len(s | t), n not in t


@cases(1)
def attributes(n):
    b = Base(n)
    return hasattr(b, "n"), hasattr(b, "nope"), getattr(b, "n"), getattr(b, "nope", 5)  # noqa: B009
