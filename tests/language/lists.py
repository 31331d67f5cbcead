"""Lists whose length is known only at run time."""

from __future__ import annotations

import heapq
import itertools

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)
XS = [3, 1, 2, 3]


def grown(n):
    return [i * 2 for i in range(n)]


@cases(0, 1, 7, -5)
def ranges_backwards_and_by_index(n):
    found = list(reversed(range(n, -4, -3))), [i * 2 for i in reversed(range(0, n, 4))], range(2, 20, 3)[-1]
    total = 0
    for i, j in zip(reversed(range(1, n + 1)), range(n), strict=True):
        total += i * j
    try:
        return found, total, [range(n)[i] for i in range(n)], range(n)[5]
    except IndexError as e:
        return found, total, str(e)


SIZES = [4, 5, 6]
ROWS = [torch.ones(2), torch.zeros(2)]


@cases(0, 7)
def slices_of_globals(n):
    sizes, rest, rows = SIZES[:], SIZES[1:], ROWS[::-1]
    sizes.append(n)
    rest[0] = n
    rows.append(rows[0] + n)
    total = sum(size for size in SIZES[-2:])
    return sizes, rest, rows, total, [a * b for a, b in zip(SIZES[:-1], SIZES[1:], strict=True)], SIZES[n:]


@cases((0, 0.5), (7, -3.0), (-5, 1e300), (2**40, float("inf")), (-(2**62), float("nan")))
def methods_of_numbers(n, f):
    return n.bit_length(), n.bit_count(), f.is_integer(), (n % 1000 * 2 + 1).bit_length()


@cases(0, 1, 4)
def methods(n):
    xs = grown(n)
    xs.extend(range(n))
    xs.extend([7, 8])
    xs.insert(1, 100)
    xs.insert(-1, 200)
    xs.insert(99, 300)
    ys = xs.copy()
    ys.reverse()
    zs = xs[:]
    zs.clear()
    return xs, ys, zs, len(xs), xs.count(2)


@cases((XS, 3), (XS, 9), ([], 1))
def index_and_remove(xs, v):
    xs.remove(v)
    return xs, xs.index(3), 3 in xs, v not in xs


@cases((XS, 0), (XS, -1), (XS, 3), (XS, 4), ([], 0))
def pop(xs, i):
    a = xs.pop(i)
    b = xs.pop()
    return a, b, xs


@cases(XS, [], [2.5, -1.0, 2.5], [True, False, True])
def sorting(xs):
    ys = sorted(xs)
    zs = sorted(xs, reverse=True)
    ws = sorted(xs, key=lambda x: -x)
    xs.sort()
    return ys, zs, ws, xs


@cases(([3, 1, 2],), ([],))
def sort_by_other(xs):
    order = sorted(range(len(xs)), key=lambda i: xs[i])
    xs.sort(key=lambda x: x % 3, reverse=True)
    return order, xs


@cases((XS, 1, 3, 1), (XS, -2, 9, 1), (XS, 3, 0, -1), (XS, 0, 4, 2), (XS, 0, 4, 0))
def slices(xs, a, b, c):
    return xs[a:b], xs[:b], xs[a:], xs[::c], xs[::-1], xs[a:b:c]


@cases((XS, 1, 3), ([1], 0, 0))
def slice_changes(xs, a, b):
    xs[a:b] = [50, 51, 52]
    ys = xs[:]
    del xs[0]
    del ys[a:b]
    return xs, ys


@cases((XS, [1]), ([], []), (XS, XS))
def operators(xs, ys):
    zs = xs + ys
    ws = ys * 2
    xs += ys
    vs = 2 * xs
    return zs, ws, xs, vs, xs == ys, xs != zs, ys < xs, xs <= ys, xs > ys, ys >= ys


@cases(XS, [], [1.5, 2.0])
def repeated_in_place(xs):
    ys = xs
    xs *= 2
    n = len(ys)
    ys *= n - n
    zs = [1, None]
    ws = zs
    zs *= 2
    return ys, n, ws


