"""What functions of itertools give for sequences whose lengths are known only at run time, as lists."""

from __future__ import annotations

from typing import Any


def chained(sequences: Any) -> list[Any]:
    return [x for xs in sequences for x in xs]


def product(columns: tuple[list[Any], ...]) -> list[Any]:
    """One item of each column, in all ways: the last column is the fastest."""
    count = 1
    strides: list[int] = []
    for k in range(len(columns) - 1, -1, -1):
        strides.insert(0, count)
        count *= len(columns[k])
    return [
        tuple(columns[k][i // strides[k] % len(columns[k])] for k in range(len(columns)))
        for i in range(count)
    ]


def accumulated(xs: list[Any], function: Any) -> list[Any]:
    found = xs[:1]
    for i in range(1, len(xs)):
        last = found[-1]
        found.append(last + xs[i] if function is None else function(last, xs[i]))
    return found


def accumulated_from(initial: Any, xs: list[Any], function: Any) -> list[Any]:
    found = [initial]
    for x in xs:
        last = found[-1]
        found.append(last + x if function is None else function(last, x))
    return found


def repeated(item: Any, times: int) -> list[Any]:
    return [item for _ in range(times)]


def pairs(xs: list[Any]) -> list[Any]:
    return [(xs[i], xs[i + 1]) for i in range(len(xs) - 1)]


def filled_pairs(a: list[Any], b: list[Any], fill: Any) -> list[Any]:
    longest = max(len(a), len(b))
    return [(a[i] if i < len(a) else fill, b[i] if i < len(b) else fill) for i in range(longest)]
