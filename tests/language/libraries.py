"""Parts of torch and Python that are read from their own sources, and NamedTuples with code of their own."""

from __future__ import annotations

import functools
import struct
from typing import NamedTuple

import torch
from torch import nn
from torch.distributions import Bernoulli, Categorical, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from language.cases import cases

X = torch.linspace(-2, 2, 10).reshape(2, 5)


@cases((X,), (X * float("nan"),))
def categorical(x):
    made = Categorical(logits=x)
    return made.log_prob(x.argmax(-1)), made.entropy(), made.probs, made.sample().shape


@cases((X[0],))
def categorical_of_a_vector(x):
    made = Categorical(logits=x)
    return made.log_prob(x.argmax()), made.entropy(), made.probs, made.sample().shape, torch.Size()


class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        self.prior = Normal(0.0, 1.0)

    def forward(self, x):
        squashed = TransformedDistribution(Normal(x, x.exp()), [TanhTransform(cache_size=1)])
        return self.prior.log_prob(x), squashed.log_prob(x.tanh() / 2)


distributions_kept_and_transformed = cases((X,), (X[0],), (X / 0,))(Prior())


@cases(X)
def trees(x):
    leaves, form = pytree.tree_flatten((x, [x + 1, {"k": x * 2, "n": 3}]))
    doubled = pytree.tree_map(lambda leaf: leaf * 2, {"a": x, "b": [x, (x + 1, 2)]})
    only = pytree.tree_map_only(torch.Tensor, lambda leaf: leaf + 1, (x, 3, "text", None))
    return pytree.tree_unflatten([leaf * 2 for leaf in leaves], form), doubled, only, pytree.tree_leaves([x, (1, 2)])


@cases((0, 3), (0.25, 8.75), (3, -2), (1, 1), (2.0, float("nan")), (float("inf"), 1))
def ranges_with_their_ends(start, end):
    found = []
    for step, dtype in ((1, None), (0.5, torch.float64), (-2, torch.int64), (3, torch.float16), (0, None)):
        try:
            found.append(torch.range(start, end, step, dtype=dtype))
        except RuntimeError as e:
            found.append(str(e))
    return found


@cases((X, X.exp()), (X, X))
def normal(mean, deviation):
    made = Normal(mean, deviation)
    return made.log_prob(mean + 1).sum(), made.mean * 1, made.entropy(), made.rsample().shape


@cases((X.sigmoid(),), (X,))
def bernoulli(p):
    made = Bernoulli(p)
    return made.log_prob((p > 0.5).float()), made.mean * 1, made.sample().dtype


@cases(0, 1, 2, 7, 16, -1)
def windows(n):
    return [
        w
        for periodic in (True, False)
        for w in (
            torch.hann_window(n, periodic),
            torch.hamming_window(n, periodic, 0.5),
            torch.blackman_window(n, periodic=periodic),
            torch.bartlett_window(n, periodic, dtype=torch.float64),
            torch.kaiser_window(n, periodic),
        )
    ]


@cases(
    (torch.tensor([1, 2, 2, 5]),), (torch.tensor([1, 2, 2, 5]), torch.rand(4)), (torch.tensor([1, 2]), torch.arange(2), 9),
    (torch.tensor([], dtype=torch.int64), None, 3), (torch.tensor([-1]),), (torch.rand(3),), (torch.ones(3, 1).long(),),
    (torch.ones(3).long(), torch.ones(2)),
)  # fmt: skip
def bincounts(x, weights=None, least=0):
    return torch.bincount(x, weights, least), x.bincount(minlength=3)


@cases(
    (torch.tensor([0, 0, 2, 3]), 5), (torch.tensor([1, 0, 2, 1]), 5), (torch.tensor([], dtype=torch.int64), 3),
    (torch.tensor([0, 1], dtype=torch.int32), 3), (torch.tensor(1), 3), (torch.tensor([[0, 1]]), 3), (torch.ones(3), 3),
)  # fmt: skip
def rows_of_matrices(x, n):
    return torch._convert_indices_from_coo_to_csr(x, n), torch._convert_indices_from_coo_to_csr(x, n, out_int32=True)


