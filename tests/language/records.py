"""Objects that exist at run time: in lists of unknown length, in dicts, behind names that may be one of several."""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass, field
from typing import List, NamedTuple, Optional

import torch

from language.cases import cases

# ruff: noqa: UP006, UP007, UP035, UP045

X = torch.arange(6.0).reshape(2, 3)


class Hypothesis:
    def __init__(self, tokens, score, state):
        self.tokens = tokens
        self.score = score
        self.state = state

    @property
    def length(self):
        return len(self.tokens)

    def extended(self, token, gain, state):
        return Hypothesis(self.tokens + [token], self.score + gain, state)

    def __lt__(self, other):
        return self.score < other.score


@cases((X, 0, 2), (X, 1, 1), (X, 3, 2))
def beam(x, steps, width):
    beams = [Hypothesis([0], 0.0, x[0])]
    for t in range(steps):
        candidates = []
        for hyp in beams:
            for k in range(3):
                gain = float(hyp.state[k]) - 0.1 * t
                candidates.append(hyp.extended(k, gain, torch.tanh(hyp.state + k)))
        beams = sorted(candidates, key=lambda h: h.score, reverse=True)[:width]
    best = max(beams, key=lambda h: h.score / h.length)
    return best.tokens, best.score, best.state, min(beams).score, len(beams)


@dataclass
class Node:
    value: int
    previous: Optional[Node] = None
    weights: List[float] = field(default_factory=list)


@cases(0, 1, 5)
def chains(n):
    last = Node(-1)
    nodes = []
    for i in range(n):
        last = Node(i * i, last)
        if i % 2 == 0:
            nodes.append(last)
    total, steps = 0, 0
    at = last
    while at is not None:
        total += at.value
        steps += 1
        at = at.previous
    return total, steps, [node.value for node in nodes]


@cases(0, 1, 4)
def changed_through_another_name(n):
    nodes = [Node(7)]
    for i in range(n):
        nodes.append(Node(i))
    first = nodes[0]
    best = nodes[-1]
    for node in nodes:
        node.value += 10
        node.weights.append(node.value * 0.5)
        if node.value > best.value:
            best = node
    best.value = -1
    return first.value, [node.value for node in nodes], nodes[0] is first, nodes[-1] is first, first.weights


@cases(1, 2, 5)
def same_and_equal(n):
    nodes = []
    for i in range(n):
        nodes.append(Node(i % 2))
    a, b = nodes[0], nodes[-1]
    return a == b, a != b, a is b, a in nodes, Node(0) in nodes, nodes.count(Node(1)), nodes.index(b), copy.copy(a) is a


@cases(0, 3)
def returned(n):
    nodes = []
    shared = Node(99)
    for i in range(n):
        nodes.append(Node(i, shared if i else None))
    return nodes, shared, nodes[-1] if nodes else None


@cases(2, 3)
def one_object_in_two_places(n):
    nodes = [Node(i) for i in range(n)]
    nodes.append(nodes[0])
    nodes[-1].value = 5
    return nodes[0].value, nodes


class Counter:
    def __init__(self):
        self.count = 0
        self.last = None

    def add(self, x):
        self.count += 1
        self.last = x
        return self


@cases(["a", "b", "a"], [], ["c"])
def in_dicts(words):
    counters = {}
    for i, word in enumerate(words):
        if word not in counters:
            counters[word] = Counter()
        counters[word].add(i)
    return sorted(counters), [c.count for c in counters.values()], [c.last for c in counters.values()]


@cases((X, 0), (X, 1), (X, 4))
def pairs_with_objects(x, n):
    queue = [(0.0, Node(0))]
    for i in range(n):
        score, node = queue[-1]
        queue.append((score + float(x[0, 1]), Node(i, node)))
    queue.sort(key=lambda pair: -pair[0])
    return [score for score, _ in queue], queue[0][1].value, queue[0][1].previous is not None


@cases((3, True), (3, False), (0, True))
def one_of_several_objects(n, pick):
    a, b = Counter(), Counter()
    chosen = a if pick else b
    for i in range(n):
        chosen.add(i)
    return a.count, b.count, chosen.count, chosen is a


class Weighted:
    def __init__(self, count):
        self.count = count


