"""Tensors: aliasing, views, in-place writes, strides, sizes of zero and one, special values."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from programs.cases import cases, tensor

X = tensor(3, 4)
EMPTY = tensor(0, 4)
SPECIAL = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-40, 3e38, -2.5])
PERMUTED = tensor(4, 3).t()
STRIDED = tensor(6, 8)[::2, ::2]
CHANNELS_LAST = tensor(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
EXPANDED = tensor(3, 1).expand(3, 4)
OFFSET = tensor(5, 4)[1:4]


@cases(X, PERMUTED, EMPTY)
def identity(x):
    return x


@cases(X, PERMUTED, STRIDED, EMPTY)
def returns_views(x):
    return x[0:1], x.t(), x[:, 1:3], x.unsqueeze(0), x[..., ::2]


@cases(X, OFFSET, STRIDED)
def view_of_view(x):
    y = x[1:]
    return y[0], y[1:].transpose(0, 1), x


@cases(X, OFFSET)
def in_place_on_argument(x):
    x.mul_(2)
    x += 1
    x[0] = 5.0
    x[:, 1] = x[:, 0] * 2
    x[-1, -1] += 3
    return x


@cases(X, STRIDED, PERMUTED)
def write_through_view(x):
    row = x[1]
    row.zero_()
    column = x.t()[2]
    column.fill_(7)
    return x.sum(), row


@cases((X, torch.empty(3, 4), torch.empty(3)), (STRIDED, torch.empty(4, 3).t(), torch.empty(3, dtype=torch.float64)))
def out_arguments(x, out, sums):
    torch.add(x, 1, out=out)
    least, where = torch.min(x, 1, out=(torch.empty(3), torch.empty(3, dtype=torch.int64)))
    assert torch.mul(out, out, out=out) is out
    return torch.sum(out, 1, out=sums), least, where, torch.exp(x, out=None)


@cases(X, PERMUTED, STRIDED, EMPTY)
def layouts(x):
    y = x + 1 if x.is_contiguous() else x.t() * 2
    return x.stride(), x.stride(-1), x[:, 1:].is_contiguous(), y, (x + 1).storage_offset()


@cases((X, torch.ones(4)), (X, X), (X, X[0]))
def copies(x, y):
    x.copy_(y)
    return x


def _pair():
    base = tensor(6)
    return base[:4], base[2:]


@cases(_pair())
def overlapping_arguments(a, b):
    a.add_(1)
    c = b * 1
    b.mul_(2)
    return a.sum(), c


@cases((X, X))
def same_argument_twice(a, b):
    a += 1
    return a + b


@cases(X, PERMUTED, STRIDED, EXPANDED, OFFSET, EMPTY)
def pointwise_strides(x):
    return x + 1, x * x, torch.tanh(x), x.clone(), -x, x.contiguous(), x > 0, torch.relu(x)


@cases((PERMUTED, X), (X, PERMUTED), (STRIDED, X), (EXPANDED, X), (PERMUTED, PERMUTED), (X, EXPANDED))
def binary_strides(a, b):
    return a + b, a * b - a, torch.maximum(a, b)


@cases(CHANNELS_LAST, tensor(2, 3, 4, 5), tensor(2, 3, 4, 5).permute(0, 2, 3, 1), tensor(2, 3, 4, 5).transpose(1, 3))
def four_dims(x):
    return x + 1, x.sum(1), x * x.sum(), x.permute(1, 0, 3, 2), x.flatten(1), x.reshape(2, -1), x.transpose(1, 2) * 2


@cases(X, EMPTY, PERMUTED, torch.tensor(3.0), tensor(1, 1))
def reductions(x):
    return x.sum(), x.mean(), x.sum(-1), x.sum(0, keepdim=True), x.abs().sum(), x.numel(), x.mean(-1)


@cases(X, PERMUTED, STRIDED)
def extremes(x):
    return x.max(), x.min(), x.amax(1), x.argmax(1), x.max(1)


@cases(EMPTY)
def max_of_nothing(x):
    return x.max()


@cases(SPECIAL)
def special_values(x):
    return (
        x + 1, x * 0, x - x, x / x, 1 / x, torch.relu(x), torch.sigmoid(x), torch.tanh(x), torch.exp(x), x > 0, x == x,
        x != x, -x, x.abs(), torch.sqrt(x), torch.log(x), x.clamp(-1, 1), x * -1, torch.maximum(x, -x), x.sign(),
    )  # fmt: skip


@cases(SPECIAL, torch.zeros(0))
def special_reductions(x):
    return x.sum(), torch.isnan(x).any(), torch.isinf(x).all()


@cases((X, 0), (X, 2), (X, -1), (X, -3), (X, 3), (X, -4))
def select_row(x, i):
    return x[i]


@cases((X, 0, 2), (X, -2, 3), (X, 1, 100), (X, 2, 1), (X, -100, -1))
def slice_rows(x, a, b):
    return x[a:b], x[:, a:], x[:b]


@cases((X, 1), (X, 4), (X, 0))
def index_forms(x, i):
    return x[i - 1, i - 2], x[None, i - 1], x[..., 0], x[:, None, 1:], x[0][1]


@cases((tensor(2, 3), tensor(3, 4)), (tensor(2, 3), tensor(4, 3)), (tensor(3), tensor(3)), (tensor(5, 2, 3), tensor(3, 4)),
       (tensor(0, 3), tensor(3, 4)), (tensor(2, 0), tensor(0, 4)), (tensor(2, 3), tensor(3)))  # fmt: skip
def matmuls(a, b):
    return a @ b


@cases((X, tensor(5, 4)), (X, tensor(5, 3)), (EMPTY, tensor(5, 4)), (tensor(4), tensor(5, 4)))
def linears(x, w):
    return F.linear(x, w), F.linear(x, w, w[:, 0])


@cases((X, tensor(4)), (X, tensor(3)), (X, tensor(3, 1)), (X, torch.tensor(2.0)), (EMPTY, tensor(4)), (EMPTY, tensor(2, 4)),
       (tensor(2, 1, 4), X), (tensor(1), tensor(0)))  # fmt: skip
def broadcasts(a, b):
    return a + b, a * b, a < b


@cases((X, tensor(4)), (tensor(4), X))
def in_place_broadcast(a, b):
    a += b
    return a


@cases((X, 12), (X, 5), (EMPTY, -1), (X, -1))
def views(x, n):
    return x.view(n), x.reshape(n)


@cases(X, EMPTY, tensor(2, 6), tensor(3))
def view_with_sizes(x):
    return x.view(x.size(0), 2, -1)


@cases(PERMUTED)
def view_of_permuted(x):
    return x.view(-1)


@cases(torch.tensor(2.5), torch.tensor([3.0]), torch.tensor(4), torch.tensor(True), tensor(2))
def items(x):
    return x.item(), float(x), int(x), bool(x)


@cases(torch.tensor(1.0), torch.tensor(0.0), tensor(2), tensor(0))
def truth_of_tensor(x):
    if x:
        return 1
    return 0


@cases((X, torch.tensor(2)), (X, torch.tensor(0.5)), (tensor(3, dtype=torch.int64), torch.tensor(0.5)))
def zero_dim_operand(x, s):
    return x * s, x + s, s - x, s.item() * 2


@cases((4, 2), (0, 3), (2, -1))
def creation(n, m):
    return (
        torch.zeros(n, m),
        torch.ones(n),
        torch.full((n, 2), 1.5),
        torch.arange(n),
        torch.zeros(n, m, dtype=torch.int64),
    )


@cases(X, EMPTY, PERMUTED, tensor(3, dtype=torch.int32))
def likes(x):
    return torch.zeros_like(x), torch.ones_like(x), x.new_zeros(2, 3), torch.full_like(x, 3)


@cases(X, tensor(1, 4))
def softmaxes(x):
    return F.softmax(x, -1), F.log_softmax(x, dim=0), torch.softmax(x, 1), x.softmax(0)


@cases((X, PERMUTED), (X, EMPTY), (EMPTY, EMPTY), (X, tensor(2, 5)))
def cats(a, b):
    return torch.cat([a, b]), torch.cat((a, a), 1)


@cases((X, PERMUTED), (X, X + 1), (X, tensor(4, 3)))
def stacks(a, b):
    return torch.stack([a, b]), torch.stack((a, b), dim=-1)


@cases(X, tensor(1, 1), tensor(2, 1, 3))
def shape_ops(x):
    return x.unsqueeze(-1), x.flatten(), x.flatten(0, 1)


@cases(X, PERMUTED)
def expand_repeat(x):
    return x.unsqueeze(1).expand(-1, 5, -1), x.repeat(2, 1), x.repeat(1, 0)


@cases((X, X > 0), (X, torch.tensor(True)))
def wheres(x, c):
    return torch.where(c, x, x * 2), torch.where(c, x, 0.0)


@cases(X, EMPTY)
def detached(x):
    y = x.detach()
    y.add_(1)
    with torch.no_grad():
        z = y * 2
    return y, z, x.data, x


@cases(X)
def meta_data(x):
    return x.dtype, x.device, x.ndim, x.shape, x.is_floating_point()


@cases(X)
def dead_code_is_checked(x):
    x[7]
    return x


@cases((X, 5.0), (tensor(4, dtype=torch.int32), 5.0), (tensor(4, dtype=torch.int32), 5))
def in_place_scalar(x, s):
    x += s
    x.clamp_(0, 3)
    return x


@cases((X, 3), (X, 0))
def loop_in_place(x, n):
    y = x[1]
    for i in range(n):
        y += i
        x[0] = y
    return x, y


@cases((tensor(5, 3), 2), (tensor(1, 3), 2), (tensor(0, 3), 2))
def scan(xs, k):
    h = torch.zeros(3)
    outs = []
    for t in range(xs.size(0)):
        h = torch.tanh(h * 0.5 + xs[t])
        if t % k == 0:
            outs.append(h)
    return torch.stack(outs) if len(outs) > 0 else h[None], h
