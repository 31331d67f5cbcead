"""The bisect module: insertion points in sorted lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptc.frontend.library.registry import decomposes


@decomposes("bisect.bisect_left")
def bisect_left(
    a: list[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Callable[[Any], Any] | None = None
) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            end = middle
    return lo


@decomposes("bisect.bisect_right")
def bisect_right(
    a: list[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Callable[[Any], Any] | None = None
) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            end = middle
        else:
            lo = middle + 1
    return lo


@decomposes("bisect.insort_left")
def insort_left(
    a: list[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Callable[[Any], Any] | None = None
) -> None:
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


@decomposes("bisect.insort_right")
def insort_right(
    a: list[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Callable[[Any], Any] | None = None
) -> None:
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)