@cases((X, 1), (X, 0))
def returned_by_its_first_name(x, pick):
    a, b = Weighted(x), Weighted(x + 1)
    first, second = {"x": x}, {"x": x + 1}
    chosen, dict_chosen = (a, first) if pick else (b, second)
    chosen.count = x * 3
    dict_chosen["x"] = x * 4
    return a, [first, 1]


@cases(2, 3)
def missing_attribute(n):
    nodes = [Node(i) for i in range(n)]
    return nodes[-1].weight


@cases((X, 2), (X, 3))
def object_in_object(x, n):
    class_of = []
    for i in range(n):
        class_of.append(Hypothesis([i], i * 0.5, Node(i)))
    class_of[0].state.value = 41
    class_of[0].state.value += 1
    other = class_of[0].state
    class_of[0].state = class_of[-1].state
    return other.value, class_of[0].state.value, class_of[0].state is class_of[-1].state


@cases(0, 5)
def popped(n):
    stack = [Node(1)]
    seen = []
    while stack:
        node = stack.pop()
        seen.append(node.value)
        if node.value < n:
            stack.append(Node(node.value + 2, node))
            stack.append(Node(node.value + 3, node))
    return seen


@cases((2, 0), (4, 1), (3, 9))
def changed_before_an_exception(n, at):
    nodes = [Node(i) for i in range(n)]
    try:
        for node in nodes:
            node.value += 100
            nodes[at].value = -1
    except IndexError:
        nodes.append(Node(-5))
    return [node.value for node in nodes]


@cases(4, 0)
def by_recursion(n):
    def build(k):
        node = Node(k)
        if k > 0:
            node.previous = build(k - 1)
        return node

    def depth(node):
        return 0 if node is None else 1 + depth(node.previous)

    return depth(build(n))


class Token(NamedTuple):
    text: str
    score: float = 0.0

    def scaled(self, k):
        return self._replace(score=self.score * k)


@cases(["a", "bc"], [], ["x"])
def named_tuples(words):
    tokens = [Token("<s>")]
    for i, word in enumerate(words):
        tokens.append(Token(word, i + 0.5).scaled(2))
    tokens.sort(key=lambda t: -t.score)
    best = max(tokens, key=lambda t: t.score)
    by_name = {t.text: t for t in tokens}
    return tokens, best, best.text, tokens[0].score, by_name["<s>"], isinstance(tokens[-1], Token), len(tokens[0])


@cases((X, 0), (X, 1), (X, 4))
def dicts_with_known_keys(x, n):
    rows = []
    for i in range(n):
        rows.append({"boxes": x[:, :2] + i, "scores": x[0], "label": i, "name": f"row{i}"})
    total = 0
    for row in rows:
        row["label"] += 10
        total += row["label"]
        if "scores" in row and row.get("missing") is None:
            row["scores"] = row["scores"] * 2
    rows.sort(key=lambda r: -r["label"])
    first = rows[0] if rows else None
    return rows, total, first is not None and first is rows[0], [list(r) for r in rows], len(rows)


@cases(0, 3)
def dicts_in_objects(n):
    nodes = []
    for i in range(n):
        nodes.append(Hypothesis([], 0.0, {"step": i, "path": [i]}))
    for node in nodes:
        node.state["step"] += 1
        node.state["path"].append(-1)
    return [(node.state["step"], node.state["path"]) for node in nodes]


@dataclass(order=True)
class Item:
    score: float
    tokens: List[int] = field(default_factory=list, compare=False)


@cases(0, 1, 7)
def ordered_dataclasses(n):
    heap = []
    for i in range(n):
        heap.append(Item(-float(i % 3), [i]))
    heap.sort()
    first = heap[0] if heap else Item(0.0)
    return [(h.score, h.tokens) for h in heap], first < Item(-1.0), first >= first, first == Item(-2.0, [9])


@cases(["a", "b", "a"], [], ["a"])
def lists_of_objects_in_dicts(words):
    index = defaultdict(list)
    for i, w in enumerate(words):
        index[w].append(Item(i * 1.0))
    out = {}
    for k, v in index.items():
        v[0].tokens.append(len(v))
        out[k] = [x.tokens for x in v]
    return out


