"""Lists and dicts of unknown length that hold values of several kinds."""

from __future__ import annotations

import torch

from language.cases import cases

X = torch.arange(3.0)


@cases(0, 1, 4)
def numbers_and_texts(n):
    out = []
    for i in range(n):
        if i % 2:
            out.append(str(i))
        else:
            out.append(i)
    total = 0
    text = ""
    for x in out:
        if isinstance(x, int):
            total += x
        else:
            text += x
    return out, total, text, len(out)

@cases(0, 1, 4)
def ints_and_floats(n):
    scores = [0]
    for i in range(n):
        scores.append(scores[-1] + i * 0.5)
    return scores, max(scores), sum(scores), sorted(scores, reverse=True)

@cases((X, 0), (X, 1), (X, 4))
def four_kinds(x, n):
    outs = []
    for i in range(n):
        outs.append(x)
        outs.append(None)
        outs.append(i)
        outs.append([i])
    k = 0
    for o in outs:
        if o is None:
            k += 1
        elif isinstance(o, torch.Tensor):
            k += 10
        elif isinstance(o, list):
            k += 100 * o[0]
        else:
            k += 1000 * o
    outs[0:1] = []
    return outs, k

@cases(0, 1, 4)
def in_pairs(n):
    pairs = [(0, "a")]
    for _ in range(n):
        s, t = pairs[-1]
        pairs.append((s + 0.25, t + "b"))
    return pairs, pairs[0][0]

class Hyp:
    def __init__(self, tokens, score):
        self.tokens = tokens
        self.score = score

@cases(0, 1, 4)
def in_objects(n):
    hyps = [Hyp([], 0)]
    for i in range(n):
        h = hyps[-1]
        hyps.append(Hyp(h.tokens + [i], h.score - 0.5 * i))
    return [h.score for h in hyps], hyps[-1].tokens

@cases(0, 1, 4)
def values_of_dicts(n):
    d = {}
    for i in range(n):
        d[i] = "x" * i if i % 2 else i * 0.5
    return d, [v for v in d.values()]


@cases((["a", 1.5, 2], "a"), ([1, "b"], 1.0), (["x", "y"], "z"))
def searched(xs, what):
    held = []
    for x in xs:
        held.append(x)
        held.append(len(held))
    return what in held, held.count(what), held == held[:], held


@cases(2, 3)
def used_as_one_kind(n):
    out = ["a"]
    for i in range(n):
        out.append(i)
    return out[0] + 1


@cases((X, 1), (X, 3))
def ranks(x, n):
    outs = []
    for i in range(n):
        outs.append(x)
        outs.append(x[None] + i)
    return outs, [o.dim() for o in outs], outs[-1].sum()


@cases((1,), (3,))
def lists_returned_twice(n: int) -> object:
    pair, grown = [n, 2.5], [1, "a"]
    grown.append(n)
    return pair, (pair, n), grown, [grown]
