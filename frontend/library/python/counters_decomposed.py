"""Operators of collections.Counter. A key that a Counter lacks has the count 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any


def add(a: Any, b: Any) -> Any:
    made: Any = Counter()
    for key in a:
        if a[key] + b[key] > 0:
            made[key] = a[key] + b[key]
    add_others(made, a, b)
    return made


def add_others(made: Any, a: Any, b: Any) -> None:
    """Add the positive counts of b whose keys a lacks."""
    for key in b:
        if key not in a and b[key] > 0:
            made[key] = b[key]


def subtract(a: Any, b: Any) -> Any:
    made: Any = Counter()
    for key in a:
        if a[key] - b[key] > 0:
            made[key] = a[key] - b[key]
    for key in b:
        if key not in a and b[key] < 0:
            made[key] = 0 - b[key]
    return made


def larger(a: Any, b: Any) -> Any:
    made: Any = Counter()
    for key in a:
        count = b[key] if a[key] < b[key] else a[key]
        if count > 0:
            made[key] = count
    add_others(made, a, b)
    return made


def smaller(a: Any, b: Any) -> Any:
    made: Any = Counter()
    for key in a:
        count = a[key] if a[key] < b[key] else b[key]
        if count > 0:
            made[key] = count
    return made


def positive(a: Any) -> Any:
    made: Any = Counter()
    for key in a:
        if a[key] > 0:
            made[key] = a[key]
    return made


def negative(a: Any) -> Any:
    made: Any = Counter()
    for key in a:
        if a[key] < 0:
            made[key] = 0 - a[key]
    return made


def add_to(a: Any, b: Any) -> None:
    for key in list(b):
        a[key] = a[key] + b[key]
    keep_positive(a)


def subtract_from(a: Any, b: Any) -> None:
    for key in list(b):
        a[key] = a[key] - b[key]
    keep_positive(a)


def raise_to(a: Any, b: Any) -> None:
    for key in list(b):
        if b[key] > a[key]:
            a[key] = b[key]
    keep_positive(a)


def lower_to(a: Any, b: Any) -> None:
    for key in list(a):
        if b[key] < a[key]:
            a[key] = b[key]
    keep_positive(a)


def keep_positive(a: Any) -> None:
    for key in [k for k in a if not a[k] > 0]:
        del a[key]


def equal(a: Any, b: Any) -> bool:
    for key in a:
        if a[key] != b[key]:
            return False
    for key in b:
        if a[key] != b[key]:
            return False
    return True


def less_equal(a: Any, b: Any) -> bool:
    for key in a:
        if not a[key] <= b[key]:
            return False
    for key in b:
        if not a[key] <= b[key]:
            return False
    return True


def less(a: Any, b: Any) -> bool:
    return less_equal(a, b) and not equal(a, b)


def greater_equal(a: Any, b: Any) -> bool:
    return less_equal(b, a)


def greater(a: Any, b: Any) -> bool:
    return less(b, a)


MADE: dict[str, Callable[..., Any]] = {"Add": add, "Sub": subtract, "BitOr": larger, "BitAnd": smaller}
CHANGED: dict[str, Callable[..., None]] = {
    "Add": add_to, "Sub": subtract_from, "BitOr": raise_to, "BitAnd": lower_to,
}  # fmt: skip
SIGNED: dict[str, Callable[..., Any]] = {"UAdd": positive, "USub": negative}
COMPARED: dict[str, Callable[..., bool]] = {
    "Eq": equal, "Lt": less, "LtE": less_equal, "Gt": greater, "GtE": greater_equal,
}  # fmt: skip
