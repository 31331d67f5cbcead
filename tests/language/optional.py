"""None beside other values, and values of one of several types."""

from __future__ import annotations

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


@cases((X, 0), (X, 1), (X, 2))
def state_that_begins_as_none(x, n):
    h = None
    for i in range(n):
        if h is None:
            h = torch.zeros(3)
        h = torch.tanh(h + x[i])
    return h


@cases((X, 0), (X, 2))
def state_of_a_pair(x, n):
    state = None
    for i in range(n):
        if state is None:
            state = (torch.zeros(3), torch.ones(3))
        h, c = state
        state = (torch.tanh(h + x[i]), c * h)
    if state is None:
        return x
    return state[0] + state[1]


@cases((X, 0), (X, 1))
def used_without_test(x, n):
    h = None
    if n:
        h = x
    return h + 1


@cases((X, 0), (X, 1))
def attribute_of_none(x, n):
    h = x if n else None
    return h.shape[0]


@cases((X, 0), (X, 1), (X, 2))
def early_return(x, n):
    best = None
    for i in range(n):
        if best is None or x[i].sum() > best:
            best = x[i].sum()
    if best is None:
        return x.sum()
    return best * 2


@cases(0, 1, 2)
def asserted(n):
    best = None
    for i in range(n):
        best = i
    assert best is not None
    return best + 1


@cases((X, None), (X, X), (X, 2.0))
def optional_argument(x, bias=None):
    y = x if bias is None else x + bias
    return y if bias is not None else -y


@cases(0, 1, 4)
def int_becomes_float(n):
    x = 0
    for _ in range(n):
        x = x + 0.5
    return x


@cases(0, 1, 5)
def int_or_float(n):
    x = n if n % 2 else n / 2
    if isinstance(x, float):
        return x * 2
    return x + 1


@cases((X, 0), (X, 1), (X, 2))
def rank_changes(x, n):
    for _ in range(n):
        x = x[0]
    return x * 2


@cases(0, 1, 2)
def string_of_several(n):
    mode = "relu" if n == 0 else "tanh" if n == 1 else "none"
    x = torch.tensor([-1.0, 2.0])
    if mode == "relu":
        return torch.relu(x)
    if mode == "tanh":
        return torch.tanh(x)
    return x, mode


@cases(0, 1)
def function_of_several(n):
    f = torch.sin if n else torch.cos
    return f(X)


@cases(0, 3, 7)
def refined_by_and(n):
    a = None if n < 2 else n
    b = None if n < 5 else n * 2
    if a is not None and b is not None:
        return a + b
    if a is None or n == 100:
        return -1
    return a


@cases(0, 2)
def refined_by_while(n):
    x = None
    i = 0
    while x is None:
        if i >= n:
            x = i
        i += 1
    return x + i


@cases((X, 0), (X, 1))
def isinstance_of_tensor(x, n):
    y = x if n else 3
    if isinstance(y, torch.Tensor):
        return y.sum()
    return y + 1


@cases(0, 1)
def equal_to_none(n):
    x = n if n else None
    return x == 1, x != 1, x == None, not x  # noqa: E711


@cases((X, 0), (X, 1))
def passed_on(x, n):
    def f(h):
        if h is None:
            return x
        return h + x

    return f(x if n else None)


@cases(0, 1, 2)
def returned_kinds(n):
    if n == 0:
        return None
    if n == 1:
        return 1.5
    return n


@cases((X, True), (X, False))
def bound_on_a_path_that_always_raises(x, flag):
    if flag:
        late = x.reshape(7)
        late += 1
    return late


@cases(([],), ([1],))
def items_of_a_list_that_is_always_empty(xs):
    found = [x for x in xs if x > 100]
    if found == list(range(-3)) and xs:
        return found[0]
    return found.index(3)