# ---- dicts whose keys come and go where nobody knows which dict it is ----
PROBABILITIES = (([0.1, 0.9, 0.9, 0.2, 0.9],), ([],), ([0.9],))


@cases(*PROBABILITIES)
def segments_of_speech(probabilities):
    found, current = [], {}
    for i, p in enumerate(probabilities):
        if p > 0.5 and not current:
            current["start"] = i
        elif p < 0.5 and current:
            current["end"] = i
            found.append(current)
            current = {}
    if current:
        current["end"] = len(probabilities)
        found.append(current)
    return found


@cases(*PROBABILITIES)
def seconds_of_speech(probabilities):
    found = [{"start": i, "n": 1} for i, p in enumerate(probabilities) if p > 0.5]
    for segment in found:
        segment["end"] = segment["start"] + 1
    for segment in found:
        segment["start"] = round(segment["start"] / 3, 1)
    return found


@cases((2, X), (0, X))
def key_that_goes(n, x):
    d = {"x": x, "n": n}
    found = []
    for _ in range(n):
        found.append(d)
    del d["x"]
    return found


@cases((2, X), (0, X))
def key_of_another_kind_that_comes(n, x):
    found = []
    for i in range(n):
        d = {"x": x}
        found.append(d)
        d["n"] = i
    return found, ["n" in d for d in found]


@cases((2, X), (0, X))
def key_on_some_paths(n, x):
    found = []
    for i in range(n):
        d = {"x": x}
        if i > 0:
            d["sum"] = x.sum()
        found.append(d)
    return found, [sorted(d) for d in found], [d.get("sum") for d in found]


# A list for each row, as decoders keep hypotheses: the rows are as many as there are, and so is what each holds.
@cases((2, 5), (1, 0), (3, 3))
def hypotheses_of_each_row(rows, n):
    x = torch.arange(3.0)
    nodes = [[] for _ in range(rows)]
    found = [[] for _ in range(rows)]
    for k in range(n):
        found[k % rows].append({"tokens": x + k, "score": -x[k % 3]})
        nodes[k % rows].append(Node(k))
    for i in range(rows):
        order = torch.tensor([h["score"].item() for h in found[i]]).argsort()
        found[i] = [found[i][j] for j in order]
    return found, [sum(node.value for node in row) for row in nodes]


class Late:
    """Gets attributes behind its making, of which its class has one."""

    level = 7

    def __init__(self, n):
        self.n = n
        if n > 1:
            self.double = 2 * n

    def filled(self, x):
        if not hasattr(self, "held"):
            self.held = x
        else:
            self.held = torch.cat([self.held, x])
        return self.held


@cases((3, 0), (3, 2), (0, 0), (1, 5))
def attributes_that_some_lack(n, at):
    found = []
    for i in range(n):
        one = Late(i)
        found.append(one)
        if i % 2:
            one.level = i
        for _ in range(i):
            one.filled(X[:, 0])
    lengths = [len(one.held) if hasattr(one, "held") else -1 for one in found]
    return lengths, [one.level for one in found], [getattr(one, "double", None) for one in found], found[at].double


class CacheLayer:
    """Set up by what it is first given: what that is of, and what puts it together."""

    def __init__(self):
        self.is_set_up = False

    def set_up(self, keys):
        self.dtype, self.device = keys.dtype, keys.device
        self.join = joined_rows
        self.keys = torch.tensor([], dtype=self.dtype, device=self.device)
        self.is_set_up = True

    def update(self, keys):
        if not self.is_set_up:
            self.set_up(keys)
        self.keys = self.join(self.keys, keys)
        return self.keys.to(self.dtype)


def joined_rows(a, b):
    return torch.cat([a, b], -2)


class Cache:
    def __init__(self):
        self.layers = []

    def update(self, keys, index):
        while len(self.layers) <= index:
            self.layers.append(CacheLayer())
        return self.layers[index].update(keys)


@cases((X,), (X[:0],), (X[:1].double(),))
def cache_of_layers(x):
    cache = Cache()
    total = x.new_zeros(3)
    for t in range(x.size(0)):
        for k in range(2):
            total += cache.update(x[t : t + 1] * k, k).sum(0)
    return total, len(cache.layers), copy.deepcopy(cache.layers)[-1].keys
