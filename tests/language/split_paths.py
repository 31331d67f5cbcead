"""Branches that leave values which cannot be joined: each path reads the statements behind the `if` for itself."""

from __future__ import annotations

import torch

from language.cases import cases, construct

X = torch.arange(6.0).reshape(2, 3)


@cases((X, 3), (X, 0))
def tuple_or_map(x, n):
    parts = x, x + 1
    if n > 1:
        parts = map(lambda t: t * n, parts)
    first, second = parts
    return first + second


@cases((X, 1), (X, -1), (X, 0))
def one_of_three_iterators(x, n):
    if n > 0:
        parts = enumerate([x, x + n])
    elif n < 0:
        parts = (pair for pair in ((n, x), (0, x * n)))
    else:
        parts = zip((0, 1), (x, x - 1), strict=True)
    total = torch.zeros(2, 3)
    for i, part in parts:
        total = total + i * part
    return total, n


@cases((X, 3), (X, 0))
def returned_early(x, n):
    if n > 1:
        parts = map(torch.exp, (x, x))
    else:
        parts = [x]
    for part in parts:
        if n > 2:
            return part
    return x - 1


@cases(0, 1, 4)
def inside_a_loop(n):
    found = []
    for i in range(n):
        if i % 2:
            parts = (i, i + 1)
        else:
            parts = map(str, (i, 7))
        if i == 3:
            continue
        found.append(sum(len(str(part)) for part in parts))
    return found


@cases((X, 3), (X, 0))
def raised_behind(x, n):
    if n > 1:
        parts = map(torch.neg, (x, x))
    else:
        parts = (x, x, x)
    first, second = parts
    return first + second


@cases((X, 3), (X, 0), (X, -2))
def two_in_a_row(x, n):
    parts, more = (x, x), (1, 2)
    if n > 1:
        parts = map(torch.neg, parts)
    if n < 0:
        more = map(abs, (n, 3))
    first, second = parts
    left, right = more
    return first * left + second * right


@cases((X, 3), (X, 0))
def within_blocks(x, n):
    with torch.no_grad():
        try:
            if n > 1:
                parts = map(torch.neg, (x, x))
            else:
                parts = (x, x + 1)
            first, second = parts
            if n == 3:
                raise ValueError("three")
        except ValueError:
            second = x
    return first + second


construct(
    "Statements",
    "`if` whose paths leave values that cannot be joined, such as a tuple and a generator",
    "each path reads the statements behind the `if`, to the end of their block",
    tuple_or_map, one_of_three_iterators, returned_early, inside_a_loop, raised_behind, two_in_a_row,
    within_blocks,
)  # fmt: skip
