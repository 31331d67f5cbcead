"""Methods and comparisons of sets in terms of their items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def discard(s: Any, item: Any) -> None:
    if item in s:
        s.remove(item)


def add_all(add: Any, items: Any) -> None:
    for item in items:
        add(item)


def within(a: Any, b: Any) -> bool:
    """Return whether b contains all items of a."""
    for item in a:
        if item not in b:
            return False
    return True


def apart(a: Any, b: Any) -> bool:
    for item in b:
        if item in a:
            return False
    return True


def add_common(add: Any, a: Any, items: Any) -> None:
    for item in items:
        if item in a:
            add(item)


def same_set(a: Any, b: Any) -> bool:
    return len(a) == len(b) and within(a, b)


def less(a: Any, b: Any) -> bool:
    return len(a) < len(b) and within(a, b)


def less_equal(a: Any, b: Any) -> bool:
    return len(a) <= len(b) and within(a, b)


def greater(a: Any, b: Any) -> bool:
    return less(b, a)


def greater_equal(a: Any, b: Any) -> bool:
    return less_equal(b, a)


ORDERS: dict[str, Callable[..., bool]] = {"Lt": less, "LtE": less_equal, "Gt": greater, "GtE": greater_equal}
