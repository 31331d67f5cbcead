"""Handlers of which no code remains, or that always run."""

from __future__ import annotations

from language.cases import cases


class Count:
    def __init__(self, n: int) -> None:
        self.n = n


@cases((4, 2), (4, 0), (4, -1))
def object_changed_by_an_inner_finally(n: int, k: int) -> tuple[int, int]:
    count = Count(0)
    try:
        try:
            count.n = 1
            found = n // k
        finally:
            count.n += 2
        if k < 0:
            raise ValueError("negative")
    except (ZeroDivisionError, ValueError):
        return -1, count.n
    return found, count.n


@cases((4, 2), (4, 0))
def finally_without_code(n: int, k: int) -> int:
    """The handler of the exception changes only an object that dies with it."""
    count = Count(0)
    try:
        count.n = 1
        found = n // k
    finally:
        count.n = 2
    return found + count.n


@cases((2,), (5,))
def raised_and_caught_at_once(n: int) -> tuple[str, int]:
    """No call of the body may raise but the last statement, which always does."""
    try:
        n = n + 1
        raise ValueError("always")
    except ValueError as e:
        text = str(e)
    return text, n
