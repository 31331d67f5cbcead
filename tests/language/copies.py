"""Deep copies: what is in them is nobody else's, and what was one object is one in the copy."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, namedtuple

import torch

from language.cases import cases

X = torch.arange(3.0)
Step = namedtuple("Step", "state score")


class Hypothesis:
    def __init__(self, tokens, score, state):
        self.tokens = tokens
        self.score = score
        self.state = state


@cases((X, 0), (X, 1), (X, 3))
def of_a_beam(x, n):
    beam = [Hypothesis([0], 0.0, x)]
    for _ in range(n):
        grown = []
        for hypothesis in beam:
            for k in range(2):
                new = copy.deepcopy(hypothesis)
                new.tokens.append(k)
                new.score += k * 0.5
                new.state.add_(k)
                grown.append(new)
        beam = sorted(grown, key=lambda h: -h.score)[:3]
    return [(h.tokens, h.score, h.state) for h in beam], x


@cases(X)
def of_what_is_held_twice(x):
    y = copy.deepcopy(x)
    y += 1
    held = {"a": x, "b": [x, y], "c": Step(x, 2), "d": None}
    made = copy.deepcopy(held)
    made["a"].add_(5)
    return x, y, held, made, made["b"][0] is made["a"], made["c"].state is made["a"], made["b"][1] is y


@cases(0, 1, 3)
def of_what_grows(n):
    rows = []
    table = defaultdict(list)
    seen = set()
    for i in range(n):
        rows.append([i])
        table[i].append(i)
        seen.add(i)
    copied, others, more = copy.deepcopy(rows), copy.deepcopy(table), copy.deepcopy(seen)
    for row in copied:
        row.append(7)
    for key in others:
        others[key].append(key)
    more.add(99)
    return rows, copied, table, others, sorted(seen), sorted(more), copy.deepcopy(OrderedDict(n=n))


@cases([X, X + 1], [X])
def of_the_callers(xs):
    ys = copy.deepcopy(xs)
    ys[0].add_(1)
    ys.append(xs[0])
    return ys, copy.deepcopy((1, "text", xs[0].dtype, None))


DEFAULTS = {"sizes": [1, 2], "state": X, "more": {"deep": [[1], [2]]}, "names": {5, 7}}


@cases(3, 4)
def of_globals(n):
    made, flat = copy.deepcopy(DEFAULTS), copy.copy(DEFAULTS["sizes"])
    made["sizes"].append(n)
    made["state"].add_(1)
    made["more"]["deep"][0].append(n)
    flat.append(n)
    names, one = copy.copy(DEFAULTS["names"]), made.pop("names")
    names.add(n)
    one.add(n)
    names = sorted(names), sorted(one), sorted(DEFAULTS["names"])
    return made, flat, names, DEFAULTS["sizes"], DEFAULTS["state"], DEFAULTS["more"]["deep"]
