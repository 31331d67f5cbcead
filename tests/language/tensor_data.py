"""Assignments to `.data` of tensors: weights, buffers, and tensors that the code makes."""

from __future__ import annotations

import torch
from torch import nn

from language.cases import cases, construct

X = torch.arange(12.0).view(3, 4) / 7


class Clamped(nn.Module):
    """Clamps its weight, as recurrent nets with bounded weights do."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-2, 2, 4))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.weight.data = self.weight.data.clamp(-0.5, 0.5)
        self.mean.data = torch.zeros(4)
        if x.size(0) > 1:
            self.mean.data = x.mean(0)
        return x * self.weight + self.mean, isinstance(self.weight, nn.Parameter)


cases(X, X[:1], X)(Clamped())


@cases(X, X[:0])
def of_tensors_made_here(x):
    y = x * 2
    row, z = y[:1], y
    y.data = y.data + 1
    p = nn.Parameter(torch.ones(4))
    p.data = p.data * 3
    return z, row, (x * p).detach()


@cases((X, 2.0), (X, None))
def of_other_values(x, value):
    y = x * 2
    try:
        y.data = value
    except TypeError as e:
        return y, str(e).partition("\n")[0]


@cases(X, X[:0], X[:, 1:])
def of_arguments(x):
    before, row = x.data, x[:1]
    x.data = x.data * 2
    x.add_(1)
    x.t_()
    return x, before, row, x + 1


@cases(X)
def of_an_argument_before_an_error(x):
    x.data = x * 3
    return x.view(1000)


construct(
    "Modules and torch's library",
    "`t.data = new`",
    "of weights, buffers and arguments, which stay the same objects, and of tensors that the code makes; with the same shape "
    "and dtype. Not in loops, nor in packages. Gradients: [limits](limits.md#gradients)",
    Clamped, of_tensors_made_here, of_other_values, of_arguments, of_an_argument_before_an_error,
)  # fmt: skip
