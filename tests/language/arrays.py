"""NumPy arrays and scalars: conversions, items, operators, functions, and arrays outside of the function."""

from __future__ import annotations

import numpy as np
import torch
from three_ways import Program, call

from language.cases import LANGUAGE, cases, construct

X = torch.arange(6.0).reshape(2, 3) - 1
I = torch.tensor([3, -2, 0, 5])  # noqa: E741
SIZES = ((X,), (X[:, :2],))


@cases(*SIZES)
def shared_memory(x):
    a = x.detach().cpu().numpy()
    if a.shape[0]:
        a[0] = 5
        a[1, 1] += 3
    b = np.asarray(x)
    b *= 2
    x[:, 0] = 7
    return a, a.T, torch.from_numpy(b), a.copy(), x, torch.tensor(a), torch.as_tensor(a, dtype=torch.float64)


@cases(X, X.double(), I, I.to(torch.int32), I > 0, X.to(torch.uint8), X.half())
def attributes(x):
    a = x.numpy()
    return (
        a.shape,
        a.ndim,
        a.size,
        a.dtype == np.float32,
        a.itemsize,
        a.nbytes,
        a.T,
        len(a),
        a.astype(np.float64),
        a.tolist(),
    )


@cases(X, X[:, :2])
def items(x):
    a = x.numpy()
    views = a[0], a[:, 1], a[::-1], a[..., None], a[-1, ::-2], a[0:1, np.newaxis], a[...]
    picked = a[a > 1], a[[1, 0]], a[a[:, 1] > 0], a[np.array([0, 1]), np.array([1, 0])], a[0, [0, 1]], a[a[:, 0] < 0]
    return views, picked, a[1, 1], a[-1][0], int(a[0, 1]), float(a[1, 0]), bool(a[0, 0]), a.item(3), 1.0 in a


@cases((X, 1, 2.7), (X, -2, 0.0))
def assigned_items(x, i, v):
    a = np.zeros((2, 4), dtype=np.int64)
    a[i] = v
    a[:, 1:3] = x.numpy()[:, :2]
    a[a > 2] = -1
    a[0, ::-1] = np.arange(4)
    a[[1]] = [[4, 3, 2, 1]]
    a[i, -1] += 2
    return a


@cases((X, 5), (X, -3))
def item_out_of_bounds(x, i):
    return x.numpy()[i]


