"""`iter()` and `next()`: an iterator is an object that knows its sequence and how far it has come."""

from __future__ import annotations

from typing import Any


class SequenceIterator:
    """What iter() of a list, tuple, range, tensor or dict returns."""

    sequence: Any
    at: int

    def __iter__(self) -> SequenceIterator:
        return self

    def __next__(self) -> Any:
        if self.at >= len(self.sequence):
            raise StopIteration
        self.at += 1
        return self.sequence[self.at - 1]


def next_or(iterator: SequenceIterator, default: Any) -> Any:
    if iterator.at >= len(iterator.sequence):
        return default
    return iterator.__next__()


def first(items: Any) -> Any:
    for item in items:
        return item
    raise StopIteration


def first_or(items: Any, default: Any) -> Any:
    for item in items:
        return item
    return default
