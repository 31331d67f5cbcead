"""torch.autograd.Function: `apply` is a call of `forward`."""

from __future__ import annotations

import torch
from three_ways import Program, call
from torch import nn

from language.cases import LANGUAGE, cases

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope=2.0):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (ctx.slope * x.abs() + 1) ** 2, None


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(x, low=0.0, *, high=1.0):
        return x.clamp(low, high), x, x.argmax()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.low = inputs[:2]
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(x, output[0])


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.set_materialize_grads(False)
        return x.mul_(2)


class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = 0.5
        self.spike = Spike.apply

    def forward(self, x, n: int):
        v = torch.zeros_like(x)
        counts = []
        for _ in range(n):
            v = self.beta * v + x
            s = self.spike(v - 1)
            v = v - s
            counts.append(s.sum(1))
        return counts, v


LANGUAGE.append(Program(Leaky(), [call(X, n) for n in (0, 1, 7)]))


@cases((X,))
def function_with_a_context_of_its_own(x):
    y, same, i = Clamped.apply(x)
    return y, Clamped.apply(x, -0.5)[0], i, same is x, same


@cases((X.clone(),))
def function_that_writes_what_it_is_given(x):
    y = Doubled.apply(x)
    return y is x, x + 1


@cases((X, 1.0), (X, None))
def function_that_raises(x, slope):
    return Spike.apply(x, slope), Spike.apply(x, slope, slope)
