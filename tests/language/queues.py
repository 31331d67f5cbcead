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


@cases(
    (deque([1, 2, 3]), 2), (deque([1, 1, 5], 3), 5), (deque(), 1), (deque([2], maxlen=1), 2), (deque([4, 5], maxlen=0), 2)
)
def passed(q, x):
    if x in q:
        q.appendleft(x + 1)
    q.append(x)
    q.rotate(1)
    return q, len(q), q.maxlen, sum(q), [q]


@cases((deque([1, 2, 3]), 2), (deque([1, 1]), 5), (deque(), 5), (deque([5, 7], maxlen=2), 7), (deque([7]), 7))
def changed_while_it_is_walked(q, x):
    found = []
    try:
        for i, v in enumerate(q):
            found.append(v)
            if v == x:
                q.append(i)
    except RuntimeError as e:
        return str(e), found
    for v in q:
        q.reverse()
        q[0] += 1
        if v == x:
            q.pop()
            break
    return found, [v for v in q], sum(q.popleft() for _ in range(len(q)))


@cases((deque([1, 2]), 0), (deque([1, 2]), 1), (deque([1, 2]), 2))
def changed_by_what_walks_it(q, how):
    if how == 0:
        return [q.popleft() for _ in q]
    if how == 1:
        return sum(q.pop() for _ in q)
    return hasattr(q, "items"), isinstance(q, deque), q == deque([1, 2]), q == [1, 2]


@cases(({"a": deque([1.0]), "b": [deque(["s"]), 2]}, "t"))
def in_containers(held, s):
    held["a"].append(2.5)
    held["b"][0].appendleft(s)
    return held["a"], "".join(held["b"][0]), held["b"][1]


@cases((deque([X, X + 1]), X), (deque([X], 1), X))
def tensors(q, x):
    first = q[0]
    q.append(x)
    q[0].add_(1)
    return first, q.popleft(), sum(q)


def _one():
    q = deque([3])
    return q, q


@cases(_one(), (deque([3]), deque([3])))
def passed_twice(q, r):
    q.append(1)
    r.append(2)
    return q is r, q == r, len(q), r