@cases(XS, [], [1.5, 2.0])
def reductions(xs):
    total = sum(xs)
    biggest = max(xs) if xs else -1
    return total, biggest, any(x > 2 for x in xs), all(x > 1 for x in xs), sum(x * x for x in xs), min(xs, default=0)


@cases(XS, [])
def extremes(xs):
    return max(xs), min(xs), max(xs, key=lambda x: -x)


@cases([1, 2, 3], [5])
def appended_while_walked(xs):
    for x in xs:
        if x < 4:
            xs.append(x + 2)
    return xs


@cases(0, 1, 4)
def nested(n):
    rows = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(i * j)
        rows.append(row)
    flat = [x for row in rows for x in row if x % 2 == 0]
    if n > 2:
        rows[1].append(99)
    return rows, flat


@cases((X, 0), (X, 2))
def lists_of_tensors(x, n):
    out = []
    for i in range(n):
        out.append(x[i])
    out.insert(0, x.sum(0))
    out.reverse()
    last = out.pop()
    return out, last, sum(out)


@cases((X, XS), (X, []))
def zips(x, xs):
    total = 0
    for i, v in enumerate(xs, 5):
        total += i * v
    for a, b in zip(xs, (1, 2, 3), strict=False):
        total += a * b
    for r, v in zip(x, xs, strict=False):
        total = total + r.sum() * v
    for k, v in zip(range(3, 100, 2), xs, strict=False):
        total = total + k * v
    for v in reversed(xs):
        total = total * 2 + v
    return total


@cases((5, 0), (5, 5), (4, 7))
def ranges(n, k):
    r = range(2, n, 2)
    return k in r, len(r), list(r), sum(r), [x for x in reversed(range(n))]


@cases([1, 2, 3], [])
def aliases(xs):
    ys = xs
    ys.append(4)
    zs = xs + []
    zs.append(5)
    return xs, ys, zs, len(xs)


@cases(3, 20)
def sieve(n):
    is_prime = [True] * n
    for i in range(2, n):
        if is_prime[i]:
            for j in range(i * i, n, i):
                is_prime[j] = False
    return [i for i in range(2, n) if is_prime[i]]


@cases(([1, 2, 3], [0.5, 1.5], True), ([], [2.0], False), ([7], [], True))
def tensors_of_lists(xs, ys, flag):
    counts = [x * 2 for x in xs] + [len(ys)]
    flags = [y > 1 for y in ys] + [flag]
    rows = [[x, x + 1] for x in counts]
    found = torch.tensor(counts), torch.tensor(ys, dtype=torch.float64), torch.tensor(flags), torch.tensor(rows)
    return (*found, torch.tensor(counts, dtype=torch.float32), torch.tensor([torch.tensor(x) for x in counts]))


@cases(([1, 2],), ([],), ([300],))
def tensors_of_lists_that_may_be_empty(xs):
    return torch.tensor([x for x in xs]), torch.tensor([x for x in xs], dtype=torch.uint8)


@cases((torch.arange(4.0), 2), (torch.arange(1.0), 2), (torch.arange(9.0).reshape(3, 3), 1), (torch.arange(0.0), 3))
def written_and_read_in_other_places(x, step):
    kept = x.clone()
    kept += x[::2] if x.numel() < 4 else x * step
    if x.dim() == 2:
        x.add_(x.t())
    x -= x[:1]
    return x, kept


@cases((torch.arange(4.0), 4), (torch.arange(3.0), 2), (torch.arange(2.0), 0))
def masks_of_another_size(x, n):
    return x[torch.arange(n) != 1]


@cases(([1, 2], [3.0, 4.0]), ([1], [1.0, 2.0]), ([], []), ([], [1.0]))
def strict_zips(xs, ys):
    seen = []
    for x, y in zip(xs, ys, strict=True):
        seen.append(x + y)
        if y > 3.5:
            break
    else:
        seen.append(0.0)
    return seen, [x for x, _ in zip(xs, seen, strict=False)]


