"""Values of one of several kinds where torch, subscripts, loops and unpacking take them: above all ranks that sizes decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from language.cases import cases

MATRIX, CUBE = torch.ones(2, 3), torch.ones(1, 2, 3)
VECTOR = torch.arange(3.0)


@cases((MATRIX, CUBE), (MATRIX, torch.ones(3, 2, 3)), (MATRIX, torch.ones(1, 0)), (MATRIX, torch.ones(1, 4)))
def joined_with_what_may_have_another_rank(x, y):
    parts = [x]
    parts.append(y.squeeze(0))
    return torch.cat([x, y.squeeze(0)], 1), torch.cat(parts, 1)


@cases((MATRIX, CUBE), (MATRIX, torch.ones(3, 2, 3)))
def stacked_with_what_may_have_another_rank(x, y):
    return torch.stack((x, y.squeeze(0)))


@cases((MATRIX, 3), (torch.ones(3, 1), 2), (torch.ones(3, 1), 0), (torch.ones(3, 0), 2))
def joined_behind_a_loop(x, n):
    found, begun = [], [torch.tensor([])]
    for t in range(n):
        found.append(x[t : t + 1].squeeze(1))
        begun += [x[t : t + 1].squeeze(1)]
    return torch.cat(begun), torch.hstack(found), torch.stack(found, -1)


@cases((torch.ones(2), 1), (torch.ones(2), 2), (torch.ones(0), 2), (torch.ones(0), 0))
def joined_vectors_and_matrices(x, n):
    found = []
    for t in range(n):
        found.append(x if t > 0 else x.unsqueeze(0))
    return torch.cat(found, -1)


@cases((torch.randn(3, 2), 3), (torch.randn(3, 2), 2), (torch.randn(3, 2), 0), (torch.randn(0, 2), 0))
def joined_places_that_a_loop_fills(x, n):
    outs = [None] * x.size(0)
    for t in range(n):
        outs[t] = x[t] * t
    return torch.stack(outs, 1), torch.cat(outs), outs


@cases((torch.randn(3, 1, 2), 3), (torch.randn(3, 2, 2), 2), (torch.randn(3, 2, 2), 3), (torch.randn(0, 2, 1), 0))
def joined_places_of_several_ranks(x, n):
    outs = [None for _ in range(x.size(0))]
    for t in range(n):
        outs[t] = x[t].squeeze(0)
    return torch.cat(outs, 0)


@cases(*range(8))
def nothing_to_join(n):
    xs = [torch.ones(2)] * (n - 7)
    join = [torch.cat, torch.stack, torch.hstack, torch.vstack, torch.dstack, torch.column_stack]
    return join[n]([]) if n < 6 else torch.hstack(xs) if n < 7 else torch.cat(xs)


@cases((torch.ones(2, 2), torch.ones(1, 2, 3)), (torch.ones(2, 2), torch.ones(1, 3)))
def pieces_of_what_may_have_another_rank(x, h):
    h = h.squeeze(0)
    a, b, c = h.chunk(3, -1)
    found = torch.zeros(())
    for row in h.unbind(0):
        found = found + row.sum()
    return a + b, found, h.chunk(3, -1), [p.mean() for p in h.split(1)]


@cases((torch.randn(4), 0), (torch.randn(4), 1), (torch.randn(4), 2), (torch.randn(0), 2))
def tuples_of_several_ranks(x, n):
    found: tuple[Tensor, ...] = ()
    for i in range(n):
        found = x.split(1) if i % 2 == 0 else x.unsqueeze(0).chunk(2, 1)
    return len(found), found


@cases((torch.randn(2, 3), 0), (torch.randn(2, 3), 2))
def tuples_of_several_lengths_beside_tensors(x, n):
    found = [(1, 2), (1, 2, n), x, x[0], "a"]
    for i in range(n):
        found.append(str(i))
    return found


class LastState(nn.Module):
    """The state of a layer over time goes on into a cell."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(2, 3, batch_first=True)
        self.decoder = nn.GRUCell(2, 3)

    def forward(self, x, n):
        states, hidden = self.encoder(x)
        hidden = hidden.squeeze(0)
        rows, taken = torch.arange(x.size(0)), []
        step = x[:, 0]
        for _ in range(n):
            hidden = self.decoder(step, hidden)
            at = (states * hidden.unsqueeze(1)).sum(-1).argmax(1)
            taken.append(at)
            step = x[rows, at]
        return torch.stack(taken, 1), hidden


