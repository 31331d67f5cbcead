"""itertools, displays with stars and pieces of tensors, where lengths are known only at run time."""

from __future__ import annotations

import bisect
import itertools
from bisect import bisect_right

import numpy as np
import torch
from three_ways import Program, call

from language.cases import LANGUAGE, cases

X = torch.arange(12.0).reshape(4, 3) - 5
LISTS = (([1, 2], 0), ([], 2), ([7, 8, 9], 2))


@cases(*LISTS)
def products(xs, n):
    pairs = [(i, j) for i, j in itertools.product(range(n), xs)]
    return pairs, list(itertools.product(xs, xs, [1, 2])), list(itertools.product(xs, repeat=2))


@cases(*LISTS)
def chains(xs, n):
    return list(itertools.chain(xs, range(n), [9])), list(itertools.chain.from_iterable([xs, xs]))


@cases(*LISTS)
def accumulated(xs, n):
    sums = list(itertools.accumulate(xs))
    return sums, list(itertools.accumulate(range(n), lambda a, b: a * b, initial=3)), list(itertools.accumulate([1, n]))


@cases(*LISTS)
def sliced(xs, n):
    return list(itertools.islice(xs, 1)), list(itertools.islice(range(10), n)), list(itertools.islice(xs, 0, None, 2))


@cases(*LISTS)
def paired(xs, n):
    longest = [(a, b) for a, b in itertools.zip_longest(xs, range(n), fillvalue=-1)]
    return longest, list(itertools.pairwise(xs)), list(itertools.repeat(7, n))


@cases(*LISTS, ([1, 1, 2, 2], 2))
def chosen(xs, n):
    tensors = [X[0] * x for x in xs]
    pairs = [a + b for a, b in itertools.combinations(tensors, 2)]
    triples = list(itertools.combinations(xs, r=3)), list(itertools.combinations_with_replacement(xs, 2))
    return pairs, triples, list(itertools.permutations(xs, n)), [sum(p) for p in itertools.permutations(xs)]


@cases(*LISTS, ([1, 1, 2, 2], 2))
def some_of_the_items(xs, n):
    ends = list(itertools.takewhile(lambda x: x < 8, xs)), list(itertools.dropwhile(lambda x: x < 8, xs))
    odd = list(itertools.filterfalse(lambda x: x % 2, xs)), list(itertools.compress(xs, [True, False, n]))
    rows = list(itertools.starmap(divmod, zip(xs, xs, strict=True))), list(itertools.zip_longest(xs, range(n), "ab"))
    return ends, odd, rows


@cases(*LISTS, ([1, 1, 2, 2, 1], 2))
def grouped(xs, n):
    letters = [(k, "".join(g)) for k, g in itertools.groupby("aabbca")]
    runs = [(k, len(list(g))) for k, g in itertools.groupby(xs)]
    for key, group in itertools.groupby(xs, lambda x: x > n):
        runs += [(x, int(key)) for x in group]
    return letters, runs, {k: sum(g) for k, g in itertools.groupby(sorted(xs), key=lambda x: x % 2)}


@cases(*LISTS, ([1, 1, 2, 2], 2))
def without_an_end(xs, n):
    found = []
    for i in itertools.count(n, 3):
        if i > 10:
            break
        found.append(i)
    names, rounds = itertools.count(), itertools.cycle(xs)
    first = next(names), list(itertools.islice(names, n)), next(names), [next(rounds, 0) for _ in range(5)]
    numbered = {x: i for i, x in zip(itertools.count(1), xs)}  # noqa: B905
    powers = list(map(pow, xs, itertools.repeat(2))), list(zip(xs, itertools.repeat(n)))  # noqa: B905
    squares = list(itertools.islice((i * i for i in itertools.count()), 2, 9, 3))
    return found, first, numbered, powers, squares, list(itertools.takewhile(lambda i: i < n * 3, itertools.count(1)))


@cases(([1, 2, 3], 2), ([], -1), ([1, 2, 3], -2), ([5, 6], 0))
def sliced_iterators(xs, n):
    rest = iter(xs)
    found = list(itertools.islice(rest, 0, 2, 2)), list(rest)
    try:
        return found, list(itertools.islice(xs, n))
    except ValueError as e:
        return found, str(e)


@cases((2,), (0,))
def of_known(n):
    pairs = [a * b + n for a, b in itertools.combinations([1, 2, 3], 2)]
    powers = list(itertools.starmap(pow, [(2, 3), (3, 2)]))
    return pairs, list(itertools.permutations([1, 2])), powers, list(itertools.combinations_with_replacement("ab", 2))


@cases((X, [1, 2], 2), (X[:0], [], 0))
def stars(x, xs, n):
    return [*x], [1, *xs, n, *range(n)], torch.cat([*x, torch.zeros(1)])


