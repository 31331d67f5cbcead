"""What compiled code cannot contain, each with what the compiler's hint says to write instead.

The line that is refused bears the comment `# refused`; the rewritten function is run in Python and in C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from three_ways import Args

REJECTED: list[Rejected] = []
X = torch.arange(3.0)
counter = 0


@dataclass
class Rejected:
    """`refused` gives a CompileError at its marked line; `instead` does what was meant."""

    refused: Callable[..., Any]
    instead: Callable[..., Any]
    calls: list[Args]

    @property
    def name(self) -> str:
        return self.refused.__name__


def write(instead: Callable[..., Any], *calls: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Lists a function that is refused with the one to write instead."""

    def listed(refused: Any) -> Any:
        REJECTED.append(Rejected(refused, instead, [Args(c) for c in calls]))
        return refused

    return listed


def plain(x):
    return x * 2


@write(lambda x: plain(x), (X,))
def awaits(x):
    async def inner():  # refused
        return x * 2

    return inner


def squares_in_a_list(n):
    found = []
    for i in range(n):
        found.append(i * i)
    return found


@write(squares_in_a_list, (4,), (0,))
def yields(n):
    def squares():  # noqa: ANN202
        for i in range(n):
            yield i * i  # refused

    return list(squares())


class Point:
    def __init__(self, x):
        self.x = x


def class_outside(x):
    return Point(x).x + 1


@write(class_outside, (X,))
def class_inside(x):
    class Inner:  # refused
        pass

    return x + 1


def returns_the_count(x, count):
    return x, count + 1


@write(returns_the_count, (X, 3))
def global_assigned(x, count):
    global counter
    counter = count + 1  # refused
    return x, counter


def names_of_functions(n):
    found = []
    for i in range(n):
        found.append("sin" if i % 2 else "cos")
    return [math.sin(1.0) if name == "sin" else math.cos(1.0) for name in found]


@write(names_of_functions, (3,), (0,))
def functions_in_a_list_that_grows(n):
    found = []
    for i in range(n):
        found.append(math.sin if i % 2 else math.cos)  # refused
    return [f(1.0) for f in found]


def tuple_of_pairs(n):
    found = ()
    for i in range(n):
        found = found + ((i, str(i)),)
    return [i for i, _ in found]


@write(tuple_of_pairs, (3,), (0,))
def tuple_of_kinds_that_grows(n):
    found = ()
    for i in range(n):  # refused
        found = found + (i, str(i))
    return [i for i in found if isinstance(i, int)]


def other_names(x, n):
    a = x * n
    b = n + 1
    return a, b


@write(other_names, (X, 2))
def decorated_inside(x, n):
    @torch.no_grad()
    def inner():  # refused
        return x * n

    return inner(), n + 1


def import_at_the_top(x):
    return torch.tanh(x)


@write(import_at_the_top, (X,))
def imports_what_is_not_imported(x):
    import not_a_module_that_exists  # refused

    return not_a_module_that_exists.tanh(x)


def views_by_name(x):
    return x.mT


@write(views_by_name, (torch.ones(2, 3, 4),))
def transposed_whole(x):
    return x.T  # refused


def compared_by_value(a, b):
    return a + b == b + a


@write(compared_by_value, ("ab", "c"), ("cd", "e"), ("f", "g"), ("h", "i"), ("j", "k"))
def identity_of_strings(a, b):
    return a + b is b + a  # refused


def viewed_anew(x):
    y = x * 2
    y = y.unsqueeze(0)
    return y + 1


@write(viewed_anew, (X,))
def reshaped_in_place(x):
    y = x * 2
    y.unsqueeze_(0)  # refused
    return y + 1
