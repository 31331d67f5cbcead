"""Lists, tuples, dicts, comprehensions, unpacking."""

from __future__ import annotations

from typing import NamedTuple

import torch

from programs.cases import cases, tensor

X = tensor(4, 6)
XS = [tensor(3, seed=i) for i in range(4)]


class Pair(NamedTuple):
    left: torch.Tensor
    right: int = 7


@cases((X, 3), (X, 1))
def append_and_stack(x, n):
    out = []
    for i in range(n):
        out.append(x * i)
    return torch.stack(out)


@cases((X, 0), (X, 2))
def append_and_cat(x, n):
    out = [x]
    for _ in range(n):
        out.append(out[-1] + 1)
    return torch.cat(out, dim=1), len(out)


@cases(X)
def stack_of_nothing(x):
    out = [x][1:]
    return torch.stack(out)


@cases(X, tensor(0, 6), tensor(1, 6))
def stack_rows(x):
    return torch.stack([row * 2 for row in x])


@cases(([1, 2, 3], 1), ([1, 2, 3], -1), ([1, 2, 3], 3), ([1, 2, 3], -4), ([], 0))
def list_index(xs, i):
    return xs[i]


@cases((XS, 0), (XS, -4), (XS, 4), ([], -1))
def tensor_list_index(xs, i):
    return xs[i] + 1


@cases(([1, 2], 5), ([0], 0))
def list_append_arg(xs, n):
    xs.append(n)
    return len(xs)


@cases(
    ([1, 2], 5),
)
def list_of_arg_returned(xs, n):
    xs.append(n)
    ys = xs
    ys[0] = 100
    return ys, xs[0]


@cases(([1.5, 2.5], 1), ([1.5], 1), ([0.5, 1.0, 2.0], -1))
def list_store(xs, i):
    xs[i] = 9.0
    return xs[i] * 2


@cases(4, 0)
def list_of_numbers(n):
    out = []
    for i in range(n):
        out.append(i * i)
    total = 0
    for v in out:
        total += v
    return out, total


@cases(4, 0)
def comprehension(n):
    squares = [i * i for i in range(n)]
    odd = [i for i in range(n) if i % 2 == 1]
    return squares, odd


@cases(3, 0)
def nested_comprehension(n):
    return [i * 10 + j for i in range(n) for j in range(i)]


@cases(2)
def comprehension_scope(n):
    i = 50
    ys = [i + 1 for i in range(n)]
    return i, ys


@cases(tensor(2, 8), tensor(5, 8), tensor(0, 8), tensor(3, 6))
def chunk_unpack(x):
    a, b, c, d = x.chunk(4, dim=1)
    return torch.sigmoid(a) * torch.tanh(b) + c * d


@cases(tensor(4, 2), tensor(7, 2), tensor(3, 2))
def split_and_cat(x):
    parts = torch.split(x, 2)
    return torch.cat([p * 2 for p in parts])


@cases(tensor(3, 2), tensor(2, 2), tensor(4, 2))
def tensor_unpack(x):
    a, b, c = x
    return a + b * c


@cases(([1, 2, 3],), ([1, 2],), ([1, 2, 3, 4],))
def list_unpack(xs):
    a, b, c = xs
    return a + b * c


@cases(((1, 2.5), (X, (3, True))))
def tuple_args(p, q):
    a, b = p
    x, (n, flag) = q
    return x * a + b, n, flag, q[1][0], len(p)


@cases((X, 2), (X, -1))
def tuple_index(x, n):
    pair = (x + 1, x - 1, n)
    return pair[0], pair[-1], pair[1:]


@cases((1, 2, 3, 4))
def starred(a, b, c, d):
    first, *rest = (a, b, c, d)
    *init, last = (a, b, c)
    return first, rest, init, last


@cases({"a": X, "b": 2}, {"b": 3, "a": X, "c": 1.0})
def dict_arg(d):
    return d["a"] * d["b"], len(d)


@cases(X)
def dict_result(x):
    return {"sum": x.sum(), "n": x.size(0), "nested": {"x": x}}


@cases(X)
def dict_of_locals(x):
    d = {"w": x + 1, "b": 2}
    total = torch.zeros(4, 6)
    for key in d:
        total = total + d[key]
    for _, v in d.items():
        total = total + v
    return total


@cases((Pair(X, 3),), (Pair(X),))
def named_tuple_arg(p):
    return p.left * p.right, p[0], Pair(p.left + 1), p


@cases((X, 3))
def named_tuple_result(x, n):
    p = Pair(x * 2, n)
    a, b = p
    return p, a, b, p.right


@cases((XS,), (XS[:1],), ([],))
def len_of_list(xs):
    n = len(xs)
    return n if n else -1


@cases(([[1, 2], [3]],), ([[]],), ([[4], [], [5, 6]],))
def list_of_lists(xss):
    total = 0
    for xs in xss:
        for x in xs:
            total += x
    return total, len(xss)


@cases(3, 0)
def build_nested(n):
    out = []
    for i in range(n):
        inner = []
        for j in range(i):
            inner.append(j)
        out.append(inner)
    return out


@cases((X, 3))
def returned_twice(x, n):
    y = x + n
    return y, y, [y]


@cases(XS)
def varargs_of_tensors(a, b, c, d):
    items = [a, b, c, d]
    items.append(a + b)
    return torch.stack(items).sum(0)


@cases(([1, 2, 3],), ([],))
def list_truth(xs):
    if xs:
        return 1
    return 0


@cases(([1, 2, 3], 2))
def aliased_lists(xs, n):
    a = [1]
    b = a
    b.append(n)
    return a, a is b, len(a)


@cases((XS, 2), (XS, 0))
def history(xs, n):
    h = [torch.zeros(3)]
    for x in xs:
        h.append(torch.tanh(h[-1] + x))
    return h[-1], h[n], len(h)


@cases((X,))
def shape_unpack(x):
    a, b = x.shape
    c, d = x.size()
    return a + b, c * d, x.shape[-1], x.size(-2), x.shape, x.numel(), x.dim(), len(x)


@cases([True, False, True], [])
def bool_list(xs):
    n = 0
    for x in xs:
        if x:
            n += 1
    return n, xs


@cases((3, 5), (5, 3))
def sums(a, b):
    return sum([a, b, 1]), sum((a, 0.5)), any([a > 3, b > 5]), all((a > 3, b > 3))


@cases((3, X), (0, X))
def tuples_grow(n, x):
    t = ()
    for i in (1, 2, 3):
        t = t + (i * n,)
    return t, x.max(1).values, x.min(dim=0).indices, x.max(0)


@cases(4)
def in_operator(n):
    return 3 in (1, 2, 3), "a" not in {"a": 1}, None is None
