"""The collections.deque of compiled code: a list with a largest length."""

from __future__ import annotations

import collections
from typing import Any


class Deque:
    """A queue over a list. Beyond `maxlen`, an item that is added drops one at the other end.

    `_changes` counts the changes that a loop over the deque must not see."""

    def __init__(self, iterable: Any = (), maxlen: int | None = None) -> None:
        if maxlen is not None and maxlen < 0:
            raise ValueError("maxlen must be non-negative")
        self.maxlen = maxlen
        self._changes = 0
        self._items: list[Any] = []
        self.extend(iterable)

    def append(self, x: Any) -> None:
        self._changes += 1
        self._items.append(x)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, x: Any) -> None:
        self._changes += 1
        self._items.insert(0, x)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[-1]

    def extend(self, iterable: Any) -> None:
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable: Any) -> None:
        for x in iterable:
            self.appendleft(x)

    def pop(self) -> Any:
        if len(self._items) == 0:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop()

    def popleft(self) -> Any:
        if len(self._items) == 0:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop(0)

    def insert(self, i: int, x: Any) -> None:
        if self.maxlen is not None and len(self._items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self._changes += 1
        self._items.insert(i, x)

    def rotate(self, n: int = 1) -> None:
        if len(self._items) > 1:
            self._changes += 1
            k = len(self._items) - n % len(self._items)
            self._items[:] = self._items[k:] + self._items[:k]

    def remove(self, value: Any) -> None:
        self._items.remove(value)
        self._changes += 1

    def reverse(self) -> None:
        self._items.reverse()

    def clear(self) -> None:
        if len(self._items) > 0:
            self._changes += 1
            self._items.clear()

    def count(self, value: Any) -> int:
        return self._items.count(value)

    def index(self, value: Any, *bounds: int) -> int:
        return self._items.index(value, *bounds)

    def copy(self) -> Any:
        return collections.deque(self._items, self.maxlen)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Any:
        return iter(self._items)

    def __contains__(self, value: Any) -> bool:
        return value in self._items

    def __getitem__(self, i: int) -> Any:
        return self._items[i]

    def __setitem__(self, i: int, x: Any) -> None:
        self._items[i] = x

    def __delitem__(self, i: int) -> None:
        del self._items[i]
        self._changes += 1

    def __add__(self, other: Any) -> Any:
        made = self.copy()
        made.extend(other)
        return made

    def __iadd__(self, other: Any) -> Deque:
        self.extend(other)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, collections.deque) and self._items == list(other)

    __hash__ = None  # type: ignore[assignment]


Deque.__name__ = "collections.deque"  # its name in messages
