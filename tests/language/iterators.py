"""Iterators: what has been taken from one is gone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from language.cases import cases

_LISTS = ((2, [1, 3, 4]), (0, [1]), (5, [2, 1]), (1, []))


@cases(*_LISTS)
def goes_on_behind_break(n: int, xs: list[int]) -> object:
    numbers = iter(xs)
    for q in numbers:
        if q > n:
            break
    return list(numbers)


@cases(*_LISTS)
def asked_inside_its_loop(n: int, xs: list[int]) -> object:
    numbers = iter(xs)
    pairs = []
    for q in numbers:
        pairs.append((q, next(numbers, n)))
    known = iter((1, n, 5))
    for q in known:
        if q == 5:
            break
        n += q + next(known, 10)
    return pairs, n, list(known)


@cases(*_LISTS)
def walked_with_else(n: int, xs: list[int]) -> object:
    numbers = iter(xs)
    total = next(numbers, 0)
    for q in numbers:
        if q == n:
            break
        total += q
    else:
        total = -total
    return total


@cases((3, [1, 2, 3, 4]), (0, [1]), (2, [5, 6, 7]))
def list_changes_length_meanwhile(n: int, xs: list[int]) -> object:
    seen = []
    it = iter(xs)
    next(it)
    for i, q in enumerate(it):
        seen.append((i, q))
        if len(seen) < n:
            del xs[-1]
    for q in (q + 1 for q in iter(xs)):
        if len(xs) < 2 * n:
            xs.append(q)
    for q in map(abs, iter(xs)):
        seen.append((q, xs.pop()))
    return seen, xs


@cases((torch.ones(3, 2), 1), (torch.ones(0, 2), 4), (torch.ones(2, 2), 4))
def rows(m: Tensor, n: int) -> object:
    it = iter(m)
    total = next(it, None)
    for row in it:
        total = total + row
        if n > 3:
            break
    return total, list(it)


@cases(*_LISTS)
def first_of_others(n: int, xs: list[int]) -> object:
    chained, sizes = next(itertools.chain(xs, [n])), next(map(abs, xs), None)
    return next(zip(xs, xs, strict=False), None), next(reversed(xs), 0), next(enumerate(xs), None), sizes, chained


@cases(*_LISTS)
def some_and_the_rest(n: int, xs: list[int]) -> object:
    numbers = iter(xs)
    return list(itertools.islice(numbers, 1, 2)), list(itertools.islice(numbers, n)), list(numbers)


@cases(*_LISTS)
def one_on_each_path(n: int, xs: list[int]) -> object:
    squares = (q * q for q in xs)
    if n > 1:
        return sum(squares)
    return list(squares)


@cases(*_LISTS)
def mapped(n: int, xs: list[int]) -> object:
    products = list(map(lambda a, b: a * b, xs, range(3)))
    a, b = map(int, (n / 2, 3.7))
    texts = ",".join(map(str, xs)), tuple(map(str, (n, "x")))
    return list(map(lambda q: q + n, xs)), products, a, b, texts, max(map(abs, xs), default=0), set(map(abs, xs))


@cases(*_LISTS)
def filtered(n: int, xs: list[int]) -> object:
    seen = []

    def note(q: int) -> bool:
        seen.append(q)
        return q > n

    first = next(filter(note, xs), None)
    return first, list(filter(None, xs)), [q for q in filter(note, xs) if q], all(map(note, [9, 0, 1])), seen


@cases(*_LISTS)
def bound_by_generators(n: int, xs: list[int]) -> object:
    try:
        if any((w := q) > n for q in xs):
            return w
        return w, sum((w := q) + n for q in xs), w
    except UnboundLocalError:
        return "unbound"


@cases((9, []), (0, []), (9, [4, 5]), (0, [4, 5]))
def unbound_in_generators(n: int, xs: list[int]) -> object:
    if n > 5:
        v = -1
    any((w := q) > v and w > ord(f"{v:#x}"[3]) for q in xs)
    return n


@cases(*_LISTS)
def carried_by_comprehensions(n: int, xs: list[int]) -> object:
    best, total, last = 0, None, n
    running = [best := max(best, q) for q in xs]
    sums = [(total := q if total is None else total + q) for q in xs for _ in range(2)]
    steps = {q: q - last for q in xs if (last := last + q) is not None}
    return running, best, sums, total, steps, last


@cases(*((way, n) for way in range(8) for n in (3, 0)))
def refused_before_they_are_walked(way: int, n: int) -> object:
    """`iter()` of what cannot be walked raises at once: what stands behind it is not computed."""
    xs, noted = [n], []
    try:
        if way == 0:
            return next((q for q in xs[0]), noted.append(0))
        if way == 1:
            return list(zip(xs, n, strict=False)), noted.append(1)
        if way == 2:
            return enumerate(n, noted.append(2) or 0)
        if way == 3:
            return map(abs, n), noted.append(3)
        if way == 4:
            return reversed(n), noted.append(4)
        if way == 5:
            return filter(None, n), noted.append(5)
        if way == 6:
            walked = (q for q in (None if n else xs))
            noted.append(6)
            return list(walked)
        rows = zip(torch.tensor(n), xs, strict=False)
        noted.append(7)
        return list(rows)
    except TypeError:
        return way, noted


X = torch.arange(3.0)


# zip(*rows) of rows whose number is known only at run time
def scored(x, i):
    return x + i, x.sum() * i


@cases((X, 0), (X, 1), (X, 3))
def columns_of_two_ranks(x, n):
    rows = [scored(x, i) for i in range(n)]
    moved, sums = zip(*rows)  # noqa: B905
    return torch.stack(moved), torch.stack(sums), len(sums)


@cases((X, 0), (X, 1), (X, 3))
def columns_as_lists(x, n):
    rows = []
    for i in range(n):
        rows.append(scored(x, i))
    moved, sums = map(list, zip(*rows, strict=False))
    return moved, sums


@cases((X, 1), (X, 3))
def columns_of_places_that_were_filled(x, n):
    rows = [None] * n
    for i in range(n):
        rows[i] = scored(x, i)
    moved, sums = zip(*rows, strict=False)
    return torch.stack(moved), torch.stack(sums)


@cases((X, 0), (X, 1), (X, 3))
def walks_columns(x, n):
    rows = [[x + i, x * i] for i in range(n)]
    return [torch.cat(column) for column in zip(*rows, strict=False)], list(zip(*[(i, i * i) for i in range(n)], strict=False))


@cases(({1: 2, 3: 4},), ({},))
def columns_of_a_dict(d):
    return list(zip(*d.items(), strict=False))


@cases((X, 0), (X, 2))
def rows_that_are_unbound(x, n):
    return [sum(column) for column in zip(*[x + i for i in range(n)], strict=False)]


# An item of a tuple by a number that no reading can know
@cases((0, X, (1, 2)), (2, X, (3, 4)), (3, X, (3, 4)))
def item_of_a_pair_by_a_counter(n, x, pair):
    found, tensors = 0, (x, x * 2, x * 3)
    for i in range(n):
        found += pair[i]
        x = x + tensors[i] + tensors[-1 - i]
    return found, x, [tensors[i:] for i in range(n)]


# ---- generator expressions make their items as they are asked for ----
@cases(([5, -1], 9), ([-1, 3, 5, 6], 9), ([], 9), ([0, 0, 0, 6, 0], 9))
def asked_no_further_than_the_first(xs, default):
    return next((q for q in [0, -1] if q > xs.pop()), default), xs

@cases([2, 0], [0, 2], [3, 2, 0], [])
def what_would_raise_is_not_asked_for(xs):
    return any(6 % x == 0 for x in (xs[0], 0) if 6 // x), any(6 % y == 0 for x in xs for y in [x, 0])

@cases([-3, -2, -1, 5], [-5, -5, -5, -5, -5], [0, 0, 0, 6, 0])
def what_changes_between_items(xs):
    seen = []
    for q in (q for q in [1, 0, 4] if q > xs.pop()):
        seen.append(len(xs))
        if q == 4:
            break
    return seen, any(q > xs.pop() for k in [1, 2] for q in [k] if xs), xs

@cases((0, 0), (3, 4), (5, 2))
def several_fors_with_else(n, m):
    total = 0
    for x in (i * j for i in range(n) for j in range(m) if i != j):
        if x == 4:
            continue
        total += x
    else:
        total += 1000
    return total, next(((i, j) for i in range(n) for j in range(m) if i * j > 2), None)

@cases(([1, 2, 3], 3), ([], 2), ([4], 0))
def generators_in_generators(xs, n):
    a = 5
    for g in ((x + a for x in xs if x > a) for a in range(n)):
        for y in g:
            if y > 3:
                return y, a
    return [list(g) for g in [(x + a for x in xs) for a in [1, 2]]], a

@cases(([1, 2, 3], 7))
def functions_in_comprehensions(xs, a):
    late = [f(3) for f in [lambda x: x + a for a in [1, 2]]]  # noqa: B023
    in_time = sum(f(1) for f in (lambda x: x + a for a in [3, 4]))  # noqa: B023
    return late, in_time, sum(f(x) for x in xs for f in [lambda x: x * a]), a


@cases((["b", "A", "cc"], {"a": 2, "b": 1}, "a"), ([], {"z": 1}, "b"))
def methods_named_through_their_class(xs, d, k):
    xs.sort(key=str.lower)
    list.append(xs, k)
    try:
        found = str.upper(d.get(k))
    except TypeError as e:
        found = str(e)
    longest = max(xs, key=str.__len__), sorted(map(str.title, xs))
    keys = max(d, key=d.__getitem__), dict.get(d, k, 0), [*filter(d.__contains__, xs)], d.__len__()
    return xs, found, longest, keys, str.join("-", xs), sorted(set.union({1}, {len(xs)}))


APPENDED = [3]


@cases(1, 2, 1)
def outside_changed_through_its_class(n):
    list.append(APPENDED, n)
    return len(APPENDED), list.pop(APPENDED)


@cases([1, 2, 3], [3, -1])
def functions_in_comprehensions_of_the_same_variable(xs):
    found = list((q, [(lambda: q)() for q in xs][0], q) for q in xs)
    return found, any(q > [sum(q + i for i in range(2)) for q in xs][0] for q in xs)


@cases([1, 2], [0])
def classes_of_iterators(xs):
    mapped, filtered, paired = map(abs, xs), filter(None, xs), zip(xs, xs, strict=True)
    found = isinstance(mapped, map), isinstance(mapped, list), isinstance(filtered, filter), type(paired) is zip
    return found, type(n for n in xs) is type(mapped), list(mapped), list(filtered)


@cases((0, [1, 2], [5]), (2, [1, 2], [5]), (4, [], [7, 8]))
def variables_read_when_walked(n: int, xs: list[int], ys: list[int]) -> object:
    i, j = 0, n
    sums = (q + i for q in xs)
    pairs = zip((q * j for q in xs), ys, strict=False)
    if n > 1:
        i = 5
    else:
        i = 6
    for j in range(n):  # noqa: B007
        pass
    return list(sums), list(pairs)


def squares(n: int) -> Iterator[int]:
    for k in range(n):
        yield k * k


@cases((0, [1, 2], [5]), (2, [1, 2], [5]), (4, [], [7, 8]))
def made_on_several_paths(n: int, xs: list[int], ys: list[int]) -> object:
    if n > 3:
        found = squares(len(xs))
    elif n > 1:
        found = squares(n + 1)
    else:
        found = squares(len(ys))
    numbered = enumerate(ys)
    for k in range(n):
        sums = (q + k for q in xs)
        numbered = enumerate(xs, k)
    try:
        more = squares(n)
        if n > 3:
            raise ValueError
        pairs = zip(xs, ys, strict=False)
    except ValueError:
        pairs = zip(ys, xs, strict=False)
    return list(found), list(numbered), list(sums) if n > 0 else n, list(more), list(pairs)