torch.manual_seed(0)
cases((torch.randn(2, 4, 2), 3), (torch.randn(1, 1, 2), 1))(LastState())


class StepByStep(nn.Module):
    """A layer over time that is given one step at a time."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(4, 4, num_layers=2)

    def forward(self, x, n):
        state, out = None, x
        for _ in range(n):
            y, state = self.layer(torch.cat([out, x], 1).unsqueeze(0), state)
            out = y.squeeze(0)[:, :2]
        return out, state


cases((torch.randn(3, 2), 3), (torch.randn(1, 2), 1))(StepByStep())


@cases(([1, 2, 3], 1, MATRIX), ([1, 2, 3], 2, MATRIX), ([1, 2, 3], 3, MATRIX), ([], 3, torch.ones(0, 2)))
def walked_sequences_of_several_kinds(xs, n, x):
    found, total = 0, torch.zeros(())
    for v in xs if n > 1 else (n,):
        found += v
    for v in (1, 2) if n > 2 else (n, 3, 4):
        found += v
    rows = x if n > 2 else x.unbind(0)
    for i, row in enumerate(rows):
        total = total + row.mean() * i
    return found, total, [row * 2 for row in rows]


@cases(([1, 2, 3], 1), ([1, 2, 3], 2), ([1, 2, 3], 3), ([1, 2, 3], 9))
def one_of_several_grows_while_it_is_walked(xs, n):
    ys = [1, 2] if n > 1 else xs
    zs = ys if n > 2 else (4, 5)
    found = 0
    for z in zs:
        found += z
        if len(ys) < 5 and n < 9:
            ys.append(z + 1)
    return found, ys, zs


@cases((CUBE, 1), (torch.ones(2, 2), 0), (torch.ones(2, 2), 2), (torch.ones(1, 3), 2), (torch.ones(1), 2))
def unpacked_sequences_of_several_kinds(x, n):
    a, b = x.squeeze(0).unbind(0)
    c, d = (a, b) if n > 1 else (a, b, b)[: n + 1]
    return a, b, c, d


@cases((torch.randn(3, 4), 0), (torch.randn(3, 4), 1), (torch.randn(3, 4), 2, 1), (torch.randn(1, 4), 3, 0))
def indices_of_several_kinds(x, n, m=None):
    end = None if n == 0 else n
    rows = torch.arange(x.size(0))
    y = x[:, :end] + 0
    y[:, end:] = 7
    i = rows if n < 2 else rows.unsqueeze(1)
    z = x[i, 0]
    y[i, 0] = 3.0
    xs = [1, 2, 3, 4][: n + 3]
    ys = xs[end:] + xs[:m]
    xs[end:] = [9]
    return y, z, ys, xs, x[..., m:]


@cases((torch.ones(6), 1), (torch.ones(6), 2))
def starred_arguments_of_several_kinds(x, n):
    most = max(*((1, 2, 3) if n > 1 else (4, 5)))
    return x.view(*((2, 3) if n > 1 else (6,))), torch.zeros(*((2,) if n > 1 else (1, 2))), most


@cases((torch.ones(2, 1), torch.ones(1, 1)), (torch.ones(1, 1), torch.ones(3, 2)))
def composite_functions_of_what_may_have_another_rank(x, y):
    x, y = x.squeeze(), y.squeeze()
    a, b = torch.broadcast_tensors(x, y)
    return a + 1, b + 1, torch.zeros(*x.size()), y.view(*y.shape, 1), torch.Size(x.shape).numel()


@cases(1, 2)
def empty_one_of_several_walked(n):
    found = 0
    for v in () if n > 1 else (n, n):
        found += v
    for v, w in zip((1, 2, 3) if n > 1 else (4,), [5, 6], strict=False):
        found += v * w
    for v in reversed((1, 2, 3) if n > 1 else (4,)):
        found = found * 10 + v
    return found


@dataclass
class Hypothesis:
    score: float
    tokens: list[int]
    state: tuple[Tensor, Tensor]


# Behind items that differ nothing is compared, and what is one object is equal to itself.
@cases((3, torch.ones(3)), (2, torch.ones(1)), (1, torch.ones(3)))
def found_among_hypotheses(n, x):
    hypotheses = [Hypothesis(0.5 * i, [i], (x * i, x)) for i in range(n)]
    best = max(hypotheses, key=lambda h: h.score / len(h.tokens))
    place = hypotheses.index(best)
    hypotheses.remove(best)
    return place, [h.score for h in hypotheses], best in hypotheses


@cases((3, torch.ones(3)), (2, torch.ones(1)))
def tuples_with_tensors_compared(n, x):
    pairs = [(float(i), x, [i]) for i in range(n)]
    last = pairs[-1]
    pairs.remove(last)
    return len(pairs), (1, x) == (1, x), (1, x) == (2, x + 0), last in pairs, (1, x, 2) < (1, x, 3), ("a", x) != ("b", x)


@cases((torch.ones(3),))
def equal_tuples_of_other_tensors(x):
    return (1, x) == (1, x + 0)


_PARTS = (torch.empty(0), torch.ones(2), torch.ones(2, 3), torch.ones(1, 3))


@cases(*((a, b, way) for a in _PARTS for b in _PARTS for way in range(4)))
def joined_with_empty_vectors(a, b, way):
    """cat passes over them, whatever the dim; the others have to fit."""
    try:
        if way == 0:
            return torch.cat((a, b), 1)
        if way == 1:
            return torch.cat([b, a], dim=-2)
        return torch.cat((a, b)) if way == 2 else torch.cat([a, b, a], 2)
    except (IndexError, RuntimeError) as e:
        return type(e).__name__


class Cache(NamedTuple):
    window: Tensor
    state: Tensor


@cases((torch.ones(1, 3), 3, 2), (torch.ones(1, 3), 5, 2), (torch.ones(2, 3), 2, 1))
def records_whose_fields_have_several_ranks(x, n, m):
    caches = []
    for _ in range(m):
        caches.append(None if n > 3 else Cache(x.squeeze(), x))
    for _ in range(n):
        for k in range(m):
            if caches[k] is None:
                caches[k] = Cache(x, x + 1)
    return [c.state for c in caches], [c.window for c in caches]

@cases(([VECTOR], VECTOR), ([], VECTOR), ([VECTOR, VECTOR], VECTOR))
def what_torch_takes_of_some_kinds_alone(xs, y):
    return torch.maximum(sum(xs), y)

@cases(([VECTOR], VECTOR), ([], VECTOR), ([VECTOR, VECTOR], VECTOR))
def what_torch_takes_of_some_kinds_where_nobody_reads_it(xs, y):
    total = sum(xs)
    if y is not None:
        torch.outer(y, total)
    return len(xs)


@cases((VECTOR, 3, [1]), (VECTOR, 0, []))
def classes_as_attributes(x, n, xs):
    kinds = [x.__class__ is Tensor, n.__class__ is int, (1, 2).__class__ is tuple, "ab".__class__ is str, {}.__class__ is dict]
    try:
        if n:
            raise KeyError(n)
        raise ValueError("none")
    except (KeyError, ValueError) as e:
        name = e.__class__.__name__
    names = x.__class__.__name__, x.shape.__class__.__name__, (x, 1).__class__.__name__
    return kinds, name, xs.__class__(xs), n.__class__(2.5), names
