"""Lists, tuples, dicts and sets that change, and objects in them, that are refused."""

from __future__ import annotations

import collections
import math
from typing import Any

import torch

from language.rejected import write

X = torch.arange(3.0)


def one_kind_a_set(n):
    numbers, texts = set(), set()
    for i in range(n):
        numbers.add(i)
        texts.add(str(i))
    return len(numbers) + len(texts)


def a_number_instead(xs):
    xs[0].append([len(xs)])
    return len(xs)


@write("container_in_itself", a_number_instead, ([[[1]]],))
def a_list_in_itself(xs):
    xs[0].append(xs)  # refused
    return len(xs)


@write("container_of_kinds", one_kind_a_set, (3,))
def two_kinds_in_a_set(n):
    found = set()
    for i in range(n):
        found.add(i)
        found.add(str(i))  # refused
    return len(found)


def texts_of_errors(xs, errors):
    for x in xs:
        try:
            x = 1 // x
        except ZeroDivisionError as e:
            errors.append(str(e))
    return xs


@write("container_of_unstorable", texts_of_errors, ([1, 0], ["none"]))
def collects_errors(xs, errors):
    for x in xs:
        try:
            x = 1 // x
        except ZeroDivisionError as e:
            errors.append(e)  # refused
    return xs


@write("tuple_of_unstorable", lambda n, k: ("division by zero",) * k, (0, 2))
def repeats_an_error(n, k):
    try:
        return ("none",) * (1 // n)
    except ZeroDivisionError as e:
        return len((e,) * k)  # refused


def pairs_of_one_length(pairs, n):
    rest = pairs - {(3, 4)}
    rest.add((n, 0))
    return sorted(rest)


@write("container_of_lengths", pairs_of_one_length, ({(1, 2), (3, 4)}, 5))
def adds_a_shorter_tuple(pairs, n):
    rest = pairs - {(3, 4)}  # refused
    rest.add((n,))
    return sorted(rest)


def parts_of_roots(n):
    real, imag = [], []
    for i in range(n):
        z = complex(i, 1.0) ** 2
        real.append(z.real)
        imag.append(z.imag)
    return real, imag


@write("container_of_complex", parts_of_roots, (3,))
def roots_in_a_dict(n):
    found = {}
    for i in range(n):
        found[i] = complex(i, 1.0) ** 2  # refused
    return len(found)


def tuples_of_texts(n, words):
    seen = {}
    for i in range(n):
        seen[tuple(words[:i])] = i
    return tuple(words) in seen


@write("key_of_other_type", tuples_of_texts, (2, ["a"]))
def asks_for_other_keys(n, words):
    seen = {}
    for i in range(n):
        seen[tuple(range(i))] = i
    return tuple(words) in seen  # refused


def names_of_steps(n):
    steps = ["abs", "neg"]
    steps.append("sin")
    table = {}
    for i in range(n):
        table[i] = steps
    return len(table)


@write("list_changes_without_type", names_of_steps, (2,))
def steps_in_a_table(n):
    steps = [abs, 1]
    steps.append(2)  # refused
    table = {}
    for i in range(n):
        table[i] = steps
    return len(table)


@write("list_without_type_used", names_of_steps, (2,))
def dtypes_in_a_table(n):
    steps = [torch.float32, 1]
    table = {}
    for i in range(n):
        table[i] = steps  # refused
    return len(table)


@write("one_of_several_used", lambda n: torch.tensor([float(n) if n > 3 else 1.5]), (4,))
def tensor_of_several(n):
    v = n if n > 3 else math.sin if n > 2 else 1.5
    return torch.tensor([v])  # refused


def numbers_in_a_set(x, n):
    seen = {int(x.sum()), n}
    seen.add(n + 1)
    return len(seen)


@write("set_of_items", numbers_in_a_set, (X, 5))
def tensors_in_a_set(x, n):
    seen = {x, n}
    seen.add(n + 1)  # refused
    return len(seen)


def numbers_behind_texts(xs, n):
    return tuple(xs) + (str(n),)


@write("tuples_of_kinds", numbers_behind_texts, (["a"], 3))
def number_behind_texts(xs, n):
    return tuple(xs) + (n,)  # refused


@write("tuple_of_kinds", lambda n: ((1,) * n, ("a",) * n), (3,))
def repeats_a_pair(n):
    return (1, "a") * n  # refused


# ---- what paths leave ----
class Box:
    def __init__(self, x: Any):
        self.x = x


def keys_on_all_paths(x, n):
    d = collections.OrderedDict(x=x, scale=1)
    d["shift"] = n if n > 0 else 0
    return d["x"] + d["shift"]


@write("other_keys_on_a_path", keys_on_all_paths, (X, 1), (X, 0))
def key_on_some_path(x, n):
    d = collections.OrderedDict(x=x, scale=1)
    if n > 0:
        d["shift"] = n
    return [*d]  # refused


def copies_one(x, n):
    p, q = collections.OrderedDict(x=x, n=1), collections.OrderedDict(x=x + 1, n=2)
    r = p.copy() if n > 0 else q.copy()
    r["n"] = 3
    return p["n"] + r["n"]


@write("same_object_on_a_path", copies_one, (X, 1), (X, 0))
def changes_one_of_two(x, n):
    p, q = collections.OrderedDict(x=x, n=1), collections.OrderedDict(x=x + 1, n=2)
    r = p if n > 0 else q
    r["n"] = 3
    return p["n"] + r["n"]  # refused


def one_name(x, n):
    p = {None: x, "n": n}
    if n > 0:
        p["n"] = n + 1
    return p["n"]


@write("two_names_of_an_object", one_name, (X, 1), (X, 0))
def two_names(x, n):
    if n > 0:  # refused
        p = {None: x, "n": n}
        q = p
    else:
        p = {None: x, "n": n}
        q = {None: x, "n": n + 1}
    p["n"] = 3
    return q["n"]


def number_on_all_paths(x, n):
    box = Box(x)
    if n > 0:
        box.x = x + 1
    return box.x


@write("paths_leave_other_content", number_on_all_paths, (X, 1), (X, 0))
def generator_on_some_path(x, n):
    box = Box(x)
    setattr(box, "x", (x + i for i in range(n))) if n > 0 else None  # refused
    return list(box.x) if n > 0 else box.x


# ---- objects that exist at run time ----
def one_kind_a_field(n, x):
    found = []
    for i in range(n):
        found.append(Box([float(i)]))
        found.append(Box([0.5]))
    return [b.x[0] for b in found]


@write("record_field_of_kinds", one_kind_a_field, (2, [1]))
def fields_of_two_kinds(n, xs):
    found = []
    for _ in range(n):
        found.append(Box(xs))
        found.append(Box([0.5]))  # refused
    return len(found)


def of_nine_kinds(n, x):
    return {
        "x": x, "n": n, "half": n / 2, "text": str(n), "flag": n > 1, "pair": (n, n), "list": [n], "sum": x.sum(),
        "long": x.long(),
    }  # fmt: skip


def key_set_to_none(n, x):
    d = of_nine_kinds(n, x)
    found = []
    for _ in range(n):
        found.append(d)
    d["x"] = None
    return len(found)


@write("record_loses_key", key_set_to_none, (2, X))
def loses_a_key(n, x):
    d = of_nine_kinds(n, x)
    found = []
    for _ in range(n):
        found.append(d)
    del d["x"]  # refused
    return len(found)


class Node:
    def __init__(self, n):
        self.n = n
        self.root = None


def root_behind_the_call(n):
    found = []
    for i in range(n):
        node = Node(i)
        node.root = node
        found.append(node)
    return [node.root.n for node in found]


class OwnRoot:
    def __init__(self, n):
        self.n = n
        self.root = self


@write("record_stored_in_init", root_behind_the_call, (2,))
def root_in_init(n):
    found = []
    for i in range(n):
        found.append(OwnRoot(i))  # refused
    return [node.root.n for node in found]


def name_under_a_key(table, key):
    table[key] = 2.0
    return len(table)


@write("functions_in_dict", name_under_a_key, ({"a": 1.0}, "b"))
def function_under_a_key(table, key):
    table[key] = abs  # refused
    return len(table)
