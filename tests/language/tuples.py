"""Tuples whose length is known only at run time."""

from __future__ import annotations

from collections import defaultdict

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


@cases(0, 1, 2, 7)
def grown(n):
    found = ()
    for i in range(n):
        found = found + (i * i,)
    return found, len(found), list(found)


@cases(0, 1, 5)
def grown_in_place(n):
    t = (7,)
    alias = t
    for i in range(n):
        t += (i, i + 1)
    return t, alias, sum(t), max(t), sorted(t, reverse=True)


@cases(([1, 2, 3], 1), ([1, 2, 3], -4), ([], 0), ([5], 0))
def indexed(xs, i):
    t = tuple(xs)
    head, rest = t[:1], t[1:]
    return t[i], t[-1], t[:-1], t[::-1], head, rest, t[i:], bool(t), t[-1] if t else None


@cases(([1, 2, 3], [1, 2, 3]), ([1, 2], [1, 3]), ([], [1]), ([2], [1, 5]))
def compared(xs, ys):
    a, b = tuple(xs), tuple(ys)
    return a == b, a != b, a < b, a <= b, a > b, a >= b, a == (1, 2, 3), (1, 2) == a, a == xs, a < (1, 9), a == (1, "x", 3)


@cases(([3, 1, 3], 3), ([], 1), ([2], 1))
def searched(xs, x):
    t = tuple(xs)
    return x in t, t.count(x), t.index(x)


@cases(([1.5, 2.5],), ([],))
def walked(xs):
    total = 0.0
    places = []
    for i, x in enumerate(tuple(xs)):
        total += x * i
        places.append((i, x))
    a = [x + y for x, y in zip(tuple(xs), reversed(tuple(xs)), strict=True)]
    return total, places, a, str(tuple(xs)), f"{tuple(xs)}"


@cases([1, 2], [1], [1, 2, 3])
def unpacked(xs):
    a, b = tuple(xs)
    return a, b


@cases(0, 1, 3)
def repeated(n):
    zeros = (0,) * n
    return zeros, zeros * 2, 2 * ((1,) + zeros), ("a", "b") * n


@cases(0, 1, 4)
def of_tensors(n):
    states = ()
    h = X
    for i in range(n):
        h = torch.tanh(h + i)
        states = states + (h,)
    return states, len(states), torch.stack(states) if states else X


@cases(0, 1, 3)
def of_texts(n):
    words = ()
    for i in range(n):
        words = (*words[:1], str(i)) if i > 5 else (*words, str(i), "x")
    return words, "-".join(words), words == ("0", "x")


@cases(0, 1, 3)
def of_pairs(n):
    path = ()
    for i in range(n):
        path = path + ((i, i * 0.5),)
    return path, path[-1] if path else None, [a for a, b in path]


@cases([3, 1, 2], [])
def in_lists(xs):
    prefixes = [()]
    for x in xs:
        prefixes.append(prefixes[-1] + (x,))
    prefixes[0] = (9, 9)
    prefixes.insert(1, (4,))
    prefixes.extend([(8,), (8, 8)])
    return prefixes, sorted(prefixes), max(prefixes, key=lambda p: len(p)), (4,) in prefixes


@cases([3, 1, 3, 1, 2], [], [1])
def keys_of_dicts(xs):
    counts = {}
    prefix = ()
    for x in xs:
        prefix = (prefix + (x,))[-2:]
        counts[prefix] = counts.get(prefix, 0) + 1
    counts[()] = -1
    return counts, (3, 1) in counts, () in counts, (1,) in counts, list(counts), counts.get((1, 3), 0), counts[(7,)]


@cases([1, 2, 1, 2], [])
def members_of_sets(xs):
    seen = {(0, 0)}
    path = ()
    for x in xs:
        path = path + (x,)
        seen.add(path[-2:])
    return len(seen), (1, 2) in seen, (1,) in seen, sorted(seen), path in seen


@cases([1, 2, 1, 2], [])
def keys_with_more(xs):
    table = defaultdict(lambda: (0.0, -1.0))
    path = ()
    for i, x in enumerate(xs):
        path += (x,)
        a, b = table[path[-1:], i % 2 == 0]
        table[path[-1:], i % 2 == 0] = (a + x, b)
    return dict(table), len(table)


@cases((0, False), (3, False), (3, True))
def none_or_tuple(n, none):
    best = None
    path = ()
    for i in range(n):
        path = path + (i,)
        if i % 2 == 0 and not none:
            best = path
    return best, best is None


@cases(0, 2, 5)
def returned_by_recursion(n):
    def digits(k):
        if k == 0:
            return ()
        return digits(k // 2) + (k % 2,)

    return digits(n), digits(n + 8)


@cases(([(1,), (1, 2)], {(1, 2): 0.5, (): 1.0}), ([(3, 4)], {(1,): 0.0}), ([()], {}))
def as_arguments(paths, scores):
    total = 0.0
    for p in paths:
        total += scores.get(p, -1.0)
    longest = max(paths, key=len)
    scores[longest + (0,)] = total
    paths.append(longest + (1,))
    return longest, total, paths, scores


@cases(2, 3)
def does_not_change(n):
    t = tuple([i for i in range(n)])
    t[0] = 1
    return t


@cases(2)
def has_no_append(n):
    t = tuple([i for i in range(n)])
    t.append(1)
    return t


@cases((X, 0), (X, 1), (X, 3))
def fixed_lengths_stay(x, n):
    state = ()
    for _ in range(n):
        h, c = state if state else (x, x)
        state = (torch.tanh(h + c), c + 1)
    return state


@cases([1, 2, 2, 3], [])
def of_bools(xs):
    counts = {(): 0}
    pattern = ()
    for x in xs:
        pattern = (pattern + (x > 1,))[-2:]
        counts[pattern] = counts.get(pattern, 0) + 1
    return counts, (True, True) in counts, (False,) in counts, pattern, pattern == (True, True)


@cases(0, 1, 4, 9)
def put_in_front(n):
    t = ()
    while len(t) < n:
        t = (len(t), *t)
        if len(t) > 5:
            break
    a, *rest = t or (0,)
    return t, a, rest, tuple(x for x in t if x % 2), tuple(sorted(t))


@cases([1, 2, 3], [1, 2], [1], [])
def unpacked_around_a_star(xs):
    ys = [x * 2 for x in xs]
    first, *middle, last = ys
    middle.append(-1)
    *most, end = tuple(ys)
    return first, middle, last, most, end, ys


@cases(list(range(40)), [])
def objects_behind_many_numbers(xs):
    """The text and the list of an item are counted, though 34 numbers precede them."""
    rows = []
    for x in xs:
        rows.append((*(x,) * 34, str(x * 1000003), [x]))
    others = [str(x * 99991) + "y" for x in xs]
    return [row[34] for row in rows], others[:2], [row[35][0] + row[33] for row in rows]
