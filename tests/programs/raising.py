"""Functions that raise; the comment at the end of a line is what the test looks for in messages and tracebacks."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Case(NamedTuple):
    function: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]
    marker: str


def seventh(xs):
    return xs[7] + 1  # seventh


def shape_mismatch(a, b):
    c = a * 2
    return c + b  # shapes


def matmul_mismatch(a, b):
    return a @ b  # matmul


def asserts(x):
    assert x.sum() > 0, "the sum must be positive"  # assertion
    assert x.dim() == 2  # bare assertion
    return x


def raises(n):
    if n > 2:
        raise ValueError(f"too large: {'n'}")  # value error
    for i in range(5):
        if i * n == 4:
            raise RuntimeError("reached four")  # in loop
    raise KeyError("key")  # key error


def stores_row(x, v):
    x[0] = v  # row


def stores_rows(x, v):
    x[[0, 2]] = v  # rows


def stores_masked(x, v):
    x[x < 1] = v  # masked


def narrows(x, length):
    return x.narrow(0, 1, length)  # narrow


def permutes(x):
    return x.permute(0, 0)  # permute


def divides(a, b):
    return a // b  # division


def helper(xs, i):
    return xs[i]  # helper


def outer(xs, i):
    y = 1
    return helper(xs, i + y)


def unbound(n):
    if n > 3:
        value = n
    return value  # unbound


def unpacks(xs):
    a, b, c = xs  # unpacking
    return a + b + c


def select(x, i):
    return x[i]  # select


def views(x, n):
    return x.view(n, -1)  # view


def stacks(xs):
    out = []
    for x in xs:
        out.append(x)
    return torch.stack(out)  # stack


def overflows(n):
    total = n
    while True:
        total = total * 3  # overflow


def items(x):
    return x.item()  # item


def truth(x):
    if x > 0:  # truth
        return x
    return -x


class Own(ValueError):
    pass


def not_caught(xs):
    try:
        return xs[0] / xs[9]  # not caught
    except ValueError:
        return xs[0]


def raised_again(xs):
    try:
        return xs[9]  # raised again
    except IndexError:
        raise


def from_a_handler(xs):
    try:
        return xs[9]
    except IndexError as e:
        raise Own(f"no item: {e}") from e  # from a handler


def through_finally(xs):
    n = 0
    try:
        return xs[9]  # through finally
    finally:
        n += len(xs)


def size_of_none(x):
    return x.sum().size(-1)  # size without dims


def stride_of_none(x):
    return x.sum().stride(0)  # stride without dims


def pops(xs, i):
    return xs.pop() if i is None else xs.pop(i)  # pops


def deletes(xs, i):
    del xs[i]  # deletes


def found_at(xs, x):
    return xs.index(x)  # found at


class Event(str, enum.Enum):
    START = "start"


def member(name):
    return Event(name.strip())  # member


def joins(x, y):
    return torch.cat([x, y])  # joins


def subtracts(a, b):
    return a - b  # subtracts


FIVE = [torch.ones(2)] * 5
CASES = [
    Case(seventh, lambda: (FIVE,), "seventh"),
    Case(shape_mismatch, lambda: (torch.ones(2, 3), torch.ones(2, 4)), "shapes"),
    Case(matmul_mismatch, lambda: (torch.ones(2, 3), torch.ones(4, 3)), "matmul"),
    Case(asserts, lambda: (-torch.ones(2, 2),), "assertion"),
    Case(asserts, lambda: (torch.ones(2),), "bare assertion"),
    Case(raises, lambda: (3,), "value error"),
    Case(raises, lambda: (1,), "in loop"),
    Case(raises, lambda: (-1,), "key error"),
    Case(stores_row, lambda: (torch.zeros(3, 4), torch.ones(5)), "row"),
    Case(stores_row, lambda: (torch.zeros(3, 4), torch.ones(2, 4)), "row"),
    Case(stores_row, lambda: (torch.zeros(3, 4), [1.0]), "row"),
    Case(stores_row, lambda: (torch.zeros(3, 4, dtype=torch.long), "text"), "row"),
    Case(stores_rows, lambda: (torch.zeros(3, 4), torch.ones(5)), "rows"),
    Case(stores_rows, lambda: (torch.zeros(3, 4), torch.ones(3, 2, 4)), "rows"),
    Case(stores_rows, lambda: (torch.zeros(3, 4), (1.0,)), "rows"),
    Case(stores_masked, lambda: (torch.zeros(3, 4), torch.ones(5)), "masked"),
    Case(narrows, lambda: (torch.zeros(3, 4), 3), "narrow"),
    Case(permutes, lambda: (torch.zeros(3, 4),), "permute"),
    Case(divides, lambda: (3, 0), "division"),
    Case(divides, lambda: (3.0, 0.0), "division"),
    Case(outer, lambda: (FIVE, 4), "helper"),
    Case(outer, lambda: (FIVE, -7), "helper"),
    Case(unbound, lambda: (1,), "unbound"),
    Case(unpacks, lambda: ([1, 2],), "unpacking"),
    Case(unpacks, lambda: ([1, 2, 3, 4],), "unpacking"),
    Case(unpacks, lambda: (torch.ones(2, 2),), "unpacking"),
    Case(select, lambda: (torch.ones(3, 2), 3), "select"),
    Case(select, lambda: (torch.ones(3, 2), -4), "select"),
    Case(views, lambda: (torch.ones(3, 2), 4), "view"),
    Case(views, lambda: (torch.ones(4, 2).t(), 8), "view"),
    Case(stacks, lambda: ([torch.ones(2), torch.ones(3)],), "stack"),
    Case(stacks, lambda: ([],), "stack"),
    Case(items, lambda: (torch.ones(2),), "item"),
    Case(not_caught, lambda: ([1.0],), "not caught"),
    Case(raised_again, lambda: ([1.0],), "raised again"),
    Case(from_a_handler, lambda: ([1.0],), "from a handler"),
    Case(through_finally, lambda: ([1.0],), "through finally"),
    Case(truth, lambda: (torch.ones(2),), "truth"),
    Case(size_of_none, lambda: (torch.ones(2),), "size without dims"),
    Case(stride_of_none, lambda: (torch.ones(2),), "stride without dims"),
    Case(pops, lambda: ([], None), "pops"),
    Case(pops, lambda: ([], 3), "pops"),
    Case(pops, lambda: ([1], 1), "pops"),
    Case(pops, lambda: ([1], -2), "pops"),
    Case(deletes, lambda: ([1], 1), "deletes"),
    Case(found_at, lambda: ([1], 2), "found at"),
    Case(found_at, lambda: (["a"], "b"), "found at"),
    Case(joins, lambda: (torch.ones(2), torch.tensor(2.0)), "joins"),
    Case(joins, lambda: (torch.tensor(2.0), torch.tensor(2.0)), "joins"),
    Case(joins, lambda: (torch.ones(2, 2), torch.ones(2)), "joins"),
    Case(joins, lambda: (torch.ones(2), torch.ones(2, 2)), "joins"),
    Case(subtracts, lambda: (torch.tensor([True]), torch.tensor([False])), "subtracts"),
    Case(subtracts, lambda: (torch.tensor([True]), True), "subtracts"),
    Case(subtracts, lambda: (torch.tensor([True]), 1), "subtracts"),
    Case(member, lambda: ("x",), "member"),
]
