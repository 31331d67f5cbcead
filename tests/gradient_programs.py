"""Functions and modules with loops, branches, views, writes and lists, whose gradients the tests compare with eager's."""

from __future__ import annotations

import torch
from gradient_carried_programs import CARRIED_LISTS
from gradient_list_programs import CHANGES_OF_LISTS
from gradient_passed_list_programs import PASSED_LISTS
from gradient_table_programs import TABLES
from gradient_try_programs import TRIES
from torch import Tensor, nn

Sequence = list[Tensor]


def straight(x: Tensor, w: Tensor, n: int) -> Tensor:
    return torch.tanh(x * w) * x


def counted(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x
    for i in range(n):
        h = torch.tanh(h * w) + x
        if i % 2 == 0:
            h = h * w
    return h


def left_by_break(x: Tensor, w: Tensor, n: int) -> Tensor:
    h, i = x, 0
    while True:
        h = torch.tanh(h * w) + x
        i += 1
        if i > n:
            break
        h = h * h
    return h


def left_by_return(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x
    for _ in range(n):
        h = torch.tanh(h * w)
        if h.sum() > 0.5:
            return h * 2
    return h


def added_in_place_until_returned(x: Tensor, w: Tensor, n: int) -> Tensor:
    total = torch.zeros_like(x)
    for i in range(n):
        total += torch.tanh(x * w) * i
        if total.sum() > 0.5:
            return total
    total += w
    return total


def returned_in_front_of_a_write(x: Tensor, w: Tensor, n: int) -> Tensor:
    total = x * w
    if n > 2:
        return total
    total *= w + n
    if n > 1:
        return total
    total[0] = w.sum()
    return total


def halted_in_turns(x: Tensor, w: Tensor, n: int) -> Tensor:
    outputs = []
    for i in range(n):
        outputs.append(added_in_place_until_returned(x * (i + 1), w, n))
    return torch.stack(outputs) if n > 0 else x * w


def skips(x: Tensor, w: Tensor, n: int) -> Tensor:
    total = x * 0
    for i in range(n):
        if i % 3 == 1:
            continue
        total = total + torch.sigmoid(x * w * i)
    return total


def nested(x: Tensor, w: Tensor, n: int) -> Tensor:
    total = x * 0
    for i in range(n):
        h = x
        for j in range(i):
            h = torch.tanh(h * w)
            if j == 2:
                break
        total = total + h * h
    return total


def down_a_range(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x
    for i in range(2 * n, 0, -2):
        h = torch.tanh(h * w * i)
    return h


def leaves_with_parts(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The parts cover a tensor of known size, and are undefined where no iteration leaves the loop."""
    for i in range(n):
        first, second = torch.stack([w * x[i], w]).tanh().split(1)
        if i > 0:
            return second, first * x[0]
    return x, w


def guarded(x: Tensor, w: Tensor, n: int) -> Tensor:
    """The derivative of what a branch returns is infinite or NaN where the other one is taken."""
    scaled = torch.sqrt(x.abs() * n) / n * w
    if n == 0:
        return x * w
    return scaled + w


def guarded_by_branches_in_branches(x: Tensor, w: Tensor, n: int) -> Tensor:
    root = torch.sqrt(w * w * (n - 1))
    y = x / root
    if n > 0:
        x = x * 2
        if n != 1:
            x = x + y
    return x


def guarded_in_a_loop(x: Tensor, w: Tensor, n: int) -> Tensor:
    total = x * w
    for i in range(n):
        y = torch.log((w * w + 1) * (i - 1)) * x
        if i > 1:
            total = total + y
    return total


def guarded_loop(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x
    for i in range(3):
        h = torch.sqrt(h * h * n) / (n * w) + i
    total = h.sum()
    for _ in range(2):
        total = total * w / n
    if n == 0:
        return x * w
    return h + total


def carries_a_part_of_itself(x: Tensor, w: Tensor, n: int) -> Tensor:
    part = x
    for _ in range(n):
        part = part.chunk(2)[0][:2]
        w = w.clone()
        w[0] = part.sum()
    return w * part.sum()


def starts_as_none(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = None
    for _ in range(n):
        h = torch.tanh((x if h is None else h) * w)
    return x * 2 if h is None else h


def writes_rows(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = torch.zeros(x.shape)
    for t in range(x.shape[0]):
        y[t] = x[t] * w
    y[0] = y[1].clone() * w
    return y * y


def adds_in_place(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x * 1
    for _ in range(n):
        h += torch.tanh(h.clone() * w)
    return h


def writes_by_masks(x: Tensor, w: Tensor, n: int) -> Tensor:
    y, mask = torch.zeros_like(x), x > 0
    y[mask] = x[mask] * w[0]
    for _ in range(n):
        y = y + x
        y[y > 0.5] *= 0.5
    return y * y


def writes_behind_views_that_are_dead(x: Tensor, w: Tensor, n: int) -> Tensor:
    y, total = x * 1, w * 1
    for _ in range(n):
        flat = y.reshape(-1)
        total = total + flat.mean()
        y[0] = total * 2
    pairs = y.unfold(0, 2, 1).exp().sum()
    y[0] = w * pairs
    return y * total


def adds_to_slices(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = x.new_zeros(x.shape[0] + n, x.shape[1])
    for k in range(n):
        y[k : k + x.shape[0]] += x * w
    y[0] = x[1].expand(x.shape[1])
    y[:, 0:1] = y[:, 1:2].expand(y.shape[0], 1) * 3
    return y * y


def writes_in_a_branch(x: Tensor, w: Tensor, n: int) -> Tensor:
    if n > 2:
        y = x * w
        y[0] = y[1] * 2
    else:
        y = x + w
    return y * y


def scales_parts_in_place(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = x * w
    y[0:2] *= 2.0
    for k in range(n):
        y[k : k + 1] *= 0.5 + k
        y[..., 1:] += k
    return y * w


def writes_by_tensors_of_indices(x: Tensor, w: Tensor, n: int) -> Tensor:
    y, rows = x * w, torch.arange(min(2, x.shape[0]))
    total = y.reshape(-1).sum()
    y[rows] = total
    for k in range(n):
        y[rows] = y[rows] * total + k
        y.index_put_((rows,), y.reshape(-1).mean(), accumulate=True)
    y[x > 0] += 1.0
    y[x < -0.5] = total
    return y * x


def reads_rows(x: Tensor, w: Tensor, n: int) -> Tensor:
    out: Sequence = []
    h = w
    for t in range(x.shape[0]):
        h = torch.tanh(h * w) + x[t]
        out.append(h)
    return torch.stack(out)


def list_of_steps(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    steps = [x * w]
    for _ in range(n):
        steps.append(torch.tanh(steps[-1] * w))
    return torch.cat(steps, 0), steps[0]


def returns_a_list(x: Tensor, w: Tensor, n: int) -> Sequence:
    out: Sequence = []
    for _ in range(n + 1):
        x = torch.tanh(x * w)
        out.append(x)
    return out


def returns_a_dict(x: Tensor, w: Tensor, n: int) -> dict[str, Tensor]:
    a, b = x, x * w
    for _ in range(n):
        a, b = b, a * w
    return {"a": a, "b": b * 1}


def of_a_list(xs: Sequence, w: Tensor, n: int) -> Tensor:
    h = w * 0
    for x in xs:
        h = torch.tanh(h * w + x)
    return h * xs[0] * n


def stops_gradients(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x
    for _ in range(n):
        with torch.no_grad():
            scale = h.abs().max()
        h = torch.tanh(h.detach() * w) / (1 + scale)
    return h + x * 0.5


def writes_without_gradients(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    filled, changed = torch.zeros_like(x), x * w
    with torch.no_grad():
        filled.copy_(x * n)
        changed += w
        changed[0] = 5.0
        changed.unsqueeze(0).mul_(2)
    return filled * x, changed * 1


def keeps_without_gradients(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps: Sequence = [x * w]
    with torch.no_grad():
        for _ in range(n):
            steps.append(steps[-1] * w)
        held = {"a": x * 3, "b": x}
        pair, older = (x + w, x.view_as(x)), x
    steps.append(held["b"] * w)
    total = pair[0] * pair[1] * held["a"] + older
    for step in steps:
        total = total + step * x
    return total


def carries_without_gradients(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = x
    with torch.no_grad():
        for _ in range(n):
            h = h * w
            with torch.enable_grad():
                h = h + x
            if n > 2:
                h = h * 2
    return h * w


def starts_in_a_branch(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = None
    for _ in range(n):
        if h is None:
            h = torch.tanh(x)
        else:
            h = torch.tanh(h * w)
    if h is not None:
        x = x * h
    return x * w


def reads_tuples(x: Tensor, w: Tensor, n: int) -> Tensor:
    pairs = [(2, 0.5)]
    for i in range(n):
        pairs.append((i, i * 0.5))
    last = pairs[-1]
    for i, q in pairs:
        for _ in range(2):
            x = torch.tanh(x * w * q) + i
    return x * last[0] * last[1]


def reads_items_of_several_kinds(x: Tensor, w: Tensor, n: int) -> Tensor:
    items = ["a", 1.0]
    for i in range(n):
        items.append(i * 0.5)
    for item in items:
        if isinstance(item, float):
            x = torch.tanh(x * w * item)
    return x * w


def slices_what_a_loop_carries(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    v = x.sum(1)
    for _ in range(1):
        w = w + w
        if n % 2 == 0:
            for _ in x[:n]:
                v = v[1:] * 0.5
                continue
            v = v.clone()
            v.clamp_(-1, 1)
    return w, v, v


def returns_a_list_twice(x: Tensor, w: Tensor, n: int) -> tuple[Sequence, Sequence]:
    out = [x * w]
    for _ in range(n):
        out.append(torch.tanh(out[-1] * w))
    return out, out


def grows_by_broadcasting(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = w[: min(n, 1)] * 2
    for _ in range(n):
        y = torch.tanh(y * x[:n].sum(1)) + y
    return y * 3


def reads_for_a_branch_before_a_write(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = x * w
    first, total = torch.tanh(y[0]), w
    for i in range(n):
        total = total + torch.tanh(y[i % 4])
    chosen = torch.sigmoid(y[2]) if n > 1 else y[1] * 2
    y.mul_(2)
    if n % 4 == 0:
        return first * total * chosen, y
    return y[1], y


def reads_for_a_branch_before_a_list_changes(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps, total = [], w
    for i in range(n + 1):
        steps.append(x[i % 4] * w)
    for i in range(n):
        total = total + torch.tanh(steps[-1] * i)
    steps.append(w * 3)
    if n % 4 == 0:
        return total * w
    return steps[-1] * steps[0]


FUNCTIONS = [
    *CHANGES_OF_LISTS, *CARRIED_LISTS, *PASSED_LISTS, *TABLES, *TRIES, reads_for_a_branch_before_a_write,
    reads_for_a_branch_before_a_list_changes, starts_in_a_branch, reads_tuples, reads_items_of_several_kinds,
    grows_by_broadcasting, slices_what_a_loop_carries, returns_a_list_twice,
    straight, counted, left_by_break, left_by_return, added_in_place_until_returned, returned_in_front_of_a_write,
    halted_in_turns, skips, nested, down_a_range, starts_as_none, writes_rows, writes_by_masks,
    writes_behind_views_that_are_dead, adds_to_slices, adds_in_place, writes_in_a_branch, scales_parts_in_place,
    writes_by_tensors_of_indices, reads_rows, list_of_steps, returns_a_list, returns_a_dict, stops_gradients,
    writes_without_gradients, keeps_without_gradients, carries_without_gradients,
    carries_a_part_of_itself, leaves_with_parts, guarded, guarded_by_branches_in_branches, guarded_in_a_loop, guarded_loop,
]  # fmt: skip


class Elman(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.i2h, self.h2o = nn.Linear(9, 5), nn.Linear(5, 3)

    def forward(self, xs: Tensor) -> tuple[Tensor, Tensor]:
        hidden, outs = torch.zeros(xs.shape[1], 5), []
        for x in xs:
            hidden = torch.tanh(self.i2h(torch.cat([x, hidden], 1)))
            outs.append(self.h2o(hidden))
        return torch.stack(outs), hidden


class Lstm(nn.Module):
    def __init__(self, units: int = 5) -> None:
        super().__init__()
        self.x, self.u, self.units = nn.Linear(4, 4 * units), nn.Linear(units, 4 * units, bias=False), units

    def forward(self, xs: Tensor) -> Tensor:
        h = c = torch.zeros(xs.shape[1], self.units)
        outs = []
        for t in range(xs.shape[0]):
            i, f, g, o = (self.x(xs[t]) + self.u(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs.append(h)
        return torch.stack(outs)


class Cells(nn.Module):
    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.shape[1], 5)
        for x in xs.unbind(0):
            h = self.cell(x, h)
        return h


class Listed(nn.Module):
    """Has params whose names are indices."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(4), torch.randn(4)])

    def forward(self, xs: Tensor) -> Tensor:
        for weight in self.weights:
            xs = torch.tanh(xs * weight)
        return xs


MODULES = {
    "Elman": Elman, "Lstm": Lstm, "Listed": Listed,
    "RNNCell": lambda: Cells(nn.RNNCell(4, 5)), "GRUCell": lambda: Cells(nn.GRUCell(4, 5)),
    "nn.RNN": lambda: nn.RNN(4, 5), "nn.LSTM": lambda: nn.LSTM(4, 5, 2), "nn.GRU": lambda: nn.GRU(4, 5, 2),
    "nn.Linear": lambda: nn.Linear(4, 3),
}  # fmt: skip
