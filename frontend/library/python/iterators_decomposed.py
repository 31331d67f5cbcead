"""Iterators as objects with a sequence and a position; map() and filter()."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scriptc.frontend.library.python.lists_decomposed import same


class SequenceIterator:
    """The iterator over a list, tuple, range, tensor or dict."""

    sequence: Any
    at: int

    def __iter__(self) -> SequenceIterator:
        return self

    def __next__(self) -> Any:
        if self.at >= len(self.sequence):
            raise StopIteration
        self.at += 1
        return self.sequence[self.at - 1]


def has_next(iterator: SequenceIterator) -> bool:
    return iterator.at < len(iterator.sequence)


def next_or(iterator: SequenceIterator, default: Any) -> Any:
    return iterator.__next__() if has_next(iterator) else default


def check_lengths(lengths: tuple[int, ...]) -> None:
    """Raise what zip(strict=True) raises where the shortest of its sequences ends."""
    least = min(lengths) if len(lengths) > 1 else 0
    for i in range(1, len(lengths)):
        others = f"arguments 1-{i}" if i > 1 else "argument 1"
        if lengths[0] == least < lengths[i]:
            raise ValueError(f"zip() argument {i + 1} is longer than {others}")
        if lengths[0] > least == lengths[i]:
            raise ValueError(f"zip() argument {i + 1} is shorter than {others}")


def is_ahead(iterator: SequenceIterator, value: Any) -> bool:
    """Return `value in iterator`, which takes the items up to the value."""
    while has_next(iterator):
        if same(iterator.__next__(), value):
            return True
    return False


def taken(iterator: SequenceIterator, start: int, stop: int | None, step: int) -> list[Any]:
    """Return itertools.islice(iterator, start, stop, step), which moves the iterator."""
    found = []
    i = 0
    while (stop is None or i < stop) and has_next(iterator):
        item = iterator.__next__()
        if i >= start and (i - start) % step == 0:
            found.append(item)
        i += 1
    return found


def first(items: Any) -> Any:
    for item in items:
        return item
    raise StopIteration


def first_or(items: Any, default: Any) -> Any:
    for item in items:
        return item
    return default


def taken_for(items: Any, count: int | None) -> list[Any]:
    """Return the items that an assignment to `count` names takes; None takes all. Too many show by one more item."""
    found: list[Any] = []
    for item in items:
        found.append(item)
        if count is not None and len(found) > count:
            break
    return found


def asked(iterator: Any) -> Iterator[Any]:
    """Yield the items of an object with `__next__`."""
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            return
        yield item


def asked_or(iterator: Any, default: Any) -> Any:
    """Return `next(iterator, default)` of an object with `__next__`."""
    try:
        return iterator.__next__()
    except StopIteration:
        return default


def by_index(sequence: Any, first: tuple[int, ...]) -> Iterator[Any]:
    """Yield the items of an object by `__getitem__`, up to the first index that it has not. The first indices are known."""
    for known in first:
        try:
            item = sequence[known]
        except IndexError:
            return
        yield item
    i = len(first)
    while True:
        try:
            item = sequence[i]
        except IndexError:
            return
        yield item
        i += 1


def numbered(items: Any, start: Any) -> Iterator[Any]:
    """Yield what `enumerate` does, item by item."""
    i = start
    for item in items:
        yield i, item
        i += 1


def beside(before: Any, items: Any, after: Any) -> Iterator[Any]:
    """Yield the rows of `zip(*before, items, *after)`, where `items` is a generator and all others have a length.

    The others may be lists that change meanwhile. As in Python, the items of `before` are read before the generator's.
    """
    i = 0
    if before and min(len(other) for other in before) == 0:
        return
    row = tuple(other[0] for other in before)
    for item in items:
        if after and i >= min(len(other) for other in after):
            return
        yield (*row, item, *(other[i] for other in after))
        i += 1
        if before and i >= min(len(other) for other in before):
            return
        row = tuple(other[i] for other in before)


def mapped(function: Any, sequence: Any, *others: Any) -> Any:
    if not others:
        return (function(x) for x in sequence)
    return (function(*row) for row in zip(sequence, *others))  # noqa: B905


def kept(function: Any, sequence: Any) -> Any:
    if function is None:
        return (x for x in sequence if x)
    return (x for x in sequence if function(x))
