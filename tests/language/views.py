"""Views of dicts, which show what the dict holds now, and loops over dicts that change."""

from __future__ import annotations

from collections import OrderedDict

import torch

from language.cases import cases

D = {"a": 1, "b": 2}
T = {"w": torch.ones(2), "b": torch.zeros(2)}


@cases(D, {}, {"b": 5})
def shown_later(d):
    keys, values, items = d.keys(), d.values(), d.items()
    d["z"] = 1
    d["b"] = 7
    return list(keys), sum(values), list(items), len(keys), "z" in keys, 7 in values, ("b", 7) in items, bool(items)


@cases((D, 3), (D, 1), ({}, 0))
def shown_later_with_run_time_keys(d, n):
    table = {i: i * i for i in range(n)}
    keys, values = table.keys(), table.values()
    table[10] = 5
    table[0] = 7
    return list(keys), list(values), len(keys), keys & {10, 0}, keys | {4}, 10 in keys


@cases(D)
def emptied(d):
    values = d.values()
    d.clear()
    return len(values), list(values), bool(values)


@cases(D)
def new_values_while_walked(d):
    seen = []
    for k, v in d.items():
        seen.append((k, v))
        d["b"] = v + 41
    for i, v in enumerate(d.values()):
        seen.append((i, v))
        d["b"] = v + 1
    for v, k in zip(d.values(), d.keys(), strict=False):
        seen.append((k, v))
        d["b"] = v + 10
    return seen, d


@cases(D)
def new_values_while_walked_backward_or_strictly(d):
    seen = []
    for v in reversed(d.values()):
        seen.append(v)
        d["a"] = v + 9
    for v, k in zip(d.values(), d, strict=True):
        seen.append((k, v))
        d["b"] = v + 40
    return seen, d


@cases(D, {})
def keys_that_come_while_walked_backward(d):
    for k in reversed(d):
        d[k + k] = 0
    return d


@cases(T)
def tensors_replaced_while_walked(d):
    for k, v in d.items():
        d[k] = v * 2
        v.add_(1)
    return d, sum(d.values())


@cases((D, "add"), (D, "delete"), ({}, "add"), (D, "replace"), (D, "add later"))
def keys_that_come_and_go(d, how):
    seen = []
    for k in d:
        seen.append(k)
        if how == "add" or (how == "add later" and k == "b"):
            d["c"] = 1
        elif how == "delete":
            d.pop("b", None)
        else:
            d[k] = 0
    return seen, d


@cases(D, {})
def keys_that_come_while_a_comprehension_walks(d):
    def added(k):
        d[k + k] = 0
        return k

    return [added(k) for k in d]


@cases(D, {})
def keys_that_come_while_a_generator_walks(d):
    def walked():
        yield from d

    for k in walked():
        d[k + k] = 0
    return d


@cases(D)
def left_before_the_end(d):
    for _ in d:
        d["c"] = 3
        break
    return d


@cases((3, True), (3, False))
def keys_that_some_paths_add(n, adds):
    d = {"a": n}
    for k in d:
        if adds:
            d[k + k] = 1
    return d


@cases(1, 5)
def ordered(n):
    d = OrderedDict(a=n, b=2)
    if n > 3:
        for k in d:
            d[k + k] = 1
    for _ in OrderedDict(a=n):
        d["last"] = n
    return d


@cases(D)
def iterators(d):
    values, keys = iter(d.values()), iter(d)
    first = next(values), next(keys)
    d["b"] = 9
    return first, next(values), next(keys), next(keys, "none"), list(iter(d.items()))


@cases(D)
def iterators_over_changed_dicts(d):
    keys = iter(d)
    first = next(keys)
    d["c"] = 1
    return first, next(keys)


@cases((D, {"b", "q"}), ({}, {"a"}))
def set_operators(d, other):
    keys = d.keys()
    made = keys & other, keys | other, keys - other, keys ^ other
    return made, keys == {"a", "b"}, keys <= {"a", "b"}, keys.isdisjoint(other)


@cases(D)
def equality(d):
    same = d.items() == dict(d).items(), d.keys() == d.keys(), d.values() == d.values()
    return same, d.keys() == ("a", "b"), d.keys() != ["a"]


@cases(D)
def texts(d):
    return str(d.keys()), repr(d.items()), f"{d.values()}", str(OrderedDict(d).keys()), type(d.keys()).__name__


@cases(D)
def no_tuples(d):
    return isinstance(d.keys(), tuple), isinstance(d.items(), list)


@cases(D)
def not_subscriptable(d):
    return d.keys()[0]


@cases(D)
def without_index(d):
    return d.values().index(1)


@cases(D)
def unpacked(d):
    a, b = d.values()
    (k, v), *rest = d.items()
    return a, b, k, v, rest, [*d.keys()], max(d.values()), sorted(d.keys(), reverse=True), dict(d.items()), set(d.keys())


@cases(D)
def passed_to_functions(d):
    def added(values):
        return [v + 1 for v in values]

    values = d.values()
    first = added(values)
    d["a"] = 10
    return first, added(values)
