"""Functions of itertools over sequences of run-time length. They return lists."""

from __future__ import annotations

from typing import Any


def chained(sequences: Any) -> list[Any]:
    return [x for xs in sequences for x in xs]


def product(columns: tuple[list[Any], ...]) -> list[Any]:
    """Return all rows with one item of each column. The last column varies fastest."""
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


def filled_rows(columns: tuple[list[Any], ...], fill: Any) -> list[Any]:
    longest = max([len(column) for column in columns])
    return [tuple(column[i] if i < len(column) else fill for column in columns) for i in range(longest)]


def starred(function: Any, rows: Any) -> list[Any]:
    return [function(*row) for row in rows]


# ---- choices of items ----
def combinations(xs: list[Any], k: int) -> list[Any]:
    found: list[Any] = []
    at = list(range(k))  # the indices of a choice; the last one moves first
    i = 0 if k <= len(xs) else -1
    while i >= 0:
        found.append(tuple(xs[at[j]] for j in range(k)))
        i = k - 1
        while i >= 0 and at[i] == len(xs) - k + i:
            i -= 1
        if i >= 0:
            at[i] += 1
            for j in range(i + 1, k):
                at[j] = at[j - 1] + 1
    return found


def combinations_with_replacement(xs: list[Any], k: int) -> list[Any]:
    found: list[Any] = []
    at = [0] * k
    i = 0 if k == 0 or len(xs) > 0 else -1
    while i >= 0:
        found.append(tuple(xs[at[j]] for j in range(k)))
        i = k - 1
        while i >= 0 and at[i] == len(xs) - 1:
            i -= 1
        if i >= 0:
            at[i:] = [at[i] + 1] * (k - i)
    return found


def permutations(xs: list[Any], k: int) -> list[Any]:
    found: list[Any] = []
    at = list(range(len(xs)))
    left = [len(xs) - i for i in range(k)]  # how many items each position has still to take
    i = 0 if k <= len(xs) else -1
    while i >= 0:
        found.append(tuple(xs[at[j]] for j in range(k)))
        i = k - 1
        while i >= 0 and left[i] == 1:
            at.append(at.pop(i))
            left[i] = len(xs) - i
            i -= 1
        if i >= 0:
            left[i] -= 1
            other = len(xs) - left[i]
            at[i], at[other] = at[other], at[i]
    return found


# ---- selections of items ----
def check_bounds(start: int, stop: int | None, step: int) -> None:
    """Raise the errors of islice for its bounds."""
    if stop is not None and stop == -1:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if start < 0 or (stop is not None and stop < 0):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")


def sliced(xs: Any, start: int, stop: int | None, step: int) -> list[Any]:
    """Return the items at start, start + step, ... of a sequence, and take no further item."""
    found: list[Any] = []
    if stop is None or stop > 0:
        i = 0
        for x in xs:
            if i >= start and (i - start) % step == 0:
                found.append(x)
            i += 1
            if stop is not None and i >= stop:
                break
    return found


def taken_while(function: Any, xs: Any) -> list[Any]:
    found: list[Any] = []
    for x in xs:
        if not function(x):
            break
        found.append(x)
    return found


def dropped_while(function: Any, xs: Any) -> list[Any]:
    found: list[Any] = []
    begun = False
    for x in xs:
        begun = begun or not function(x)
        if begun:
            found.append(x)
    return found


def left_out(function: Any, xs: Any) -> list[Any]:
    return [x for x in xs if not (x if function is None else function(x))]


def compressed(xs: Any, selectors: Any) -> list[Any]:
    return [x for x, chosen in zip(xs, selectors) if chosen]  # noqa: B905


def groups(xs: Any, key: Any) -> list[Any]:
    """Return keys, each with the list of the consecutive items that have it."""
    found: list[Any] = []
    for x in xs:
        own = x if key is None else key(x)
        if len(found) > 0 and found[-1][0] == own:
            found[-1][1].append(x)
        else:
            found.append((own, [x]))
    return found


# ---- infinite sequences ----
_ENDLESS = 2**63 - 1


class Numbers:
    """The sequence of itertools.count."""

    start: int
    step: int

    def __len__(self) -> int:
        return _ENDLESS

    def __getitem__(self, i: int) -> int:
        return self.start + i * self.step

    def behind(self, i: int) -> int:
        """Return the start of the sequence that lacks the first i items."""
        return self.start + i * self.step


class Rounds:
    """The sequence of itertools.cycle."""

    items: list[Any]
    start: int

    def __len__(self) -> int:
        return _ENDLESS if len(self.items) > 0 else 0

    def __getitem__(self, i: int) -> Any:
        return self.items[(self.start + i) % len(self.items)]

    def behind(self, i: int) -> int:
        return self.start + i


class Repeats:
    """The sequence of itertools.repeat without a count."""

    item: Any
    start: int

    def __len__(self) -> int:
        return _ENDLESS

    def __getitem__(self, i: int) -> Any:
        return self.item

    def behind(self, i: int) -> int:
        return self.start


ENDLESS = (Numbers, Rounds, Repeats)


def grouped(groups: Any) -> Any:
    return ((key, as_iterator(items)) for key, items in groups)


def as_iterator(items: Any) -> Any:
    """Return an iterator over `items`. A handler serves this function."""