@cases((torch.tensor([[1.0, 2, -torch.inf], [-torch.inf] * 3, [torch.nan, 1, 2]]),))
def softmax_of_empty_rows(x):
    return torch._safe_softmax(x, -1), torch._safe_softmax(x.half(), 0, torch.float32)


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Hardtanh(0, 2, True), nn.ReLU6(True), nn.LeakyReLU(0.1, True), nn.ELU(1.0, True), nn.SELU(True), nn.SiLU(True)]
        )

    def forward(self, x):
        outputs = []
        for layer in self.layers:
            y = x.clone()
            outputs.append((layer(y), y))
        F.leaky_relu_(x, 0.2)
        return outputs, F.hardtanh_(x, -0.5, 0.5)


cases((X.clone(),))(InPlace())


class Span(NamedTuple("Span", [("start", int), ("stop", int)])):
    """Begins at zero where it is made of one number."""

    def __new__(cls, start, stop=None):
        if stop is None:
            start, stop = 0, start
        return super().__new__(cls, min(start, stop), max(start, stop))

    @property
    def length(self):
        return self.stop - self.start


class Point(NamedTuple):
    x: int
    y: int


@cases((3, 5), (5, 3), (-1, 0))
def tuples_with_code(a, b):
    one, two = Span(a), Span(a, b)
    return one, two, two.length, Point._make([a, b]), Point._make(two)._replace(x=0)


class Table:
    def __init__(self, n):
        self.n = n
        self.asked = 0

    @functools.cached_property
    def squares(self):
        self.asked += 1
        return [i * i for i in range(self.n)]


@cases(0, 3)
def cached_properties(n):
    table = Table(n)
    return table.squares, len(table.squares), table.asked


@cases((X, True), (X, False))
def tensors_in_messages(x, sound):
    if not sound:
        raise ValueError(f"not sound: {x} {x.shape}")
    assert sound, f"{x}"
    return x


# ---- functools.lru_cache ----
@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

@functools.cache
def squares(n):
    return tuple(i * i for i in range(n))

@functools.lru_cache
def causal(n):
    return torch.tril(torch.ones(n, n))

class Scaled:
    def __init__(self, k):
        self.k = k

    @functools.lru_cache  # noqa: B019
    def times(self, n):
        return n * self.k

SCALED = Scaled(3)

@cases((torch.ones(2, 2), 3), (torch.ones(3, 3), 4))
def remembered_results(x, n):
    total = x * fibonacci(40) + causal(x.size(0))
    return total, squares(3), squares(n), SCALED.times(2) + SCALED.times(n)


@cases((X,))
def numbers_as_bytes(x):
    """As float32 holds them."""
    return x * struct.unpack("f", struct.pack("f", 0.1))[0], struct.calcsize("2d")


@cases((X,), (X[:0],), (X * 0,))
def asserted_of_tensors(x):
    try:
        torch._assert_async(x.sum().isfinite())
        torch._assert_async((x != 0).any(), "all are zero")
    except RuntimeError as e:
        return str(e)
    return "no zeros alone"


@cases((X, torch.arange(-6, 6).reshape(3, 4)), (X[:1] * float("nan"), torch.tensor([[True], [True], [True]])))
def hashes(x, y):
    whole, rows = torch.hash_tensor(x), torch.hash_tensor(x, 1)
    columns = torch.hash_tensor(y, (0,), keepdim=True)
    same = rows == torch.hash_tensor(x.clone(), dim=1, mode=0)
    picked = columns if y.shape[0] > 5 else columns[0]
    numbers = rows.to(torch.float32), columns.view(torch.int64)
    return whole, same, [rows, columns], [row for row in rows], numbers, picked, rows.dtype


@cases((X, 2), (X, 0), (torch.ones(0, 3), 0), (torch.ones(0, 3), 1), (X, (1, -1)))
def hashes_along(x, dim):
    try:
        return torch.hash_tensor(x, dim), ""
    except (IndexError, RuntimeError) as error:
        return x.sum(), str(error)
