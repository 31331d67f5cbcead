"""Keys of dicts that are looked up, entered and removed in turns, and lists of which the first items are taken."""

from __future__ import annotations

from collections import defaultdict

from language.cases import cases

XS = [3, 1, 2, 3, -7, 1]
NAN = float("nan")


@cases(XS, [], [5, 5])
def counted_and_changed(xs):
    counts = {}
    for x in xs:
        if x in counts:
            counts[x] += 1
        else:
            counts[x] = 1
        counts[x] = counts[x] * 2
    return counts


@cases((XS, 3), (XS, 4), ([], 1))
def entered_between_gaps(xs, k):
    d = {x: i for i, x in enumerate(xs)}
    d[k] += 1
    for x in xs:
        if x in d and x != k:
            del d[x]
            for i in range(20, 30):
                d[i] = x
            d[k] += d.get(x, 5)
            d[x] = d.get(x, 7) + d[k]
    return d


@cases((XS, True), (XS, False))
def one_of_two_dicts(xs, same):
    d = {0: 0}
    e = d if same else {0: 1}
    for x in xs:
        if x in d:
            e[x] = -1
            e.pop(xs[0], None)
            d[x] = d.get(x, 100) + 1
        else:
            d[x] = x
    return d, e


@cases((XS, 2), (XS, 4), ([], 1))
def pairs_of_prefixes(xs, most):
    beam = [((), (0.0, "start"))]
    for x in xs:
        grown = defaultdict(lambda: (-1.0, ""))
        for prefix, (score, name) in beam:
            for label in range(3):
                longer = prefix + (label,) if label != x else prefix
                old, seen = grown[longer]
                held = grown[longer]
                grown[longer] = (max(old, score + label * x), seen + name[:1])
                grown[longer] = (grown[longer][0] + held[0], held[1] + "é")
        beam = sorted(grown.items(), key=lambda item: item[1][0], reverse=True)[:3]
    return beam, {hash(prefix) for prefix, _ in beam}, most


@cases((XS, 10), ([], 3))
def copies_of_items(xs, n):
    d = {x: (x, x * 0.5) for x in xs}
    items = list(d.items())
    for k, v in items:
        d[k + n] = (v[0], v[1] + 1)
    ys = list(xs)
    for i in range(len(ys)):
        xs[i] = ys[-1 - i]
    total = 0.0
    for i, v in list(d.values()):
        total += v
        d[i] = (0, -1.0)
    zs = [x for x in xs]
    xs.clear()
    return d, total, ys, xs, sum(zs), [len(zs) + z for z in zs]


@cases((XS, 3), ([], 0))
def values_of_numbers(xs, n):
    pairs, some, one = {}, {}, {}
    for x in xs:
        pairs[x % 5] = (x * 0.5, None if x % 2 else x)
        some[x] = None if x == n else x * 0.5
        one[x] = (x,)
    for k in one:
        one[k] = (one[k][0] + n,)
    copied = dict(pairs)
    pairs[n] = pairs.get(n, (0.0, 1))
    last = one.popitem() if one else None
    return pairs, copied, pairs == copied, some, some.pop(n, 0.25), one, last, one.setdefault(n, (5,)), list(some.values())


@cases((XS, 2), ([], 1))
def values_of_many_numbers(xs, n):
    rows, longer = {}, {}
    for x in xs:
        rows[x] = (x, n, x * 0.5, True) * 8
        longer[x] = (x, n, x * 0.5) * 100
    longer[n] = longer.get(n, (0, 1, 0.25) * 100)
    return [row[-2] for row in rows.values()], sum([row[297] + row[298] + row[299] for row in longer.values()]), rows


@cases((XS, 5), ([], 0))
def long_prefixes(xs, n):
    ints, texts, pairs, flags = {}, {}, {}, set()
    path, words, steps, bits = (), (), (), ()
    for x in xs:
        path, words, steps, bits = path + (x,), words + (str(x),), steps + ((x, x * 0.5),), bits + (x > 1,)
        for label in range(n):
            ints[path + (label,)] = ints.get(path + (label % 3,), 0) + x
            texts[words + (str(label),)] = label
            pairs[steps + ((label, 1.0),)] = x
            flags.add(bits + (label % 2 == 0,))
    found = [ints[path + (label,)] for label in range(n)]
    if path in ints:
        del ints[path]
    some = flags.pop() in flags if flags else None
    return ints, texts, pairs, len(flags), found, sorted(texts)[:3], some, path in ints, [len(key) for key in ints]


@cases((XS, 30), ([], 3))
def path_of_prefixes(xs, n):
    beam = [((), 0.0)]
    for step in range(n):
        grown = {}
        for prefix, score in beam:
            for x in xs:
                longer = prefix + (x % 3,)
                grown[longer] = max(grown.get(longer, -1.0), score + x * (step % 4))
        beam = sorted(grown.items(), key=lambda item: item[1], reverse=True)[:4]
    return beam, len(beam)


@cases((XS, [0.5, 2.0, 0.5, -1.0, 2.0, 0.5]), ([], []))
def first_of_sorted(xs, keys):
    pairs = list(zip(xs, keys, strict=True))
    least = sorted(pairs, key=lambda pair: pair[1])[:3]
    most = sorted(pairs, key=lambda pair: pair[1], reverse=True)[:40]
    return least, most, sorted(xs)[:0], sorted(xs)[:-1], sorted(xs)[1:2]


@cases((list(range(50)), 7), (list(range(50)), 40))
def first_of_many(xs, n):
    order = sorted(xs, key=lambda x: x * 37 % 11)
    return order[:n], sorted(xs, key=lambda x: x * 37 % 11)[:33], sorted(xs, key=lambda x: -x * 37 % 11, reverse=True)[:5]
