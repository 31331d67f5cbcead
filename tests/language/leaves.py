"""Leaves of autograd and nn.Parameters that compiled code makes, and reads of `requires_grad` and `is_leaf`."""

from __future__ import annotations

import torch
from torch import nn

from language.cases import cases, construct

X = torch.arange(6.0).view(2, 3)


@cases(X, X[:0])
def of_new_tensors(x):
    kernel = torch.zeros(3)
    kernel[1] = 2.0
    kernel.add_(1)
    kernel.requires_grad_()
    bias = torch.ones(3)
    bias.requires_grad = True
    fixed = torch.ones(3).requires_grad_(False)
    rest = torch.full((3,), 2.0, requires_grad=True), x.new_ones(3, requires_grad=True)
    found = (x * kernel + bias * fixed + rest[0] * rest[1]).detach()
    return found, kernel.requires_grad, fixed.requires_grad, kernel.is_leaf, (kernel * 2).requires_grad, found.is_leaf


@cases(X.clone(), X[:1].clone(), X.long())
def arguments_that_become_leaves(x):
    n = x.size(0)
    x.requires_grad_()
    return (x * n).detach(), x, x.requires_grad


@cases((X.clone(), X), (X[:1].clone(), X))
def saliency(x, w):
    x.requires_grad = True
    (gradient,) = torch.autograd.grad((x * w).sum(), x)
    return gradient, x.requires_grad_()


@cases(X)
def of_views_of_arguments(x):
    h = x[:, None]
    h.requires_grad = True
    return (h * 2).detach(), h.requires_grad


@cases((X, 2.0), (X[:1], -1.0))
def perturbed(x, scale):
    x = x.detach().requires_grad_()
    loss = (x**3).sum() * scale
    (gradient,) = torch.autograd.grad(loss, x)
    return (x + 0.1 * gradient.sign()).detach(), x.requires_grad


@cases(X, X[:0])
def in_loops(x):
    total = x.sum()
    for i in range(x.size(0)):
        row = x[i].detach().requires_grad_()
        (gradient,) = torch.autograd.grad((row * row).sum(), row)
        total = total + gradient.sum()
    return total


@cases(X)
def parameters(x):
    p = nn.Parameter(torch.ones(3))
    q = nn.Parameter(x.sum(0), requires_grad=False)
    with torch.no_grad():
        p.mul_(3)
    kinds = isinstance(p, nn.Parameter), type(q) is nn.Parameter, p.requires_grad, q.requires_grad, p.data.requires_grad
    return (x * p + q).detach(), kinds


@cases(X)
def returned_parameter(x):
    return nn.Parameter(x.sum(0), requires_grad=False), x


@cases((X, X), (X.clone().requires_grad_(), X[0]), (X, X[0].requires_grad_()))
def of_arguments(x, y):
    kept = y - 1 if y.requires_grad else y + 1
    return kept, x.requires_grad, x[0].requires_grad, (x * 2).requires_grad, x.detach().requires_grad


@cases((X, True), (X, False))
def refused_flags(x, computed):
    try:
        if computed:
            torch.arange(3).requires_grad_()
        else:
            torch.ones(3, dtype=torch.int64, requires_grad=True)
    except RuntimeError as e:
        return str(e).partition("\n")[0]


construct(
    "Modules and torch's library",
    "`t.requires_grad_()`, `t.requires_grad = True`, `torch.zeros(n, requires_grad=True)`",
    "tensors that the code makes, arguments and views of arguments, before the code computes with them; also `False` of what "
    "requires none. The caller's tensor requires grad after the call. Results that depend on such a leaf require grad",
    of_new_tensors, of_views_of_arguments, in_loops, perturbed, refused_flags, arguments_that_become_leaves, saliency,
)  # fmt: skip
construct(
    "Modules and torch's library",
    "`t.requires_grad`, `t.is_leaf`",
    "of tensors that the code makes, weights, arguments, and tensors that a `backward` of `autograd.Function` is given; "
    "`is_leaf` of arguments that require no grad",
    of_new_tensors, of_arguments,
)  # fmt: skip
construct(
    "Modules and torch's library",
    "`nn.Parameter(t)`",
    "a leaf over the memory of `t`. It may be returned or kept, also together with what depends on it",
    parameters, returned_parameter,
)  # fmt: skip
