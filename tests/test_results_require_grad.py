"""Results that require grad where eager's do, also inside tuples of any length and objects that exist at run time."""

from __future__ import annotations

from collections import OrderedDict

import torch
from settings import OPTIMIZE
from three_ways import compile_at

import scriptc


class Node:
    def __init__(self, h, previous):
        self.h = h
        self.previous = previous


def chained(x, w, n):
    nodes = []
    last = None
    for i in range(n):
        last = Node(torch.tanh(x * i), last)
        nodes.append(last)
    nodes.append(Node(w + 1, None))
    return nodes, last


def tuple_that_grows(x, n):
    found = ()
    for i in range(n):
        found = found + (x * i,)
    return found


X = torch.randn(3, requires_grad=True)
W = torch.randn(3)


def test_objects() -> None:
    found, wanted = compile_at(chained, 0)(X, W, 3), chained(X, W, 3)
    assert [n.h.requires_grad for n in found[0][:3]] == [n.h.requires_grad for n in wanted[0][:3]] == [True] * 3
    assert found[1] is found[0][2] and found[1].previous is found[0][1]
    with torch.no_grad():
        assert not compile_at(chained, 0)(X, W, 2)[1].h.requires_grad


def of_its_shape(x):
    return torch.zeros_like(x), torch.ones_like(x) + 1, torch.rand_like(x), x.clone().fill_(2.0), torch.fill(x, 2.0)


def test_constants_of_the_shape_of_a_tensor() -> None:
    found, wanted = compile_at(of_its_shape, 0)(X), of_its_shape(X)
    assert [t.requires_grad for t in found] == [t.requires_grad for t in wanted] == [False] * 3 + [True] * 2


def test_tuples() -> None:
    found = compile_at(tuple_that_grows, 0)(X, 3)
    assert type(found) is tuple and [t.requires_grad for t in found] == [True] * 3


class Output(OrderedDict):
    """A dict whose items are attributes too, and that refuses updates, as the results of Hugging Face's models do."""

    def __init__(self, h):
        super().__init__()
        self.h = h
        self["h"] = h

    def update(self, *args, **kwargs):
        raise TypeError("an Output is not updated")


def outputs(x):
    return Output(x * 2)


def test_objects_that_are_dicts() -> None:
    found = compile_at(outputs, 0)(X)
    assert type(found) is Output and found.h is found["h"] and found.h.requires_grad
    found.h.sum().backward()


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, held):
        ctx.mark_non_differentiable(held)
        return (x > 0).float(), held * 2, held, x.argmax()


def spikes(x, w):
    return Spike.apply(x, w), Spike.apply(x.detach(), w)


def test_functions_with_a_backward_of_their_own() -> None:
    """Gradients flow to what `apply` was given, though a comparison cuts them."""
    for optimize in (0, 2):
        found, wanted = compile_at(spikes, optimize)(X, W), spikes(X, W)
        for ys, expected in zip(found, wanted, strict=True):
            assert [y.requires_grad for y in ys] == [y.requires_grad for y in expected]


class Chosen(torch.nn.Module):
    """As layers do that compute otherwise where they are trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.register_buffer("fixed", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x) if self.layer.bias.requires_grad else x
        return x + 1 if self.fixed.requires_grad else x


@torch.no_grad()
def test_whether_a_weight_requires_grad_is_asked_at_each_call() -> None:
    model, x = Chosen(), torch.randn(2, 3)
    made = scriptc.compile(model, optimize=OPTIMIZE)
    for requires in (True, False, True):
        model.layer.bias.requires_grad_(requires)
        torch.testing.assert_close(made(x), model(x))
    model.layer.bias = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
    model.fixed.requires_grad_(True)
    assert torch.equal(made(x), x + 1)
