"""Containers and objects as arguments: taken apart, changed for the caller, returned as they came."""

from __future__ import annotations

import enum
import functools
import itertools
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


@dataclass
class State:
    h: torch.Tensor
    steps: int = 0
    cell: torch.Tensor | None = None
    log: list[float] = field(default_factory=list)

    def advance(self, x):
        self.h = self.h + x
        self.steps += 1

    @property
    def total(self):
        return self.h.sum()


@dataclass(frozen=True)
class Config:
    scale: float
    width: int
    name: str = "plain"


class Node:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right


class Linked:
    def __init__(self, n):
        self.n = n
        self.parent = None
        self.child = None


class Point(NamedTuple):
    x: torch.Tensor
    n: int


class Mode(enum.Enum):
    ADD = 1
    MUL = 2


def pair_of_linked():
    a, b = Linked(1), Linked(2)
    a.child, b.parent = b, a
    return a


# ---- lists ----
@cases(([(1, 2.0), (3, 4.5)],), ([],), ([(1, 0.5)] * 3,))
def list_of_pairs(pairs):
    total = 0.0
    for i, w in pairs:
        total += i * w
    pairs.append((7, total))
    return total, pairs


@cases(([(X, 1), (X * 2, 2)],), ([(X, 0)],))
def list_of_pairs_with_tensors(pairs):
    out = [t * n for t, n in pairs]
    pairs[0] = (out[0], 5)
    return out


@cases(([Point(X, 1), Point(X + 1, 2)],), ([Point(X, 3)],))
def list_of_named_tuples(points):
    total = X * 0
    for p in points:
        total = total + p.x * p.n
    return total, points[0], points


@cases(([X, None, X],), ([None, X],), ([X],), ([None],))
def list_with_none(xs):
    total = 0
    for x in xs:
        if x is not None:
            total = total + x.sum()
    xs.append(None)
    return total, [x is None for x in xs], xs


@cases(([1, None, 3],), ([None, None],))
def list_of_numbers_with_none(xs):
    ys = [0 if x is None else x for x in xs]
    xs.append(4)
    xs.append(None)
    return ys, xs


@cases(([[X], []], 1), ([[], [X]], 0))
def lists_of_lists_of_tensors(xss, i):
    xss[i].append(X * 2)
    xss.append([X + 1])
    for xs in xss:
        for x in xs:
            x.add_(1)
    return xss, xss[i]


@cases(([{"a": X, "b": 1}, {"a": X * 2, "b": 2}],), ([{"a": X, "b": 5}],))
def list_of_dicts(rows):
    total = 0
    for row in rows:
        total = total + row["a"] * row["b"]
        row["b"] += 1
    return total, rows


@cases(([1, X, "s"],), ([2, X, "t"],))
def list_of_different_items(xs):
    return xs[1] * xs[0], xs[2], xs


# ---- dicts ----
@cases(({"x": X, "n": 2},), ({"x": X, "n": 0},))
def dict_with_known_keys(d):
    for _ in range(d["n"]):
        d["x"] = d["x"] + 1
    d["y"] = d["x"].sum()
    d["n"] -= 1
    return d


@cases(({"x": X, "drop": 2},), ({"drop": 1, "x": X},))
def items_deleted_and_moved(d):
    n = d.pop("drop")
    d["z"] = n
    x = d["x"]
    del d["x"]
    d["x"] = x * n
    return list(d)


@cases(({"w": [X], "n": 1}, 3), ({"w": [X], "n": 1}, 0))
def changed_before_an_error(d, k):
    d["n"] = 5
    d["w"].append(X)
    d["w"][k].add_(1)
    d["n"] = 6


@cases(({1: X, 5: X + 1}, 5), ({1: X}, 5), ({2: X}, 2))
def dict_with_run_time_keys(d, k):
    y = d[k] * 2
    d[k + 1] = y
    del d[k]
    return y, d, len(d)


@cases(({(0, 1): 0.5, (2, 3): 1.5},), ({(4, 5): 1.0},))
def dict_with_tuple_keys(d):
    for a, b in list(d):
        d[b, a] = d[a, b] * 2
    return d


@cases(({}, 3), ({}, 0))
def empty_dict_that_is_filled(cache, n):
    for i in range(n):
        cache[i] = X * i
    return len(cache)


