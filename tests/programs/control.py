"""Branches, loops and the ways to leave them."""

from __future__ import annotations

import torch

from programs.cases import cases, tensor

X = tensor(4)
XS = [tensor(3, seed=i) for i in range(5)]


@cases((X, 0), (X, 1), (X, 5))
def range_loop(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


@cases((0, 10, 3), (10, 0, -3), (5, 5, 1), (0, 3, 0), (-4, 4, 2))
def range_bounds(start, stop, step):
    total = 0
    last = -1
    for i in range(start, stop, step):
        total += i
        last = i
    return total, last


@cases((XS,), (XS[:1],), ([],))
def list_loop(xs):
    total = torch.zeros(3)
    for x in xs:
        total = total + x
    return total


@cases(tensor(4, 3), tensor(1, 3), tensor(0, 3), tensor(5), torch.tensor(2.0))
def tensor_loop(x):
    total = torch.zeros(())
    for row in x:
        total = total + row.sum()
    return total


@cases((XS, tensor(5)), (XS[:2], tensor(5)), (XS, tensor(0)))
def zip_loop(xs, w):
    total = torch.zeros(3)
    for x, s in zip(xs, w):  # noqa: B905
        total = total + x * s
    return total


@cases((XS,), ([],))
def enumerate_loop(xs):
    total = torch.zeros(3)
    for i, x in enumerate(xs, 1):
        total = total + x * i
    return total


@cases((XS,), (XS[:1],), ([],))
def reversed_loop(xs):
    h = torch.zeros(3)
    for x in reversed(xs):
        h = torch.tanh(h + x)
    return h


@cases(1, 5, 0, 27)
def while_int(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@cases(X, X * 100, torch.zeros(4))
def while_tensor(x):
    n = 0
    while x.abs().sum() > 1:
        x = x / 2
        n = n + 1
    return x, n


@cases((XS, 0.5), (XS, 100.0), ([], 1.0))
def break_loop(xs, limit):
    total = torch.zeros(3)
    i = -1
    for i, x in enumerate(xs):  # noqa: B007
        total = total + x
        if total.abs().sum() > limit:
            break
    return total, i


@cases((XS,), ([],))
def continue_loop(xs):
    total = torch.zeros(3)
    for x in xs:
        if x.sum() < 0:
            continue
        total = total + x
    return total


@cases((XS, 0.0), (XS, 100.0), ([], 0.0))
def return_in_loop(xs, limit):
    for i, x in enumerate(xs):
        if x.sum() > limit:
            return x, i
    return torch.zeros(3), -1


@cases((3, 4), (0, 4), (3, 0), (10, 10))
def nested_loops(n, m):
    found = 0
    for i in range(n):
        for j in range(m):
            if j > i:
                break
            if (i + j) % 3 == 0:
                continue
            if i * j > 20:
                return -found
            found += i * j + 1
        else:
            found += 1000
    return found


@cases((3, 1), (3, 9), (0, 1))
def for_else(n, wanted):
    for i in range(n):
        if i == wanted:
            result = i
            break
    else:
        result = -1
    return result


@cases((3, 1), (3, 9), (0, 1))
def while_else(n, wanted):
    while n > 0:
        if n == wanted:
            n = 100
            break
        n -= 1
    else:
        n = -5
    return n


@cases(X, -X.abs(), X.abs())
def tensor_if(x):
    if x.sum() > 0:
        y = x * 2
    elif x.sum() < -3:
        y = x - 1
    else:
        y = x
    return y


@cases((X, True), (X, False))
def early_return(x, flag):
    if flag:
        return x + 1
    x = x * 2
    return x


@cases((1, 2), (2, 1), (3, 3))
def defined_in_one_branch(a, b):
    if a < b:
        y = a
    if a > b:
        y = b
    return y


@cases(3, 0)
def defined_in_loop_only(n):
    for i in range(n):
        y = i * 2
    return y


@cases(3, 0, -2)
def maybe_unbound_in_loop(n):
    for i in range(n):
        if i > 0:
            y = y + i  # noqa: F821
        else:
            y = 1
    return y if n > 0 else 0


@cases(5, 1)
def loop_variable_survives(n):
    i = 100
    for i in range(n):  # noqa: B007
        pass
    return i


@cases(4, 0)
def tuples_carried(n):
    pair = (0, 1.5)
    a, b = 1, 2
    for _ in range(n):
        a, b = b, a + b
        pair = (pair[0] + a, pair[1] * 2)
    return a, b, pair


@cases((X, 3), (X, 0))
def fresh_name_in_loop(x, n):
    for _ in range(n):
        y = x + 1
        x = y * 2
    return x


@cases((XS, 2), (XS, 0), (XS[:1], 1))
def while_true(xs, stop):
    i = 0
    while True:
        if i >= len(xs):
            return -1
        if i == stop:
            break
        i += 1
    return i


@cases(3, -1)
def infinite_but_raise(n):
    while True:
        n -= 1
        if n == 0:
            return n
        if n < -5:
            raise ValueError("too small")


@cases(1, 0, -1)
def raises_by_branch(n):
    if n == 0:
        raise KeyError("zero")
    if n < 0:
        raise RuntimeError
    return n


@cases((X, 1.0), (X, -1.0))
def asserts(x, y):
    assert y > 0, "y must be positive"
    assert x.dim() == 1
    return x * y


@cases((X, 4), (X, 5))
def asserts_on_size(x, n):
    assert x.shape[0] == n
    return x


@cases(True, False)
def branch_of_unlike_ints(flag):
    if flag:
        x = 1
    else:
        x = 2
    for _ in range(3):
        x = x * 10 + 1
    return x


@cases(3, 0)
def swaps_in_loop(n):
    a = torch.zeros(2)
    b = torch.ones(2)
    for _ in range(n):
        a, b = b, a
    return a, b


@cases((X, 2), (X, 0))
def del_name(x, n):
    y = x + 1
    z = y * n
    del y
    return z


@cases(6, 0)
def deep_break(n):
    out = []
    for i in range(n):
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j == 3:
                out.append(i * 10)
                break
        if i == 4:
            continue
        out.append(i)
    return out


@cases((tensor(2, 3), 2), (tensor(3, 3), 2))
def condition_on_shape(x, n):
    if x.size(0) == n:
        return x.sum(0)
    return x.sum(1)


@cases((X, 4), (X, 1))
def unrolled_with_break(x, n):
    for k in (1, 2, 3):
        if k > n:
            break
        if k == 2:
            continue
        x = x * k + 1
    return x


@cases((5, 2), (5, 0))
def while_with_continue(n, k):
    total = 0
    while n > 0:
        n -= 1
        if n % 2 == k % 2:
            continue
        total += n
    return total


@cases((X, 2), (X, -1))
def conditional_expression(x, n):
    return (x + 1 if n > 0 else x - 1), (n if n > 1 else -n)


@cases((tensor(3, 4),), (tensor(0, 4),))
def row_loop_in_place(x):
    y = torch.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * i
    return y


@cases(
    (2**53 + 1, 0.5),
    (3, 3.0),
    (3, 2.5),
    (-(2**63), -(2.0**63)),
    (2**63 - 1, 2.0**63),
    (0, float("nan")),
    (1, float("inf")),
)
def compares_mixed(n, x):
    return n < x, n <= x, n > x, n >= x, n == x, n != x, x < n, x <= n, x > n, x >= n, x == n, x != n
