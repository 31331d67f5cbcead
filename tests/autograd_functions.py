"""Programs whose `autograd.Function`s have a `backward` of their own."""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

SCALE = 0.25


class Binarize(Function):
    """A straight-through estimator, as nets of binary weights use it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        passed = grad.clone()
        passed[x.abs() > 1] = 0
        return passed


class Round(Function):
    @staticmethod
    def forward(ctx, x, steps):
        return torch.round(x * steps) / steps

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class MyAdd(Function):
    """The example of the tutorial on extensions in C."""

    @staticmethod
    def forward(ctx, input1, input2):
        output = input1.new_empty(input1.shape)
        torch.add(input1, input2, out=output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.empty_like(grad_output)
        grad_input.copy_(grad_output)
        return grad_input, grad_output * 3


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.alpha, None


class Returned(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate, None)
        return x * gate

    @staticmethod
    def backward(ctx, grad):
        x, gate, nothing = ctx.saved_tensors
        assert nothing is None
        return grad * (gate + x * gate * (1 - gate))


class Linear(Function):
    """As the notes on extending autograd write it."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class ReadsFlags(Function):
    """Asks the tensors that ctx holds whether they require grad."""

    @staticmethod
    def forward(ctx, x, w):
        y, h = x * w, x + 1
        ctx.save_for_backward(x, w, y, h)
        ctx.held = x
        return y

    @staticmethod
    def backward(ctx, g):
        x, w, y, h = ctx.saved_tensors
        n = 1 + 2 * h.requires_grad + 4 * y.requires_grad + 8 * g.requires_grad + 16 * ctx.held.requires_grad
        n += 32 * (x * 2).requires_grad + 64 * x.detach().requires_grad + 128 * x[0].requires_grad
        return g * w * n if x.requires_grad else None, (g * x).sum(0) * n if w.requires_grad else None


class MulConstant(Function):
    """`setup_context`, an attribute that is a number, and outputs of all kinds."""

    @staticmethod
    def forward(x, factor, flag=True):
        return x * factor, (x > 0), x.argmax(), x.exp(), len(x.shape)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.factor, ctx.flag = inputs
        ctx.mark_non_differentiable(output[1], output[2])
        ctx.shape = x.shape
        ctx.save_for_backward(output[3])

    @staticmethod
    def backward(ctx, grad, grad_of_mask, grad_of_index, grad_of_exp, nothing):
        (exp,) = ctx.saved_tensors
        assert nothing is None and ctx.flag
        return grad * ctx.factor * len(ctx.shape) + grad_of_exp * exp + grad_of_mask + grad_of_index, None, None


class Pair(Function):
    """Gradients that may be None, since they are not materialized."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, y)
        return x + y, x * y

    @staticmethod
    def backward(ctx, of_sum, of_product):
        x, y = ctx.saved_tensors
        of_x = of_y = None
        if of_sum is not None:
            of_x = of_y = of_sum
        if of_product is not None:
            of_x = of_product * y if of_x is None else of_x + of_product * y
            of_y = of_product * x if of_y is None else of_y + of_product * x
        return of_x, of_y


class Iterated(Function):
    """Loops and branches over run-time values in `backward`."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        ctx.is_large = bool(x.sum() > 0)
        ctx.x = x
        return x.tanh()

    @staticmethod
    def backward(ctx, grad):
        total = grad
        for i in range(ctx.n):
            total = total + grad * i
            if i > 2:
                break
        if ctx.is_large:
            total = total * ctx.x
        while total.abs().sum() > 1:
            total = total / 2
        return total, None


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        assert not torch.is_grad_enabled()
        ctx.sizes = [x.shape[0], 2.0]
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * SCALE * ctx.sizes[1] if not torch.is_grad_enabled() else grad


class ByVjp(Function):
    @staticmethod
    def forward(ctx, x):
        return x.floor()

    @staticmethod
    def vjp(ctx, grad):
        return grad + 1


class Broadcasts(Function):
    """A gradient of other sizes and another dtype, which autograd sums up and converts."""

    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, grad):
        return grad.double(), grad


class Forgets(Function):
    """No gradient for an input that requires grad."""

    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, grad):
        return None, grad


