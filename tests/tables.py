"""Programs that run a list of operations on dicts and sets, for inputs that are drawn at random."""

from __future__ import annotations

from collections import defaultdict

import torch


def on_a_dict(ops):
    d = {}
    out = []
    for what, k, v in ops:
        if what == 0:
            d[k] = v
        elif what == 1:
            out.append(d.get(k, -1))
        elif what == 2:
            out.append(d.pop(k, -2))
        elif what == 3:
            out.append(d.setdefault(k, v))
        elif what == 4 and d:
            a, b = d.popitem()
            out.extend([a, b])
        elif what == 5:
            d.update({k: v, v: k})
        elif what == 6 and k in d:
            del d[k]
        elif what == 7:
            out.extend(d)
        elif what == 8:
            d = {a: b for a, b in d.items() if a != k}
        elif what == 9 and v % 5 == 0:
            d.clear()
        elif what == 10:
            out.append(d[k] if v % 4 == 0 else len(d))
    return d, out


def on_other_keys(ops):
    floats, pairs = {}, {}
    counts = defaultdict(int)
    for what, x, k in ops:
        floats[x] = k
        pairs[x, k] = what
        counts[k, (x, k > 1)] += what
        if what == 0:
            floats.pop(x)
        elif what == 1 and (x, k) in pairs:
            del pairs[x, k]
        elif what == 2:
            counts.pop((k, (x, k > 1)), None)
    return floats, pairs, counts, [(k in floats, float(k) in floats, (x, k) in pairs) for _, x, k in ops]


def on_sets(ops):
    a, b = set(), set()
    out = []
    for what, k in ops:
        if what == 0:
            a.add(k)
        elif what == 1:
            a.discard(k)
        elif what == 2:
            b.add(k)
        elif what == 3:
            a |= b
        elif what == 4:
            a, b = b, a
        elif what == 5:
            b = a & b
        elif what == 6:
            b -= a
        elif what == 7:
            a ^= b
        elif what == 8:
            out.extend(a)
        elif what == 9 and a:
            out.append(a.pop())
        elif what == 10:
            a = a - b
        elif what == 11:
            a &= b
        elif what == 12:
            b = a.union([k, k + 1])
        elif what == 13:
            b.update(range(k % 50))
        elif what == 14:
            b = a ^ b
    return list(a), list(b), out


def churn(n, x):
    """Keys, and tensors that belong to them, come and go."""
    cache = {}
    seen = set()
    pairs = {}
    for i in range(n):
        cache[i] = x * i
        pairs[i % 7, x.shape[0]] = [x]
        seen.add((i % 50, i % 3))
        if i >= 10:
            del cache[i - 10]
            seen.discard(((i - 10) % 50, (i - 10) % 3))
    return len(cache), len(seen), len(pairs), cache[n - 1]


def churn_and_raise(xs, x):
    d = {}
    for k in xs:
        d[k, 1] = {k: [x + k]}
    return d[9, 9]


def walked(s):
    return list(s), [k for k in s | {1}], [k for k in s & {1, 2, 1 << 20}]


X = torch.arange(6.0).reshape(2, 3)
