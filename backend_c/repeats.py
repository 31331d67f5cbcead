"""Repeated windows of a sequence of numbers, by its suffix array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def repeated_windows(sequence: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the windows that occur more than once, each as its length and its starts in ascending order.

    A window begins and ends where its occurrences begin to differ. Where occurrences overlap, the window is also
    yielded with the least distance of two of them as length, as the period of a run. Windows whose occurrences cover the
    sequence more than twice are left out: shorter ones tell the same, and such occurrences may be quadratically many.
    """
    order = _suffix_array(sequence)
    for length, low, high in _intervals(_common_prefixes(sequence, order)):
        if length * (high - low + 1) > 2 * len(sequence):
            continue
        starts = sorted(order[low : high + 1])
        if starts[0] > 0 and len({sequence[start - 1] for start in starts}) == 1:
            continue
        yield length, starts
        period = min(b - a for a, b in zip(starts, starts[1:], strict=False))
        if period < length:
            yield period, starts


def _suffix_array(sequence: Sequence[int]) -> list[int]:
    """Return the starts of the suffixes in their order, by doubling the length of the prefixes that are compared."""
    n = len(sequence)
    rank, width = list(sequence), 1
    order = sorted(range(n), key=rank.__getitem__)
    while True:
        previous, distinct, numbers = None, -1, [0] * n
        for i in order:
            if rank[i] != previous:
                previous, distinct = rank[i], distinct + 1
            numbers[i] = distinct
        if distinct == n - 1 or width >= n:
            return order
        rank = [number * (n + 1) + following + 1 for number, following in zip(numbers, numbers[width:], strict=False)]
        rank += [number * (n + 1) for number in numbers[n - width :]]
        order.sort(key=rank.__getitem__)
        width *= 2


def _common_prefixes(sequence: Sequence[int], order: Sequence[int]) -> list[int]:
    """Return the length of the common prefix of each suffix and the one before it in the order, by Kasai's algorithm."""
    n = len(sequence)
    place, common, length = [0] * n, [0] * n, 0
    for k, start in enumerate(order):
        place[start] = k
    for start in range(n):
        if place[start] == 0:
            length = 0
            continue
        other = order[place[start] - 1]
        while start + length < n and other + length < n and sequence[start + length] == sequence[other + length]:
            length += 1
        common[place[start]] = length
        length = max(length - 1, 0)
    return common


def _intervals(common: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield each interval of suffixes with a common prefix that no larger interval has: length, first and last."""
    stack: list[tuple[int, int]] = []  # prefixes that still go on, with the first suffix of each
    for k in range(1, len(common) + 1):
        length, first = common[k] if k < len(common) else 0, k - 1
        while stack and stack[-1][0] > length:
            ended, first = stack.pop()
            yield ended, first, k - 1
        if length and (not stack or stack[-1][0] < length):
            stack.append((length, first))
