"""The heapq module: in a heap, the item at i is not larger than those at 2 i + 1 and 2 i + 2."""

from __future__ import annotations

from typing import Any

from scriptc.frontend.library.registry import decomposes


def _rise(heap: list[Any], start: int, at: int) -> None:
    """Move an item towards the front, past larger items."""
    item = heap[at]
    while at > start:
        parent = (at - 1) // 2
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _sink(heap: list[Any], at: int) -> None:
    """Move an item down to a leaf past its smaller children, then up to where it belongs.

    Python moves items so too, and equal items end in the same places."""
    start, end, item = at, len(heap), heap[at]
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _rise(heap, start, at)


@decomposes("heapq.heappush")
def heappush(heap: list[Any], item: Any) -> None:
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


@decomposes("heapq.heappop")
def heappop(heap: list[Any]) -> Any:
    last = heap.pop()
    if len(heap) == 0:
        return last
    first = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return first


@decomposes("heapq.heapify")
def heapify(heap: list[Any]) -> None:
    for at in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, at)


@decomposes("heapq.heapreplace")
def heapreplace(heap: list[Any], item: Any) -> Any:
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


@decomposes("heapq.heappushpop")
def heappushpop(heap: list[Any], item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        return heapreplace(heap, item)
    return item


@decomposes("heapq.nlargest")
def nlargest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


@decomposes("heapq.nsmallest")
def nsmallest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key)[: max(n, 0)]
