"""Statements."""

from __future__ import annotations

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)
LIMIT = 3


@cases(0, 1, 5, 12)
def walrus(n):
    total = 0
    while (m := n - total) > 3:
        total += 2
    if (k := total * 2) > 4 and (j := k + 1) > 0:
        return m, k, j
    return m, k


@cases(0, 1, 7)
def walrus_in_comprehension(n):
    return [y for x in range(n) if (y := x * 2) % 3]


@cases(0, 1, 2, 3, 9)
def match_literals(n):
    match n:
        case 0:
            return 10
        case 1 | 2:
            r = 20
        case k if k > 5:
            r = k
        case _:
            r = -1
    return r + 1


@cases((1, 2), (0, 5), (7, 0), (0, 0), (-1, -1))
def match_sequences(a, b):
    match (a, b):
        case (0, 0):
            return 0
        case (0, y):
            return y
        case (x, 0):
            return x * 100
        case (x, y) if x == y:
            return -x
        case _:
            return 5


@cases([1], [1, 2], [1, 2, 3, 4], [], [9, 9, 9])
def match_lists(xs):
    match xs:
        case []:
            return 0, 0
        case [x]:
            return x, 1
        case [9, *rest]:
            return len(rest), 2
        case [x, *middle, y]:
            return x + y, len(middle)


@cases("a", "b", "c")
def match_strings(mode):
    match mode:
        case "a":
            return 1
        case "b" | "bb":
            return 2
    return 3


@cases(1, 2.5, True, (X,), None)
def match_classes(v):
    match v:
        case bool():
            return "bool"
        case int(n):
            return n + 1
        case float():
            return "float"
        case torch.Tensor():
            return v.sum()
        case None:
            return None


@cases(3, -3, 0)
def annotations(n):
    x: int
    y: float = 2.0
    if n > 0:
        x = n
    else:
        x = -n
    return x * y


@cases((7, 2), (-7, 2), (7, 0))
def augmented(a, b):
    a //= b
    a %= 5
    a **= 2
    a <<= 1
    a |= 1
    return a


@cases((X, X.T), (X, X))
def augmented_matmul(a, b):
    a = a.clone()
    a = a @ b
    a @= b
    return a


@cases(0, 2, 5)
def global_read(n):
    global LIMIT
    return n + LIMIT


@cases(0, 1, 4)
def nonlocal_counter(n):
    count = 0
    last = None

    def bump(k):
        nonlocal count, last
        count += k
        last = k
        return count

    for i in range(n):
        if i % 2:
            bump(i)
        else:
            bump(10)
    return count, last


@cases((X, 0), (X, 3))
def nonlocal_tensor(x, n):
    h = torch.zeros(3)

    def step(row):
        nonlocal h
        h = torch.tanh(h + row)

    for _ in range(n):
        for i in range(x.shape[0]):
            step(x[i])
    return h


@cases(1, 5)
def closures_see_later_values(n):
    k = 1
    f = lambda x: x + k  # noqa: E731
    k = n
    return f(10)


@cases(0, 3)
def deletions(n):
    x = n
    d = {"a": 1, "b": n}
    del d["a"]
    if n > 1:
        del x
    return x, d


@cases(0, 3, 8)
def for_else(n):
    for i in range(n):
        if i * i > 20:
            r = i
            break
    else:
        r = -1
    return r


@cases(0, 3, 8)
def while_else(n):
    i = 0
    while i < n:
        if i == 5:
            break
        i += 1
    else:
        i = 100
    return i


@cases((0, 5, 9), (3, 5, 9), (6, 5, 9), (6, 50, 9))
def chained_comparison(a, b, c):
    return a < b < c, 0 <= a < 5 > b, a == a == b


@cases((2, X), (0, X))
def conditional_types(n, x):
    y = x if n else n
    return y + 1


@cases([1, 2, 3], [4, 5])
def starred_targets(xs):
    a, *b = (xs[0], xs[1], 7)
    *c, d = [a, 1, 2]
    (e, (f, *g)) = (1, (2, 3, 4))
    return a, b, c, d, e, f, g


@cases(1, 2)
def starred_calls(n):
    def f(a, b=2, *rest, c, d=4, **more):
        return a, b, rest, c, d, more

    pair = (n, n + 1)
    options = {"c": n, "e": 5}
    return f(*pair, **options), f(1, c=3), f(*pair, *pair, c=0, d=n), f(1, *[2, 3], **{"c": 1}, z=n)


@cases(0, 1, 5)
def unbound_on_a_path(n):
    if n > 2:
        y = n
    elif n == 1:
        y = -1
    return y


@cases(0, 4)
def rebinding_to_another_type(n):
    x = n
    x = torch.full((2,), float(x))
    x = (x, n)
    return x


@cases((X, True), (X, False))
@torch.no_grad()
def decorated(x, flag):
    with torch.no_grad():
        y = x * 2 if flag else x
    return y + 1


@cases(1, 3)
def assertions(n):
    assert n > 1, f"n is {n}"
    assert n
    return n


@cases(-1, 0, 1, 2)
def raising(n):
    if n < 0:
        raise ValueError(f"negative: {n}")
    if n == 0:
        raise IndexError
    if n == 1:
        raise RuntimeError("one")
    return n


@cases(0, 1, 5)
def nonlocal_behind_joins(n):
    count = 0

    def step(k):
        nonlocal count
        if k > 2:
            count += 1
        for _ in range(k):
            count += 10
        return count

    return step(n) + step(n + 1), count
