"""Lists of tuples."""

from __future__ import annotations

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


@cases(0, 1, 4)
def pairs_of_numbers(n):
    pairs = []
    for i in range(n):
        pairs.append((i, i * 0.5))
    total = 0
    for a, b in pairs:
        total += a * b
    best = max(pairs, key=lambda p: -p[1]) if n else None
    return pairs, total, best, len(pairs)


@cases((X, 0), (X, 2), (X, 3))
def pairs_with_tensors(x, n):
    beams = [(0.0, x[0], [0])]
    for i in range(n):
        grown = []
        for score, h, tokens in beams:
            for k in range(2):
                grown.append((score + float(h[k]) - i, torch.tanh(h + k), tokens + [k]))
        beams = sorted(grown, key=lambda b: b[0], reverse=True)[:2]
    return beams, beams[0][1]


@cases(0, 3)
def nested_pairs(n):
    xs = [((1, 2), True)]
    for i in range(n):
        xs.insert(0, ((i, n), i > 1))
    xs.sort(key=lambda p: p[0][1])
    (a, b), c = xs.pop()
    return xs, a, b, c, xs[0] if len(xs) else None


@cases([3, 1, 2], [])
def sorted_pairs(xs):
    pairs = sorted([(x % 2, x) for x in xs])
    pairs[:1] = []
    return pairs, [b for _, b in pairs]
