"""collections.deque."""

from __future__ import annotations

import collections
from collections import deque

import torch

from language.cases import cases

X = torch.arange(12.0).reshape(6, 2)


@cases(([1, 2, 3, 4, 5], 3), ([1], 0), ([], 2), ([4, 4], -1))
def bounded(xs, longest):
    q = deque(maxlen=longest)
    found = []
    for x in xs:
        q.append(x)
        found.append((len(q), sum(q), sorted(q), max(q) if q else None))
        if x in q and len(q) > 1 and q[0] < q[-1]:
            q.rotate(1)
    return found, list(q), [v for v in q]


@cases(7, 0)
def breadth_first(n):
    q = collections.deque([0])
    seen, order = set(), []
    while q:
        v = q.popleft()
        if v in seen or v > n:
            continue
        seen.add(v)
        order.append(v)
        q.append(2 * v + 1)
        q.append(2 * v + 2)
    return order, len(seen)


@cases((X, 3), (X[:1], 2))
def of_tensors(xs, k):
    buffer = deque([torch.zeros(2)] * k, maxlen=k)
    means = []
    for x in xs:
        buffer.append(x)
        means.append(torch.stack(list(buffer)).mean(0))
    return torch.stack(means), buffer


@cases(2, 9)
def methods(n):
    q = deque((1, 2, 3))
    q.extendleft([0, -1])
    q.reverse()
    q.appendleft(n)
    q.insert(1, 7)
    q.remove(2)
    q += [n]
    q[0] += 1
    del q[1]
    alias, copy = q, q.copy()
    alias.rotate(-2)
    copy.clear()
    return [i for i in q], q.count(n), q.index(3), q[2], len(copy), q + deque([5]), isinstance(q, deque)


@cases(0, 3)
def returned(n):
    q = deque(range(n), 2)
    return q, q.maxlen, bool(q), q == deque([1, 2]), q == [1, 2]


@cases(0, 1)
def too_short(n):
    q = deque()
    if n:
        q.append(n)
    return q.pop(), q.popleft()