@cases(([1, 2],), ([1, 2, 3],))
def strict_zip_of_known(xs):
    for x, y in zip(xs, (1, 2), strict=True):
        xs[y - 1] = x + 1
    return xs, list(zip((1, 2), (3, 4), strict=True))


NAN = float("nan")


@cases(([1.0, NAN, 2.0], NAN), ([1.0], 1.0), ([], NAN))
def found_by_identity(xs, v):
    ys = xs.copy()
    return v in xs, xs.count(v), xs == ys, (v, 1) == (v, 1), [xs.index(x) for x in xs]


@cases((X, 1), (X, 0))
def tensors_found_by_identity(x, i):
    ts = [x, x + 1]
    return ts[i] in ts, ts.index(ts[0]), ts.count(x[0, 0])


@cases(([3, 1, 2, 3, 0, 1],), ([],), (list(range(50)),))
def sorted_by_pairs(xs):
    pairs = [(x % 3, -i) for i, x in enumerate(xs)]
    stable = sorted(pairs, key=lambda p: (p[0], 0))
    return sorted(pairs), sorted(pairs, reverse=True), stable, sorted(pairs, key=lambda p: (p[0],), reverse=True)


@cases((X, 3), (X, 0))
def optional_items(x, n):
    ts = [None, x]
    for i in range(n):
        ts.append(None if i % 2 else x * i)
    ts.insert(0, None)
    ns = [1, None]
    ns.append(n)
    ns[0] = None
    return ts, [t is None for t in ts], ns, ts[-1], [n or 7 for n in ns]


@cases((X, 3), (X, 1))
def grid_of_lists(x, n):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            grid[i][j] += i * j
        grid[i].append(i)
    rows = [[] for _ in range(n)]
    for i in range(n):
        rows[i].append(x * i)
        rows[0].append(x)
    empty = [[], []]
    empty[1].append(x)
    return grid, rows, empty


@cases(([1, 2, 3],), ([7],))
def lists_of_lists_that_begin_empty(xs):
    beams = [[]]
    for x in xs:
        grown = []
        for i in range(len(beams)):
            beam = beams[i]
            known = False
            for j in range(len(grown)):
                if grown[j] == beam:
                    known = True
                    break
            if not known:
                grown.append(beam)
            grown.append(beam + [x])
        beams = []
        for g in grown:
            beams.append(g)
    return beams


@cases(([1, 2], 3), ([], 0), ([5], 1))
def starred_displays(xs, n):
    more = [x * n for x in xs]
    joined = [*xs, n, *more]
    pair = (0, *more)
    joined.append(-1)
    return joined, pair, [*range(n)], [*joined[:1], *"ab"[:0]], len((*xs, *xs))


@cases(([1], 2), ([], 0))
def loop_over_a_number(xs, n):
    for x in n:
        xs.append(x)
    return xs
FLAGS = [True, False, False, True, True]


@cases((FLAGS, 3), (FLAGS, 40), ([], 1), ([False], 0), (FLAGS, -2))
def flags(xs, n):
    """Lists of bools, which stand in a byte each."""
    many = [True] * n + xs * 2
    for i in range(0, len(many), 3):
        many[i] = not many[i]
    xs.append(n > 2)
    xs.insert(1, False)
    part = many[1:7:2]
    many[2:4] = xs[::-1] + part
    many.extend(xs)
    del many[0]
    ends = many[-1], many.pop(), many.count(True)
    chosen = [i for i in range(len(many)) if many[i]]
    return many, part, ends, chosen, sorted(many), [not b for b in xs], xs == part, torch.tensor(xs)


@cases((FLAGS, 1), ([], 0), (FLAGS, 9))
def flags_in_lists(xs, i):
    grid = [[False] * len(xs) for _ in range(3)]
    grid[1].append(True)
    grid.append(xs)
    grid[2][i] = True
    seen = {"a": xs, "b": grid[1]}
    return grid, seen["b"], seen["a"]