@cases(({1: {2: [X]}}, 1), ({3: {}}, 1))
def dict_of_dicts(d, k):
    d[k][5] = [X + 1]
    return d


@cases(({3, 1, 1025, 64},), ({5},), (set(),))
def set_argument(s):
    order = list(s)
    s.add(7)
    s.discard(1)
    return order, list(s), s


@cases((frozenset({3, 1, 1025}), 1), (frozenset({2}), 1))
def frozen_set_argument(s, k):
    return k in s, list(s), s


# ---- objects ----
@cases((State(X), 3), (State(X, 5, X, [1.0]), 0))
def dataclass_changed(s, n):
    for _ in range(n):
        s.advance(X)
        s.log.append(s.total.item())
    s.cell = s.h * 2
    return s.steps, s


@cases((State(X), X), (State(X, 1, X * 3), X))
def optional_field(s, x):
    if s.cell is None:
        s.cell = x
    else:
        s.h = s.h + s.cell
        s.cell = None
    return s.h


@cases((State(X), 0), (State(X), 2))
def changed_before_it_raises(s, n):
    s.steps = 10
    for i in range(5):
        s.h = s.h + 1
        if i == n:
            raise ValueError(f"at {i}")
        s.steps += i


@cases((State(X, 4), 1), (State(X, 2), 0))
def shape_from_an_attribute(s, k):
    s.steps += 0
    return torch.zeros(s.steps, 2) + k


@cases((Config(2.0, 3), X), (Config(0.5, 2), X))
def frozen_config(c, x):
    return x * c.scale, torch.ones(c.width), c.name, c


@cases((Node(1, Node(2), Node(3, Node(4))),), (Node(1),))
def tree_of_objects(root):
    total = root.value
    for child in (root.left, root.right):
        if child is not None:
            child.value += 10
            total += child.value
            if child.left is not None:
                child.left.value = X
    return total


@cases((pair_of_linked(),))
def objects_that_refer_to_one_another(a):
    a.child.n += a.n
    a.child.parent.n = 7
    return a.n, a.child.n, a.child.parent is a


def one_state_twice():
    s = State(X)
    return s, s


@cases(one_state_twice(), (State(X), State(X)))
def one_object_twice(a, b):
    a.steps = 5
    b.steps += 1
    return a.steps, b.steps, a is b


@cases((State(X), State(X + 1), True), (State(X), State(X + 1), False))
def one_of_two_arguments(a, b, flag):
    s = a if flag else b
    s.h = s.h * 2
    s.steps = 3
    return s, a.steps, b.h


@cases((Node(1), 5), (Node(2), 0))
def new_object_stored(node, n):
    node.left = Node(n)
    node.left.value += 1
    child = node.left
    for i in range(n):
        child.value += i
    child.left = Node(X)
    return child.value


@cases((Node(X), 2), (Node(X), 0))
def containers_stored(node, n):
    node.left = [X * i for i in range(n)]
    node.left.append(X)
    node.right = {"k": n, "l": (X, n)}
    node.value = {i: i * i for i in range(n)}
    node.value[n] = 1
    return len(node.left)


@cases((Node(1), 0), (Node(1), 1), (Node(1), 2))
def value_of_several_kinds(node, k):
    if k == 0:
        node.value = None
    elif k == 1:
        node.value = X
    else:
        node.value = 2.5
    return k


@cases((X, Mode.ADD), (X, Mode.MUL))
def enum_argument(x, mode):
    return x + 2 if mode is Mode.ADD else x * 2


@cases(((X, {"s": State(X)}, [State(X, 1)]), 1), ((X, {"s": State(X)}, [State(X, 2)]), 0))
def objects_in_containers(group, n):
    x, d, states = group
    d["s"].steps += n
    states[0].h = x * n
    d["t"] = states[0]
    return d["t"] is states[0], d


# ---- results ----
@cases((X, 2), (X, 0))
def nested_results(x, n):
    d = {i: [(x * i, i)] for i in range(n)}
    s = State(x, n)
    s.log.append(1.5)
    return {"d": d, "s": [s, {1, n}], "p": [Point(x, n)], "e": {(1, n): {n}}}


def depth_first(node):
    """Recursion over a tree that is an argument ends where the tree does."""
    node.value += 1
    below = [depth_first(child) for child in (node.left, node.right) if child is not None]
    return node.value * 2 + sum(below)