@cases((X, 2, 0.5), (X.double(), 3, 2.0), (I, 2, 1.5), (I, 0, 0.0), (I > 0, 1, 1.0), (I.to(torch.int16), 3, 2.5))
def promotion(x, n, v):
    a = x.numpy()
    ints, floats = (a + n, a * n, a // n, a % n, a == n, a < n), (a + v, a * v, a / v, v / a, a >= v)
    return ints, floats, a / n, a + a, a * np.float32(2), a + np.int64(n), a + np.ones(1), ~(a > 0), (a > 0) & (a < n)


@cases(X, I)
def refused_by_numpy(x):
    found = []
    for do in (
        lambda a: a + np.ones(5),
        lambda a: a.reshape(4, 2),
        lambda a: np.zeros(0).max(),
        lambda a: a @ np.ones(7),
    ):
        try:
            found.append(do(x.numpy()).shape)
        except ValueError as e:
            found.append(str(e))
    return found


@cases((X, 3), (X, 0))
def scalars(x, n):
    a = x.numpy()
    total, size, mean = a.sum(), np.prod(x.shape), np.mean([n, 2])
    texts = f"{mean} {mean:.2f} {size} {np.float64(n)!r} {size:d} {a.any()}"
    kinds = isinstance(mean, float), isinstance(size, int), isinstance(np.bool_(n), bool), type(total) is np.float32
    sizes = torch.zeros(size).shape, x.reshape(size).shape, list(range(size))[size - 1], x.flatten()[: size // 2]
    return (
        total,
        size,
        mean,
        texts,
        kinds,
        sizes,
        total * x,
        x + mean,
        size / 4,
        mean / n,
        -mean,
        round(mean),
        abs(size - 9),
    )


@cases((X,), (X[:1],))
def decided_by_scalars(x):
    best, total = 0.0, 0
    for row in x.numpy():
        total = total + row.sum()
        if row.max() > best:
            best = row.max()
    return best, total, "many" if np.any(x.numpy() > 3) else "few", max(best, 1.5), best and total, not best


@cases(X, X[:1], X[:0])
def rows_in_lists(x):
    rows = []
    for i in range(x.shape[0]):
        rows.append(x[i].numpy() * i)
    numbers = [row.mean() for row in rows]
    if not rows:
        return rows, numbers
    return rows, numbers, np.stack(rows), np.concatenate(rows), np.array(numbers)


@cases((X, 2), (X, 0))
def kinds_in_lists(x, n):
    found = [x.numpy(), np.zeros((n, 2), int), np.zeros(3, np.int32), x.numpy().max(), np.int64(n)]
    for i in range(n):
        found.append(str(i))
        found.append(np.arange(i))
    return found


@cases(X)
def read_only_arrays(x):
    rows, diagonal = np.broadcast_to(x[0].numpy(), (2, 3)), np.diagonal(x.numpy())
    x[0] = 8
    return rows + 0, rows, rows[1, 2], rows[[0]], diagonal * 1, np.diag(x.numpy()), np.diag([1, 2])


@cases((X, I), (X[:0], I))
def scalars_as_keys(x, i):
    counts, found = {}, {3: "a", 5: "b"}
    for k, c in zip(*np.unique(i.numpy(), return_counts=True), strict=False):
        counts[k] = c
    firsts = {k: j for j, k in enumerate(x[:1, 0].numpy())}
    pairs = {(i.shape[0], 1): 5}
    asked = found[i.numpy()[0]], found.get(np.float64(5.0)), np.int32(3) in found, pairs[np.int64(4), 1]
    hashes = hash(i.numpy()[0]) == hash(3), hash(np.float64(2.5)) == hash(2.5)
    return list(counts), counts[3], 5 in counts, np.int64(7) in counts, asked, list(firsts), hashes


@cases((X, I, 1), (X, I, 6))
def padded(x, i, n):
    of_modes = [np.pad(i.numpy(), (n, 2), mode) for mode in ("edge", "reflect", "symmetric", "wrap")]
    return of_modes, np.pad(x.numpy(), ((0, 1), (n, 0)), "reflect"), np.pad([n], 2, "symmetric"), np.pad(x.numpy(), n)


@cases((X, I, 3), (X, I, 300))
def shifts_splits_and_bounds(x, i, n):
    found = []
    for write in (lambda: np.full(2, n, np.int8), lambda: i.numpy() + 2**63):
        try:
            write()
        except OverflowError as e:
            found.append(str(e))
    contiguous = np.ascontiguousarray(x.numpy()), np.ascontiguousarray(x.numpy().T), np.ascontiguousarray(n)
    contiguous[0][0] = 7
    return found, i.numpy() << 2, i.numpy() >> 70, np.array_split(i.numpy(), 3), contiguous, x, x[:1].numpy().squeeze()


@cases((X, 2), (X, 4))
def made(x, n):
    lists = (
        np.array([1, 2, n]),
        np.array([[1.0, 2], [n, 4]]),
        np.array([True, n > 2]),
        np.array(n),
        np.asarray([x[0].numpy(), [1, 2, 3]]),
    )
    ranges = (
        np.arange(n),
        np.arange(2, 10, n),
        np.arange(0, 1, 0.1),
        np.linspace(0, n, 5),
        np.linspace(1, 5, n, dtype=int),
    )
    filled = (
        np.zeros(n),
        np.ones((n, 2), dtype=bool),
        np.full((2, n), 7),
        np.full(2, 1.5, np.float32),
        np.eye(n),
        np.tri(2, n),
    )
    return lists, ranges, filled, np.zeros_like(x.numpy()), np.meshgrid(np.arange(n), np.arange(2)), np.array(range(n))


@cases(((3, 4),), ((1,),))
def from_lists_of_any_length(xs):
    numbers = [i * 1.5 for i in range(len(xs))]
    return np.array(numbers), np.array([[i, i] for i in range(xs[0])]), np.sum(numbers), np.array([n > 2 for n in xs])


@cases(X, X.double())
def softmax(x):
    p = np.exp(x.numpy() - x.numpy().max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return p, p.argmax(-1), -(p * np.log(p)).sum(), torch.from_numpy(p) @ torch.ones(3, dtype=x.dtype)


@cases(X, X[:, :2])
def indexed_by_arrays(x):
    at = np.where(x.numpy().sum(0) > 0)[0]
    return x[:, at], x[np.array([1, 0])], x[x.numpy() > 0], [x[0, i].item() for i in at], at.tolist()


GRID = np.arange(4.0).reshape(2, 2)


class WithArrays(torch.nn.Module):
    """Arrays outside: attributes, items of lists, globals. Each call reads their present elements."""

    def __init__(self):
        super().__init__()
        self.scale, self.anchors = np.array([1.0, 2.0, 3.0], np.float32), [np.arange(2), np.arange(3)]

    def forward(self, x):
        a = x.numpy() * self.scale
        sizes = [len(anchors) for anchors in self.anchors]
        return (
            a,
            sizes,
            self.anchors[1][1:],
            GRID.sum(),
            GRID @ GRID,
            x * torch.from_numpy(self.scale),
            self.scale.shape,
        )


LANGUAGE.append(Program(WithArrays(), [call(X), call(X * 2)]))

SECTION = "Numbers"
construct(
    SECTION,
    "NumPy arrays",
    "`x.numpy()`, `torch.from_numpy(a)`, `np.asarray(x)` share memory; `np.array`, items, slices, masks, operators with "
    "NumPy's promotion, attributes and methods. Arrays outside are read at each call. Arrays may be results and items of "
    "lists, not arguments",
    shared_memory, attributes, items, assigned_items, item_out_of_bounds, promotion, refused_by_numpy, rows_in_lists,
    kinds_in_lists, read_only_arrays, padded, shifts_splits_and_bounds, made, from_lists_of_any_length, indexed_by_arrays,
    WithArrays,
)  # fmt: skip
construct(
    SECTION,
    "NumPy scalars",
    "results of reductions and items, `np.float32(x)`; they are sizes, indices and numbers of tensors, and keep their class in "
    "results",
    scalars,
    decided_by_scalars,
    scalars_as_keys,
)