class Writes(Function):
    """`backward` writes to the gradient that it gets."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(2)


class WritesWithoutSaying(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(3)
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return (grad * 7).expand(2, 3)


class ClampInPlace(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.clamp_(min=0).add_(y)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x > 0) * 3, grad * 2


class Noisy(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad + torch.rand(5)


class CallsAnother(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Swish.apply(x) * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * Swish.apply(x)


def binarized(x, w):
    return Binarize.apply(x * 2) @ Binarize.apply(w)


def rounded(x, w, n: int):
    return Round.apply(x * w, n) * x


def add(x, w):
    return MyAdd.apply(x.tanh(), x * w)


def reverse(x, w, alpha: float):
    return Reverse.apply(x, alpha) * w


def returned(x, w):
    y = Returned.apply(x)
    return y * w, y is x


def swish(x, w):
    return Swish.apply(x * w)


def reads_flags(x, w):
    return ReadsFlags.apply(x * 1, w), ReadsFlags.apply(x, w * 2)


def linear(x, w):
    return Linear.apply(x, w.expand(2, 3)), Linear.apply(x, x, x.sum(1))


def linear_of_constants(x, w):
    return Linear.apply(x.detach(), w.expand(2, 3))


def several_outputs(x, w):
    a, mask, i, b, n = MulConstant.apply(x * w, 2.5)
    return a * n, b, mask, i


def one_of_several_outputs(x, w):
    return MulConstant.apply(x * w, 2.5)[3]


def sum_of_a_pair(x, w):
    return Pair.apply(x, w.expand_as(x))[0]


def product_of_a_pair(x, w):
    return Pair.apply(x, w.expand_as(x))[1]


def whole_pair(x, w):
    return Pair.apply(x, w.expand_as(x))


def iterated(x, w, n: int):
    return Iterated.apply(x * w, n)


def once(x, w):
    return Once.apply(x) * w


def by_vjp(x, w):
    return ByVjp.apply(x) * w


def broadcasts(x, w):
    return Broadcasts.apply(x, w)


def forgets(x, w):
    return Forgets.apply(x, w.expand_as(x))


def writes(x, w):
    y = Writes.apply(x * w)
    return y.tanh() * w


def writes_without_saying(x, w):
    y = x * w
    z = WritesWithoutSaying.apply(y)
    return y * z


def clamp_in_place(x, w):
    y = x * w
    z = ClampInPlace.apply(y, w.expand_as(y))
    return y.tanh() * z, z is y


def clamp_a_constant_in_place(x, w):
    y = torch.zeros(2, 3)
    ClampInPlace.apply(y, w.expand_as(y))
    return y * y


def clamp_a_row_in_place(x, w):
    y = x * w
    ClampInPlace.apply(y[0], w * 2)
    return y * y


def calls_another(x, w):
    return CallsAnother.apply(x) * w


def in_a_loop(x, w, n: int):
    found = []
    for i in range(n):
        x = Swish.apply(x) * w
        if i == 2:
            x = Binarize.apply(x) + x
        found.append(Reverse.apply(x, 0.5 * i))
    found.append(x)
    return x, torch.stack(found)


def in_a_while(x, w, n: int):
    while n > 0:
        n -= 1
        x = Round.apply(x, 2) * w
        if x.sum() < 0:
            return x - w
    return x


def in_a_branch(x, w, n: int):
    y = x
    if x.sum() > n:
        y = Swish.apply(x)
    return y * w


def helper(x, w):
    return Reverse.apply(x, 2.0) * w


def in_a_helper(x, w):
    return helper(helper(x, w), w)


def in_a_helper_of_swish(x, w, n: int):
    for _ in range(n):
        x = swish(x, w) + Linear.apply(x, w.outer(w), w)
    return x


def noisy(x):
    return Noisy.apply(x)


def gradient_inside(x, w):
    y = Binarize.apply(x * 2) * Swish.apply(w)
    gx, gw = torch.autograd.grad(y.sum(), (x, w), retain_graph=True)
    return y + gx + gw


def same_input_twice(x, w):
    return MyAdd.apply(x, x) * w


def writes_later(x, w):
    y = x * w
    z = Swish.apply(y)
    y.mul_(2)
    return z + y


def output_is_written(x, w):
    y = Reverse.apply(x * w, 2.0).clone()
    z = Swish.apply(x * w)
    z.mul_(2)
    z[0] = 1
    return y + z


class Net(nn.Module):
    """A small net of binary weights and activations."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.second = nn.Linear(16, 3)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        h = nn.functional.linear(x, Binarize.apply(self.first.weight), self.first.bias)
        h = Binarize.apply(self.norm(h))
        return nn.functional.linear(h, Binarize.apply(self.second.weight), self.second.bias)


FUNCTIONS = [
    binarized, add, returned, swish, linear, linear_of_constants, several_outputs, one_of_several_outputs, sum_of_a_pair,
    product_of_a_pair, whole_pair, once, by_vjp, broadcasts, forgets, writes, writes_without_saying, calls_another, in_a_helper,
    same_input_twice, gradient_inside, output_is_written, clamp_in_place, clamp_a_constant_in_place, clamp_a_row_in_place,
    clamp_a_row_in_place, reads_flags,
]  # fmt: skip
COUNTED = [rounded, iterated, in_a_loop, in_a_while, in_a_branch]