@cases((Node(1, Node(2, Node(5)), Node(3)),), (Node(1),))
def recursion_over_a_tree(root):
    return depth_first(root)


class Branch:
    def __init__(self, *children):
        self.count, self.children, self.state = len(children), [*children], None


def states_of_children(tree, x):
    for i in range(tree.count):
        states_of_children(tree.children[i], x)
    tree.state = x * tree.count + sum(child.state for child in tree.children)
    return tree.state


@cases((Branch(Branch(), Branch(Branch())), X), (Branch(), X))
def recursion_over_numbered_children(tree, x):
    return states_of_children(tree, x)


@cases(([torch.tanh, torch.sin, torch.cos], X, 2), ([torch.sin, torch.cos], X, 1))
def items_by_counters_of_unknown_loops(functions, x, n):
    for i in range(x.size(0) - 1):
        x = functions[i](x)
    for i in range(n):
        x = functions[n - i](x)
    return x


@cases(({"a": X, "b": X + 1}, ["b", "a", "b"]), ({"a": X}, []), ({}, []), ({"a": X}, ["c"]))
def tensors_by_name(weights, names):
    total = 0
    for i, name in enumerate(names):
        total = total + weights[name + ""]
        weights[f"{name}{i}"] = weights[name] * 2
    return total, list(weights)


@cases(({f"key{i}": i for i in range(100)}, "key7"), ({f"key{i}": i for i in range(70)}, "x"))
def large_vocabulary(vocabulary, word):
    return vocabulary.get(word, -1), len(vocabulary), word in vocabulary


# ---- decorators of functions inside ----
def maybe(function):
    @functools.wraps(function)
    def inner(x, *args, **kwargs):
        if function is None:
            return x
        return function(x, *args, **kwargs)

    return inner


def times(n):
    def decorator(function):
        def repeated(x):
            for _ in range(n):
                x = function(x)
            return x

        return repeated

    return decorator


@cases((torch.ones(2), 3), (torch.zeros(2), 0))
def decorated_inside(x, n):
    @times(n)
    @maybe
    def more(x):
        return x * 2 + n

    return more(x), maybe(None)(x), maybe(torch.add)(x, n, alpha=2)


# Dicts of the caller with strings as keys: structures, until a key is computed.
@cases(("the dog", {"the": 0, "cat": 1}), ("", {}), ("a b a", {}))
def words_numbered(text, numbers):
    found = []
    for word in text.split():
        try:
            found.append(numbers[word])
        except KeyError:
            numbers[word] = len(numbers)
            found.append(numbers[word])
    return found, numbers.get("none", -1)


@cases(({"a": 1, "b": 2}, True), ({"a": 0, "b": 0}, False), ({"a": 1}, True))
def keys_deleted_from_the_callers(numbers, walked):
    total = 0
    for key in numbers if walked else list(numbers):
        total += numbers[key]
        if total != 1:
            del numbers[key]
    return total


@cases(({"a": X, "b": 2 * X}, "b c"), ({"b": X}, "b"))
def tensors_found_by_words(table, text):
    return [table.get(word, X) for word in text.split()], "a" in table and table["a"].sum()


def raised(call):
    try:
        call()
    except TypeError:
        return "TypeError"
    return "nothing"


@cases((X, [1, 2], 0), (X, [3], 2))
def arguments_that_python_refuses(x, xs, cause):
    d = {1: 2}
    found = [
        raised(lambda: list(itertools.islice(xs))), raised(lambda: max(xs, base=1)), raised(lambda: d.pop(5, 6, 7)),
        raised(lambda: range()), raised(lambda: range(1, 2, 3, 4)),
        raised(lambda: torch.where(2.5, range(3), "a")),
    ]  # fmt: skip
    try:
        raise ValueError from cause
    except TypeError:
        return found, len(list(itertools.permutations(xs)))
    except ValueError:
        return found, 0


@dataclass
class Named:
    r: int


def named(r, func=3):
    return r, func


@cases(3)
def keywords_of_any_name(n):
    made = dict(source=n, r=1), OrderedDict(r=n, source=2), defaultdict(int, r=n, factory=2), Counter(source=2, r=n)
    made[0].update(other=1, r=n)
    made[3].update(r=1, d=n)
    called = functools.partial(named, func=n, r=1)(), "{template} {r}".format(template=n, r=1)  # noqa: UP032
    return [list(d.items()) for d in made], called, replace(Named(n), r=5).r
