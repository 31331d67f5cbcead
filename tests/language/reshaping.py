"""Methods that change the shape of a tensor object."""

from __future__ import annotations

import torch

from language.cases import cases, construct

X = torch.arange(6.0).view(2, 3)


@cases(X, X[:0])
def of_names(x):
    y = x * 2
    y.unsqueeze_(0)
    y.squeeze_(0).add_(1)
    z = y.clone()
    z.t_()
    z.transpose_(0, 1).mul_(2)
    z = z.unsqueeze_(-1)
    w = z.squeeze_(-1)
    return y, w


@cases((X, True), (X, False))
def on_paths_and_in_loops(x, deep):
    y = x + 1
    if deep:
        y.unsqueeze_(0)
    for i in range(3):
        row = x[i % 2] * 1
        row.unsqueeze_(1)
        y = y + row.sum()
    return y, y.dim()


@cases(X, X[:0], X[:, 1:])
def of_arguments(x):
    first, held = x[:1], {"x": x}
    x.unsqueeze_(1)
    x.transpose_(0, 2).mul_(2)
    return x, first, held["x"].shape, x[0]


def lifted(y, dim=0):
    assert dim < 2
    y.unsqueeze_(dim)
    return y


class Lifts(torch.nn.Module):
    def forward(self, x):
        if lifted(x).dim() > 4:
            raise ValueError("too many dims")
        return x + 1


@cases(X, X[:0], X[None, None])
def by_functions(x):
    y = x * 2
    z = lifted(y, 1)
    w = Lifts()(lifted(x))
    (lambda: x.transpose_(0, 1))()
    return x, y, z is y, w


@cases((X, {"a": X[0].clone(), "rows": (X * 1, X * 2)}))
def of_tensors_in_arguments(x, held):
    held["a"].unsqueeze_(0)
    held["rows"][1].t_()
    x.squeeze_(0)
    held["last"] = x
    return held["rows"][1] + 1, held["rows"][0]


@cases(X[:1], X[:, :1, None], X)
def of_all_dims(x):
    x.squeeze_()
    return x.dim()


@cases((X, 3), (X, 0))
def and_then_raises(x, n):
    x.squeeze_(0).t_()
    if n > 2:
        raise ValueError("after the change")
    x.squeeze_(n + 7)
    return x


@cases(X)
def of_views(x):
    row = x[0]
    row.unsqueeze_(0)
    row += 1
    return x, row


@cases(X, X[:0])
def of_what_has_no_name(x):
    rows = [row.sum() for row in x.t().unsqueeze_(0)]
    for y in (x * 2, x * 3):
        y.t_()
    for i, z in enumerate((x + 1, x + 2)):
        z.unsqueeze_(i)
    return (x * 2).unsqueeze_(0).squeeze_(0).add_(1), torch.arange(3).unsqueeze_(1), rows, y, z


class Holder:
    def __init__(self, held):
        self.held = held


@cases(X, X[:0])
def of_several_names(x):
    y = x * 2
    row, other, held = y[:1], y, Holder(y)
    y.unsqueeze_(0)
    pair = (y, {"y": y})
    held.held.transpose_(0, 1)
    other.add_(1)
    try:
        y.squeeze_(7)
    except IndexError:
        y.mul_(2)
    return y, row, other.shape, held.held is y, pair[1]["y"].stride()


def twice(x):
    y = x * 2
    return y, y


@cases(X)
def of_what_closures_and_loops_hold(x):
    def make():
        y = x * 2
        return lambda: y

    kept = make()
    z = kept()
    z.unsqueeze_(0)
    for y in twice(x):
        y.unsqueeze_(0)
    return z + kept(), y


class Counter:
    def __init__(self):
        self.n = 0

    def squeeze_(self, by=1):
        self.n += by
        return self.n


@cases(X)
def methods_of_such_names(x):
    counter = Counter()
    counter.squeeze_()
    found = counter.squeeze_(2)
    return x * counter.n, found


construct(
    "Modules and torch's library",
    "`x.squeeze_()`, `x.unsqueeze_()`, `x.t_()`, `x.transpose_()`",
    "of tensors that the code makes, and of arguments: the caller's tensor has its new shape after the call, also if the call "
    "raises. Not in branches and loops of run time, nor of arguments in packages. Gradients: [limits](limits.md#gradients)",
    of_names, of_several_names, of_arguments, by_functions, of_tensors_in_arguments, of_all_dims, and_then_raises,
)  # fmt: skip