@cases(([1, 2, 3], 2, "ab"), ([], 3, ""), ([4], -1, "x"), ([5, 6], 0, "c"))
def repeated(xs, n, s):
    words = [s, s + "!"] * n
    tensors = [X + i for i in xs] * n
    rows = [xs] * n
    if n > 0:
        rows[0].append(9)
        tensors.append(X)
    return xs * n, words, tensors, rows, [2.5] * len(xs) * n, [] * n


@cases(([1, 2, 3, 4], 1, 3, [7, 8, 9]), ([1], 0, 1, []), ([], 0, 0, [1]), ([1, 2], 2, 1, [5]), ([1, 2, 3], -2, 9, [4] * 9))
def spliced(xs, a, b, ys):
    words = [str(x) for x in xs]
    words[a:b] = [str(y) for y in ys]
    xs[a:b] = ys
    xs[1:1] = xs
    xs[len(xs) :] = ys
    words[:] = words + words[1:]
    return xs, words


@cases(*(([0.1] * n, m) for n in (0, 1, 3, 10) for m in (0, 2)), ([1e100, 1.0, -1e100], 1), ([1e308, 1e308, -1e308], 0))
def sums_of_floats(xs: list[float], n: int) -> object:
    """What is lost in adding, the running Python's sum() may give back."""
    mixed = [0.1, n, 0.2, True, 0.3]
    a, b, c = 0.1, 0.2 * n, 0.3
    return sum(xs), sum(xs, 0.0), sum(xs, n), sum(mixed), sum([n, 2]), sum((a, b, c)), sum(q * 0.1 for q in xs), sum([-0.0])


_SLICES = tuple(itertools.product((None, 0, 1, -2, 9), (None, 3, -1), (None, 1, 2, -1, -2, 0)))


@cases(*(([1, 2, 3, 4, 5][:n], n, *part) for n in (0, 1, 4, 5) for part in _SLICES[n::4]))
def slices_with_steps(xs: list[int], n: int, start: int | None, stop: int | None, step: int | None) -> object:
    """Written and deleted; ValueError where as many items do not stand there."""
    ys, taken = [q * 10 for q in xs], xs[:]
    ys[::2] = xs[::2]
    del taken[::-3]
    try:
        ys[start:stop:step] = [n] * len(xs[start:stop:step])
        ys[1::2] = range(2)
        del ys[start:stop:step]
    except ValueError as e:
        return ys, taken, str(e)
    ys[::-1] = ys
    return ys, taken


@cases(([3, 1, 2, 1], 5), ([], 1), ([7], 0))
def heaps(xs, n):
    heapq.heapify(xs)
    out = [heapq.heappushpop(xs, n)]
    for i in range(n):
        heapq.heappush(xs, (i * 7) % 5)
    if len(xs) > 0:
        out.append(heapq.heapreplace(xs, 2))
    while len(xs) > 1:
        out.append(heapq.heappop(xs))
    return out, xs, heapq.heappop(xs)


@cases(([5, 1, 4, 2], 2), ([], 3), ([3, 3], 0), ([3, 3], -1))
def largest_and_smallest(xs, n):
    pairs = [(x, -i) for i, x in enumerate(xs)]
    best = heapq.nlargest(n, xs), heapq.nsmallest(3, xs), heapq.nlargest(2, pairs), heapq.nlargest(n, (x % 3 for x in xs))
    return best, heapq.nsmallest(n, pairs, key=lambda p: p[0] % 2), heapq.nlargest(1, pairs, key=lambda p: p[0] % 2)


