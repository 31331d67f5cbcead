"""Sets that change at run time, whose order is CPython's, and operators of Counters."""

from __future__ import annotations

from collections import Counter

from language.cases import cases

XS = [3, 1, 2, 3, -7, 1, 100, 1025, 9]
YS = [1025, 2, 64, 1, 128]


@cases(XS, [], list(range(0, 4000, 37)), [2**61, -1, 2**62, -(2**61)])
def order(xs):
    s = set()
    for x in xs:
        s.add(x)
    t = {x // 3 for x in xs}
    u = set(xs)
    u.discard(3)
    u.add(-5)
    return list(s), list(t), [x for x in u], len(s), 3 in s, 3.0 in s, 1.5 in s, bool(s), sorted(s)


@cases(([1.5, 0.0, -2.25, 1e300, 7.0, float("inf")],), ([],))
def order_of_floats(xs):
    s = {x for x in xs}
    s.add(0.1)
    return list(s), 7 in s, True in s, max(s)


@cases(XS, [])
def order_of_tuples(xs):
    s = {(x, x + 1) for x in xs}
    t = {((x, 1.5), x > 2) for x in xs}
    return list(s), list(t), (3, 4) in s, (3, 5) in s, ((3, 1.5), 1) in t


@cases((XS, YS), (XS, []), ([], YS), (XS, XS), (list(range(100)), YS), (YS, list(range(100))))
def operators(xs, ys):
    a, b = set(xs), set(ys)
    return (
        list(a | b), list(a & b), list(a - b), list(a ^ b), a <= b, a < b, a >= b, a > b, a == b, a != b, a.isdisjoint(b),
        a.issubset(b), a.issuperset(b),
    )  # fmt: skip


@cases((XS, YS), ([], YS), (list(range(100)), YS), (list(range(100)), list(range(90))))
def changed_in_place(xs, ys):
    b = set(ys)
    c = set(xs)
    c |= b
    d = set(xs)
    d &= b
    e = set(xs)
    e -= b
    f = set(xs)
    f ^= b
    g = f
    g.add(77)
    return list(c), list(d), list(e), list(f), f is g, f == g


@cases((XS, YS), ([], YS))
def methods(xs, ys):
    a = set(xs)
    b = a.copy()
    b.update(ys, [5, 6])
    c = a.union(ys, {1, 2})
    d = a.intersection(ys)
    e = a.difference(ys)
    f = a.symmetric_difference(ys)
    a.difference_update(ys)
    a.intersection_update([1, 2, 3, -7])
    a.symmetric_difference_update({1, 2, 3})
    b.clear()
    return list(a), b, list(c), list(d), list(e), list(f), a.isdisjoint(ys), a.issubset(ys)


@cases((XS, 3), (XS, 4), ([], 4))
def removed(xs, k):
    s = set(xs)
    s.discard(k)
    s.discard(1)
    s.add(k)
    s.remove(k)
    s.remove(-7)
    return s


@cases(XS, [5], [])
def popped(xs):
    s = set(xs)
    found = []
    while len(s) > 1:
        found.append(s.pop())
        s.discard(9)
    return found, s.pop(), s


@cases((XS, 0), (XS, 1), (XS, 2))
def changed_while_walked(xs, how):
    s = set(xs)
    total = 0
    for x in s:
        total += x
        if how == 1:
            s.add(x + 1000)
        elif how == 2:
            s.discard(x)
    return total


@cases(XS, [])
def frozen(xs):
    f = frozenset(xs)
    g = f | {1, 2}
    return f, g, list(f), frozenset(f) is f, f == set(xs), 3 in f


@cases(XS, [])
def reductions(xs):
    s = {x for x in xs if x > 0}
    return sum(s), max(s, default=0), any(x > 50 for x in s), all(s), sorted(s, reverse=True), len(list(enumerate(s)))


@cases((4, 7), (1, 2))
def display_that_changes(a, b):
    s = {1, 2, 3}
    s.add(a)
    t = {a, b, 5}
    t |= s
    u = {1} | {2}
    u.add(b)
    return list(s), list(t), list(u), 2 in s


@cases(([0, 1, 2, 1, 3, 0],), ([],))
def seen_before(xs):
    seen = set()
    repeated = []
    for x in xs:
        if x in seen:
            repeated.append(x)
        seen.add(x)
    return repeated, seen


@cases((5,), (0,))
def reachable(n):
    """A search over a graph that is a dict of sets."""
    edges = {}
    for i in range(n):
        edges[i] = {(i * 2) % n, (i + 1) % n}
    todo, seen = [0], set()
    while todo:
        node = todo.pop()
        if node in seen or node not in edges:
            continue
        seen.add(node)
        todo.extend(sorted(edges[node]))
    return seen, edges


@cases(XS, [])
def set_of_a_dict(xs):
    d = {x * 5: 1 for x in xs}
    s = set(d)
    t = set(d.keys())
    t.update(d)
    return list(s), list(t), s == t


@cases((XS, YS), ([], YS), (list(range(100)), XS))
def displays_of_others(xs, ys):
    s, t = set(xs), set(ys)
    return list({*s, *t}), list({7, *t, *(x * 5 for x in xs)}), list({*xs, *range(3)}), len({*s})


@cases((3,))
def wrong_operands(n):
    s = {n}
    s.add(4)
    return s | [1]


@cases((["b", "a", "b", "c"], "a"), ([], "z"))
def strings(words, w):
    s = set(words)
    s.add(w)
    s.discard("c")
    return s, sorted(s), w in s, "q" in s, len(s), max(s), {len(x) for x in words}


@cases(({"b", "q"}, "b"), ({"b"}, "x"), (set(), "a"), ({"a", "b", "c", "d", "e", "f", "ä", "\U0001f600"}, "ä"))
def strings_from_outside(s, w):
    t = s | {w}
    s.discard("c")
    s.add("new")
    return w in s, "q" in s, {"a", "b"} - s, s - {"b"}, s & {"a", "b"}, s ^ {"b", "z"}, len(t), t >= s, sorted(t)


@cases({("a", 1), ("b", 2)}, set())
def tuples_with_strings_from_outside(s):
    return ("a", 1) in s, ("b", 1) in s, s - {("b", 2)}, len(s | {("a", 1)})


@cases(([1, 1, 2], 3), ([3], 1), ([], 2))
def operators_of_counters(xs, n):
    c, d = Counter(xs), Counter([1, n, n])
    c[n] -= 2
    found = c + d, c - d, c | d, c & d, +c, -c, c == d, c != d, c <= d, c < d, c >= d, c > d, c == Counter(), c + Counter()
    zero = Counter([n])
    zero[n] -= 1
    e, f, g, h = Counter(c), Counter(c), Counter(c), Counter(c)
    same = e
    e += d
    f -= d
    g |= d
    h &= d
    known = Counter(a=n, b=1) - Counter("b"), Counter("ab") | Counter(b=n)
    return found, zero == Counter(), zero == {}, e, f, g, h, same is e, known