@cases((X, [1, 3]), (X, [0, 4]), (X, [4, 1]), (X, []), (X[:0], []))
def split_by_list(x, sizes):
    total = torch.zeros(3)
    for piece in torch.split(x, sizes):
        total += piece.sum(0)
    return total, [p.shape[0] for p in x.split(sizes)]


@cases((X,), (X[:0],), (torch.tensor(1),))
def places(x):
    found = torch.where(x > 0)
    return found, x.element_size(), x.itemsize, x.nbytes


@cases((X, 2.5), (X, 0.0), (X, -1.0), (X, 1e4), (X, float("inf")))
def numpy_scalars(x, v):
    y = x / np.sqrt(x.size(-1)) + np.pi * np.log(x.size(0)) + np.exp(v)
    z = y.reshape(int(np.prod(x.shape))) * np.sqrt(2.0)
    rest = float(np.log(v)), float(np.sqrt(v)), float(np.cos(v)), float(np.tanh(v)), float(np.ceil(v))
    return y, z, rest, int(np.int64(3.7)), x * np.abs(v)


@cases(X, X[:2])
def converted_numpy_scalars(x):
    n = np.ceil(np.log(x.size(0))).astype("int").item()
    half, four = np.floor(x.size(0) / 2).astype(int), np.sqrt(16.0).astype(np.int64)
    return n, np.prod(x.shape).item(), int(half * 2), int(four), n + np.float64(2).item()


@cases((X, [1, 3]), (X[:3], [3]))
def pieces(x, sizes):
    return x.split(2), x.split(sizes), x.chunk(3), x.unbind(), x.unbind()[0], x.chunk(2) + (x,), [*x.split(2)], list(x.unbind())


@cases(*((torch.zeros(n, m), wrap) for n, m in ((3, 3), (7, 3), (3, 5), (4, 3), (0, 2)) for wrap in (True, False)))
def diagonals(x, wrap):
    return x.fill_diagonal_(2.5, wrap), x


class WithNumpy(torch.nn.Module):
    """Constants as NumPy gives them: attributes, items of lists, limits of dtypes."""

    def __init__(self):
        super().__init__()
        self.decay, self.count, self.small = np.exp(-0.5), np.int64(3), np.float32(0.1)
        self.scales = list(np.linspace(0, 1, 3))

    def forward(self, x, n):
        for _ in range(self.count):
            x = x * self.decay + n / np.finfo(np.float64).max
        for scale in self.scales:
            x = x + scale
        return x / self.small, x + self.scales[-1], np.iinfo(np.int32).max + n, np.finfo(float).eps * x


LANGUAGE.append(Program(WithNumpy(), [call(torch.ones(2), 1), call(torch.ones(2, dtype=torch.float64), 2)]))


@cases(([5.0, 1.0, 3.0, 3.0],), ([],), ([2.0],))
def bisected(xs):
    kept, names = [], [3, 1, 2]
    for x in xs:
        bisect.insort(kept, x)
    names.sort(reverse=True)
    bisect.insort_left(names, 2, key=lambda v: -v)
    found = [bisect.bisect(kept, 3.0), bisect.bisect_left(kept, 3.0), bisect_right(kept, 3.0, 1), bisect.bisect(kept, 0, hi=1)]
    return kept, names, found if len(xs) > 1 else bisect.bisect_left(kept, 1.0, -1)


@cases((7, 0, 1), (7, 1, 2), (0, 0, 1), (3, 5, -1), (10, 2, 3), (9, 20, -4), (5, 1, 0))
def slices_of_ranges(n, a, b):
    r = range(a, n, b)
    walked = [i for i in r[1:]] + list(r[::-1]) + list(r[-2:]) + list(range(10)[7:2:-2])
    try:
        return walked, len(range(n)[::2]), list(r[a:b:-1]), range(n)[2:][0], list(r[::n])
    except (IndexError, ValueError) as e:
        return walked, str(e)


_LEAST, _LARGEST = -(2**63), 2**63 - 1


@cases(
    *((start, stop, step) for start, stop in [(_LARGEST, -7), (_LEAST, _LARGEST), (-7, _LARGEST), (5, _LEAST), (3, 9)]
      for step in (1, -1, 2, -2, 3, -3, 2**62, _LEAST, _LARGEST) if (stop - start) // step < _LARGEST),
)  # fmt: skip
def lengths_of_long_ranges(start: int, stop: int, step: int) -> object:
    return bool(range(start, stop, step)), len(range(start, stop, step))


@cases((2,), (0,))
def lengths_of_known_long_ranges(n: int) -> object:
    try:
        return len(range((7, 8, 9)[n % 3], _LEAST, -1))
    except OverflowError:
        return len(range((7, 8, 9)[n % 3], _LEAST, -2)), bool(range(_LEAST, _LARGEST))
