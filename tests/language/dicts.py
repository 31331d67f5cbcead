"""Dicts whose keys are known only at run time."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import torch

from language.cases import cases, construct

X = torch.arange(6.0).reshape(2, 3)
XS = [3, 1, 2, 3, -7, 1]
TABLE = {1: 10, 2: 20}


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0
    name: str = field(default="", compare=False)


@cases((1, 2.0), (-1, 0.5))
def hashes_of_dataclasses(x, y):
    return hash(Point(x, y)) == hash((x, y)), {hash(Point(x)): y}


class Named(NamedTuple):
    n: int
    v: float


@cases(XS, [], [5], [2**61, -1, 0])
def counts(xs):
    d = {}
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return d, len(d), list(d), list(d.values()), list(d.items()), bool(d)


@cases((XS, 3), (XS, 9), ([], 1))
def missing_keys(xs, k):
    d = {x: i for i, x in enumerate(xs)}
    return k in d, k not in d, d.get(k), d.get(k, -1), d[k]


@cases((XS, 3), (XS, 9), ([], 1))
def deleted(xs, k):
    d = {x: x * 2 for x in xs}
    e = d
    del d[k]
    d[k] = 0
    return d, e is d, len(e)


@cases((XS, 2, 0), (XS, 9, 0), ([], 1, 5))
def popped(xs, k, default):
    d = {x: float(x) for x in xs}
    a = d.pop(k, default)
    b = d.popitem()
    c = d.pop(3)
    return a, b, c, d


@cases(XS, [])
def updated(xs):
    d = {x: 1 for x in xs}
    d.update({100: 2, 3: 5})
    d.update([(200, 1), (100, 7)])
    d.update({x + 1: 8 for x in xs})
    e = d.copy()
    e[1000] = 1
    f = dict(d)
    f.clear()
    g = {**d, 5: 6}
    h = d | e
    h |= {x: 0 for x in xs}
    return d, e, f, g, h, d == e, d != e, d == dict(d.items()), {} == f


@cases(XS, [])
def set_defaults(xs):
    d = {}
    for i, x in enumerate(xs):
        d.setdefault(x, []).append(i)
    e = dict.fromkeys(xs, 0)
    f = dict.fromkeys(xs)
    f[3] = 1
    return d, e, f


@cases(XS, [])
def walked(xs):
    d = {x: x * x for x in xs}
    total = 0
    for k in d:
        total += k
    for i, (k, v) in enumerate(d.items()):
        total += i * k * v
    for v, w in zip(d.values(), d.keys(), strict=True):
        total += v - w
    pairs = sorted((v, k) for k, v in d.items())
    return total, pairs, sorted(d), sum(d.values()), [k for k in d if k > 0], list(reversed(list(d)))


@cases(XS, [4])
def extremes(xs):
    d = {x: -x for x in xs}
    return max(d), min(d.values()), max(d, key=lambda k: d[k]), any(d), all(v < 5 for v in d.values())


@cases((XS, 0), (XS, 1), (XS, 2), ([1], 1), ([1], 2))
def changed_while_walked(xs, how):
    d = {x: 0 for x in xs}
    for k in d:
        if how == 1:
            d[k + 100] = 1
        elif how == 2:
            del d[k]
        else:
            d[k] = k
    return d


@cases(XS, [])
def left_before_the_change_is_noticed(xs):
    d = {x: 0 for x in xs}
    for k in d:
        d[k + 100] = 1
        break
    return d


@cases((1.0, 2), (1.5, 0), (float("inf"), 1), (1e300, 1))
def equal_keys(x, n):
    d = {i: i * 10 for i in range(n)}
    d[n] = 5
    return x in d, d.get(x), True in d, d.get(False), n in d


@cases(([0.0, 1.0, 2.5], 0), ([0.5], 2**60 + 1), ([-0.0], 0))
def float_keys(xs, n):
    d = {}
    for x in xs:
        d[x] = x
    return d, n in d, -0.0 in d, d.get(1), d.get(True), d.get(n)


@cases(XS, [])
def tuple_keys(xs):
    d = {}
    for i, x in enumerate(xs):
        d[x, i % 2] = i
        d[x, 0] = d.get((x, 0), 0) + 1
    return d, (3, 1) in d, (3.0, True) in d, (3,) in d, sorted(d), [(a, b, v) for (a, b), v in d.items()]


@cases((XS, (1, 2)), ([], (3, 4)))
def tuple_key_missing(xs, k):
    d = {(x, x + 1): (x, 0.5) for x in xs}
    return d[k]


@cases((X, XS), (X, []))
def tensors(x, xs):
    d = {}
    for k in xs:
        if k in d:
            d[k] = d[k] + x
        else:
            d[k] = x * k
    d[1000] = x
    d[1000].add_(1)
    return d, sum(v.sum() for v in d.values())


@cases((X, XS), (X, []))
def pairs_as_values(x, xs):
    d = {}
    for k in xs:
        n, t = d.get(k, (0, x))
        d[k] = (n + 1, t * 2)
    return d


@cases(XS, [])
def none_as_value(xs):
    d = {x: None for x in xs}
    for x in xs:
        if x > 1:
            d[x] = x * 2
    return d, [k for k, v in d.items() if v is None], d.get(3)


@cases((X, XS), (X, [0]))
def none_beside_tensors(x, xs):
    d = {}
    for k in xs:
        d[k] = x * k if k > 1 else None
    total = x
    for v in d.values():
        if v is not None:
            total = total + v
    return d, total


@cases(XS, [])
def nested(xs):
    d = {}
    for x in xs:
        if x not in d:
            d[x] = {}
        d[x][len(d)] = x
        d[x].update({0: 1})
    e = {x: {y: y for y in xs if y < x} for x in xs}
    return d, e, [len(v) for v in e.values()]


@cases(XS, [])
def shared(xs):
    d = {x: [x] for x in xs}
    ds = [d, d, {}]
    ds[1][50] = [1, 2]
    ds[2][1] = [3]
    return d, ds, ds[0] is d


@cases(XS, [])
def default_dicts(xs):
    c = defaultdict(int)
    groups = defaultdict(list)
    sums = defaultdict(float)
    nested = defaultdict(lambda: 7)
    for i, x in enumerate(xs):
        c[x] += 1
        groups[x % 2].append(i)
        sums[x] += x * 0.5
        nested[x] += 1
    return c, groups, sums, dict(nested), c[99], 99 in c, 98 in c, c.get(97)


@cases(XS, [])
def absent_keys_of_default_dicts(xs):
    """Only `d[key]` enters an absent key."""
    d = defaultdict(lambda: 5)
    absent = 0
    for x in xs:
        d[x] += 1
        try:
            d.pop(x + 1)
        except KeyError:
            absent += 1
    return dict(d), absent, d.pop(99, 3), len(d)


@cases(list(range(40)), [7], [])
def made_in_each_iteration(xs):
    """A dict takes the memory of one that died. Keys are tuples that are looked up by their parts."""
    prefixes: list[tuple[int, ...]] = [()]
    sizes = []
    for x in xs:
        d = defaultdict(lambda: (0.0, 1.0))
        for t in prefixes:
            for i in range(9):
                a, b = d[t + (i * x,)]
                d[t + (i * x,)] = (a + x, b * 0.5)
            d[t] = (d[t][1], -1.0)
        del d[prefixes[0] + (0,)]
        a, b = d[prefixes[0] + (0,)]
        small = {x: a}
        small[x + 1] = b
        for t in list(d)[: x % 20]:
            del d[t]
        prefixes = [key for key, pair in sorted(d.items(), key=lambda item: (item[1][0] + len(item[0])) % 7.0)[:5]]
        sizes.append((len(d), len(small)))
    return prefixes, sizes


@cases(3)
def default_dicts_with_known_keys(n):
    d = defaultdict(list)
    d["a"].append(n)
    d["b"] += [1, 2]
    d["a"].append(n + 1)
    return d, d["c"], len(d)


@cases(XS, [])
def counters(xs):
    c = Counter(xs)
    c.update([1, 2])
    c[5] += 2
    return c, c[77], 77 in c, c.most_common(2), c.most_common(), c.total(), sorted(c.items()), list(c.elements())


@cases(XS, [])
def ordered(xs):
    d = OrderedDict()
    for x in xs:
        d[x] = 1
    d.pop(1, None)
    d[1] = 2
    return d, list(d)


@cases((XS, 1, True), (XS, 2, False), ([], 1, True))
def moved_to_an_end(xs, key, last):
    known = OrderedDict(a=1, b=2)
    known.move_to_end("a")
    d = OrderedDict((x, -x) for x in xs)
    try:
        d.move_to_end(key, last=last)
    except KeyError as e:
        return known, str(e)
    return known, d, d.popitem(last=False)


@cases((XS, 1), (XS, 3), (XS, 0))
def global_table(xs, k):
    total = 0
    for x in xs:
        total += TABLE.get(x, 1)
    return total, TABLE[k]


@cases((XS, True), (XS, False))
def made_on_paths(xs, flag):
    if flag:
        d = {x: 1 for x in xs}
    else:
        d = {}
    e = d
    for x in xs:
        e[x + 1] = 2
    return d, e is d


@cases((5, 0), (5, 3), (0, 0))
def grown_by_a_loop(n, k):
    memo = {0: 0, 1: 1}
    for i in range(2, n):
        memo[i] = memo[i - 1] + memo[i - 2]
    return memo, memo[k]


@cases((6,), (0,))
def while_it_has_items(n):
    d = {i: i * i for i in range(n)}
    order = []
    while d:
        k, v = d.popitem()
        order.append((k, v))
    return order, len(d)


@cases((XS, [2, 1]), ([], []))
def compared(xs, ys):
    a = {x: [x] for x in xs}
    b = {x: [x] for x in ys}
    for x in xs:
        b[x] = [x]
    return a == b, a != b, a == {}, b == dict(b), a == xs


@cases((X, 2), (X, 0))
def cache_of_states(x, n):
    cache = {}
    h = x
    for t in range(4):
        key = t % (n + 1)
        if key in cache:
            h = h + cache[key]
        cache[key] = h.sum(0)
    return h, cache


@cases(XS)
def unhashable(xs):
    d = {1: 2}
    for x in xs:
        d[x] = 1
    return xs in d


@cases((["a", "b", "a", "ü", ""], "a"), (["x"], "y"), ([], ""))
def string_keys(words, w):
    d = {}
    pairs = {}
    for i, word in enumerate(words):
        d[word] = d.get(word, 0) + 1
        d[word + "!"] = i
        pairs[word, i % 2] = word.upper()
    names = {i: word * 2 for i, word in enumerate(words)}
    order = [k for k, _ in sorted(d.items(), key=lambda kv: (kv[1], kv[0]))]
    return d, pairs, names, order, w in d, (w, 0) in pairs, d.get(w + "!"), d[w]


@cases((X, ["w1", "w2", "w1"]), (X, []))
def named_tensors(x, names):
    weights = {"bias": x}
    for name in names:
        if name not in weights:
            weights[name] = x * len(weights)
        weights[name].add_(1)
    return weights, sorted(weights)


@cases((5, 1.5, [1, 2]), (-1, 2.0, []), (2**61 + 3, float("inf"), [0]), (-(2**63), -0.1, [7, 7, 7]))
def hashes(n, v, xs):
    one = n, v, (n > 2, ())
    found = hash(n), hash(v), hash(n > 2), hash(one), hash(tuple(xs)), hash(Named(n, v)), hash(-1)
    return found if xs else hash(xs)


@cases(3)
def hashes_of_this_process(n):
    return hash("text") + n, hash(("a", 1, None)), hash("text") == hash(("text",))


@cases(3, 0)
def known_keys_replaced_by_run_time_keys(n):
    beams = {(): (0.0, -1.0)}
    texts = {"": 0.5}
    for t in range(n):
        grown = {}
        for prefix, (blank, other) in beams.items():
            grown[(*prefix, t)] = (other, blank + 1)
            grown[prefix] = (blank, other + 2)
        beams = grown
        texts = dict([(text + c, p / 2) for text, p in texts.items() for c in "ab"][:3])
    return beams, texts


@cases(3, 0)
def known_keys_on_one_path(n):
    d = {"a": 1, "b": 2}
    if n > 1:
        d = {k: v * 2 for k, v in d.items() if v > 1}
    other = {"x": 1} if n > 1 else {"y": 2, "z": n}
    return [(k, d[k]) for k in d], d.get("a", 5), [k for k in other]


class Registry(dict):
    """Finds and keeps in its own way what a dict finds and keeps."""

    def __setitem__(self, key, value):
        super().__setitem__(str(key), value)

    def __getitem__(self, key):
        found = super().__getitem__(str(key))
        return found[0] if isinstance(found, tuple) else found

    def get(self, key, default=None):
        return super().get(str(key)) or default


class Halves(list):
    def __getitem__(self, index):
        return super().__getitem__(index) / 2


HALVES = Halves([1.0, 2.0, 3.0])
REGISTRY = Registry()
REGISTRY[1] = 3
REGISTRY["pair"] = (4, 5)
REGISTRY["made"] = torch.relu


@cases((X, 1), (X, 2), (X, "pair"))
def dicts_of_a_class_of_the_users(x, key):
    halves = HALVES[1], len(HALVES), HALVES[-1]
    return REGISTRY["made"](x) + REGISTRY[key], REGISTRY.get("nothing", 8), REGISTRY.get(key), len(REGISTRY), halves


@cases(0, 2)
def slices_as_keys(n):
    d, found = {1: 2}, []
    try:
        found.append(d[n:])
    except (TypeError, KeyError):
        found.append(-1)
    try:
        found.append(d[0:1])
    except (TypeError, KeyError):
        found.append(-2)
    return found


class Spelled:
    """A mapping by its methods alone, whose keys look like pairs."""

    def __init__(self, n):
        self.n = n

    def keys(self):
        return ["ab", "cd"]

    def __getitem__(self, key):
        return self.n if key == "ab" else self.n + 1

    def __iter__(self):
        return iter(self.keys())


@cases(1, 2)
def dicts_of_objects_with_keys(n):
    d = {"ef": n}
    d.update(Spelled(n))
    return dict(Spelled(n)), d


@cases(X, torch.ones(2))
def views_of_a_dict(x):
    d = {"a": x}
    view = MappingProxyType(d)
    d["b"] = x + 1
    items = dict(view), {**view, "c": 3}, view | {"d": 4}, view.copy(), list(view.items())
    return view["b"], view.get("c", 2), "a" in view, len(view), [*view], items, bool(view), isinstance(view, Mapping)


@cases(XS, [])
def views_of_a_dict_with_run_time_keys(xs):
    d = {}
    view = MappingProxyType(d)
    for x in xs:
        d[x] = view.get(x, 0) + 1
    return sum(view.values()), [k for k in view], 3 in view, view == d, f"{view} {view!r}", dict(view)


@cases(1, 5)
def one_of_two_views(n):
    view = MappingProxyType({"k": n} if n > 3 else {"k": -n})

    def f(k):
        return k + 1

    return f(**view), view == {"k": n}, view != {"k": n}


@cases("a", "b", "c", "d")
def refusals_of_views(what):
    view = MappingProxyType({"a": 1})
    try:
        if what == "a":
            view["a"] = 2
        elif what == "b":
            del view["a"]
        elif what == "c":
            view.clear()
        else:
            MappingProxyType([1])
    except (TypeError, AttributeError) as e:
        return str(e)


construct(
    "Dicts and sets", "`types.MappingProxyType`", "of dicts; not returned",
    views_of_a_dict, views_of_a_dict_with_run_time_keys, one_of_two_views, refusals_of_views,
)  # fmt: skip


@cases(([torch.ones(2, 3)], 0), ([torch.ones(2, 3), torch.zeros(1, 3)], 0), ([torch.ones(2, 3)], 1))
def items_of_one_kind_under_each_key(xs: list[torch.Tensor], n: int) -> object:
    """Dicts in a list of any length hold items of several kinds, but one under each key until the last line."""
    rows = []
    for x in xs:
        rows.append({"whole": x, "sum": x.sum(0), "rows": len(x)})
    for row in rows:
        row["scaled"] = row["whole"] * row["sum"]
    whole = torch.cat([row["scaled"] for row in rows]), sum([row["rows"] for row in rows])
    found = [row.get("sum") for row in rows]
    for row in rows:
        found.append(row["sum"] + row["rows"])
        row["sum" if n else "rows"] = row["whole"]
    return whole, found, rows


@cases((X, 3), (X, 0))
def equal_items_and_order(x, n):
    """Items are compared as those of lists: by identity first. Between two OrderedDicts the order counts."""
    try:
        other = {"a": x} == {"a": x + 0}
    except RuntimeError:
        other = "no truth"
    first, second = OrderedDict(a=1, b=n), OrderedDict(b=n, a=1)
    counted, reversed_ = OrderedDict(), OrderedDict()
    for i in range(n):
        counted[i] = 1
        reversed_[n - 1 - i] = 1
    orders = first == second, first != second, first == {"b": n, "a": 1}, counted == reversed_, dict(counted) == reversed_
    return {"a": x} == {"a": x}, {"a": x, "b": n} != {"b": 4, "a": x}, other, orders