@cases((4, [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 5.0)]), (1, [(0, 0, 1.0)]), (2, [(0, 5, 1.0)]))
def shortest_paths(n, edges):
    graph = {i: [] for i in range(n)}
    for u, v, w in edges:
        graph[u].append((v, w))
        graph[v].append((u, w))
    dist = [float("inf")] * n
    dist[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v, w in graph[u]:
            if d + w < dist[v]:
                dist[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return dist


# What is known of a list ends where it may have changed by another name.
@cases(0, 1)
def changed_as_one_of_two(k):
    xs, ys = [1], [2]
    before = len(xs)
    (xs if k else ys).append(5)
    return before, len(xs), ys[-1], 5 in xs, xs == [1]


@cases(0, 1)
def items_set_as_one_of_two(k):
    xs, ys = [1, 2], [3, 4]
    t = xs if k else ys
    t[0] = 9
    del t[1]
    return xs[0] + ys[0], len(xs), len(ys)


@cases(0, 1)
def changed_through_what_holds_it(k):
    xs = [1]
    rows, named = [xs, [2]], {3: xs, k: [4]}
    rows[k].append(5)
    named[3 if k else 0].append(6)
    return len(xs), xs[-1], bool(named[k])


@cases(0, 1, 3)
def changed_by_the_name_of_a_later_iteration(n):
    xs, rows, seen = [1], [], []
    t = [2]
    for i in range(n):
        if i > 0:
            rows[0].append(3)
        rows.append(xs)
        seen.append(len(xs))
        t.append(i)
        t = xs
    return seen, len(xs), len(t)


@cases((torch.ones(3, 4), [[1, 2], [], [0]]), (torch.ones(1, 4), [[]]), (torch.ones(0, 4), []))
def indexed_by_lists_that_may_be_empty(x, places):
    found = []
    for i, js in enumerate(places):
        chosen = [j for j in js if j > 0]
        x[i, chosen] = 0.0
        x[chosen] += 1 if i == 0 and x.size(0) > 2 else 0
        found.append(x[i, chosen].sum() + x[i][[v > 1 for v in range(4)]].sum())
    return x, found


@cases((X[:, 0], [(None, torch.ones(2, 3)), (None, torch.zeros(2, 3))]), (X[:, 0], []))
def states_that_begin_as_none(x, caches):
    for i in range(len(caches)):
        h, window = caches[i]
        h = x if h is None else h * 0.5 + x
        caches[i] = (h, torch.cat([window[:, 1:], x.unsqueeze(1)], 1))
        x = h + window.sum(1)
    return x, caches


FIRST = [1, 2]


@cases(0, 3)
def added_to_one_from_outside(n):
    return FIRST + [n], [n] + FIRST, FIRST * n, n * FIRST, FIRST


def each_added_to(xs, n):
    for q in xs:
        xs[0] += n
        yield q


@cases((2, [3, 1], {1: 4, 2: 5}), (0, [7], {1: 6}))
def displays_in_order(n, xs, d):
    known = [1, n]
    made = [*xs, xs.pop(), *map(abs, xs)], (*known, known.append(3), *known), {*d, d[1] - 1}
    merged = {0: n, **d, 9: d.pop(1), **d}
    grown = [len(xs), *each_added_to(known, n), known[0], *each_added_to(known, 1)]
    return made, merged, grown, xs, d


@cases((2, [3, 1], [(1, 2)]), (0, [], []))
def extended_beside_none(n, xs, pairs):
    first, last, middle, tuples = [None], [], [None, None, None], []
    first.extend(xs)
    last += xs
    last.append(None)
    middle[1:2] = [q + 1 for q in xs]
    tuples.extend(pairs)
    tuples.append(None)
    starred, parts = (*xs, None, n), [(None, 1)]
    parts.extend(pairs)
    return first, last, middle, tuples, starred, [n if q is None else q for q in last], parts


@cases((2, [3, 1], {1: 4}), (0, [7], {}), (3, [], {2: 6}))
def one_from_outside_or_one_with_none(n, xs, d):
    held, table = [None, 1], {1: None}
    if n > 1:
        held, table = xs, d
    held.append(None)
    table[7] = None
    return [q is None for q in held], [q is None for q in table.values()], xs, d


@cases((2, X), (0, X))
def tensors_and_none_found_by_identity(n, x):
    held = [str(n), None if n > 1 else x]
    pair = (None if n > 1 else x), x
    return held == held[:], pair == (pair[0], x), (x if n else None, 1) == (x, 1), held != held[::1]
