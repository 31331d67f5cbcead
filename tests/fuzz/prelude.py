"""Generated programs begin with this text: imports, and the classes and functions that they use."""

from __future__ import annotations

PRELUDE = '''\
import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import itertools
import math
import types
import typing

import numpy
import torch

ORIGINALS = torch.nn.ReLU.forward, torch.abs, math.sqrt, torch.nn.functional.relu


@contextlib.contextmanager
def noted(log, k):
    log.append(k)
    try:
        yield k + 1
    finally:
        log.append(-k)


class Point(typing.NamedTuple):
    n: int
    v: torch.Tensor

    def moved(self, k):
        return self._replace(n=self.n + k, v=self.v + k)


@dataclasses.dataclass
class Box:
    n: int
    v: torch.Tensor
    tag: str = "a"


class Stop(Exception):
    def __init__(self, code):
        super().__init__(f"stopped by {code}")
        self.code = code


class Cell:
    def __init__(self, n, v):
        self.n = n
        self.v = v
        self.log = [n]

    def step(self, k):
        self.n += k
        self.log = self.log[-5:] + [self.n]
        return self.v + k

    @property
    def size(self):
        return len(self.v) + len(self.log)


class Down:
    def __init__(self, n):
        self.n = min(n, 5)
        self.asked = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Evens:
    def __init__(self, n, log):
        self.n = n
        self.log = log

    def __iter__(self):
        for i in range(self.n % 4):
            if len(self.log) < 20:
                self.log.append(i)
            yield 2 * i


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, i):
        return self.rows[i] + i


class Output(collections.OrderedDict):
    def __post_init__(self):
        for each in dataclasses.fields(self):
            if getattr(self, each.name) is not None:
                self[each.name] = getattr(self, each.name)

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Found(Output):
    v: torch.Tensor = None
    n: int = None
    w: torch.Tensor = None


class Named(dict):
    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        del self[name]


class Tally(dict):
    def __missing__(self, key):
        self[key] = len(key)
        return 7

    def total(self):
        return sum(self.values()) % 97


class Stack(list):
    def __init__(self, items):
        super().__init__(items)
        self.pushed = 0

    def append(self, item):
        self.pushed += 1
        super().append(item % 97)

    def push(self, item):
        self.append(item)
        return len(self)

    @property
    def top(self):
        return self[-1]


class Finds:
    def __init__(self, k):
        self.log = []
        self.k = k

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if len(self.log) < 20:
            self.log.append(len(name))
        return len(name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value if name == "log" else value % 97)


LEVEL = contextvars.ContextVar("LEVEL", default=0)


def scaled(x, a=1, b=2, **more):
    return (x * a - b + len(more)) % 97


'''
