"""Functions in which loops and branches pass on lists of unknown length, whose gradients the tests compare with eager's."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Sequence = list[Tensor]


def row_by_row(x: Tensor, w: Tensor, n: int) -> Tensor:
    """Soft dynamic time warping, of which one row is kept."""
    costs = torch.cdist(x.repeat(3, 1)[:n], x * w) ** 2
    before = [torch.zeros(())] + [torch.tensor(1e4) for _ in range(len(x))]
    for i in range(n):
        row = [torch.tensor(1e4)]
        for j in range(1, len(x) + 1):
            row.append(costs[i, j - 1] - torch.logsumexp(-torch.stack([before[j - 1], before[j], row[j - 1]]), 0))
        before = row
    return before[len(x)] + w.sum()


def label_by_label(x: Tensor, w: Tensor, n: int) -> Tensor:
    """The forward pass of CTC over one sequence."""
    scores = torch.log_softmax(x * w, -1)
    labels = [0, 1, 0, 2, 0][: n + 1]
    paths = [torch.tensor(-1e4) for _ in labels]
    paths[0] = scores[0, 0]
    for t in range(1, len(x)):
        new = []
        for s in range(len(labels)):
            found = [paths[s]]
            if s > 0:
                found.append(paths[s - 1])
            if s > 1 and labels[s] != 0:
                found.append(paths[s - 2])
            new.append(torch.logsumexp(torch.stack(found), 0) + scores[t, labels[s]])
        paths = new
    return torch.stack(paths)


def in_some_iterations(x: Tensor, w: Tensor, n: int) -> Tensor:
    rows = [x[i % 4] * w for i in range(n + 1)]
    for t in range(n):
        if t % 2 == 0:
            rows = [row.sin() * 2 for row in rows]
        elif t % 3 == 0:
            rows = rows[::-1]
    return torch.stack(rows)


def exchanged(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    a, b = [x[i % 4] * 1.0 for i in range(n)], [x[i % 4] * w for i in range(n)]
    for _ in range(n):
        a, b = b, [u + v for u, v in zip(a, b, strict=True)]
    return sum(a, w) * sum(b, w), a


def growing(x: Tensor, w: Tensor, n: int) -> Sequence:
    rows = [x[0]]
    for t in range(n):
        rows = rows + [torch.tanh(rows[-1] * x[t % 4]) * w]
    return rows


def a_growing_tuple(x: Tensor, w: Tensor, n: int) -> Tensor:
    rows: tuple[Tensor, ...] = ()
    for t in range(n):
        rows = rows + (x[t % 4] * w,)
    return torch.stack([*rows, w])


def of_several_sizes(x: Tensor, w: Tensor, n: int) -> Tensor:
    parts = [x[: i % 4 + 1].sum(1) for i in range(n)]
    for _ in range(n):
        parts = [torch.cat([part.sin(), w[:1]]) for part in parts]
    return torch.cat([*parts, w])


def left_by_break(x: Tensor, w: Tensor, n: int) -> Tensor:
    rows = [x[i % 4] for i in range(n + 1)]
    for t in range(9):
        rows = [row.sin() * w for row in rows]
        if t >= n:
            break
        rows = [row * 2 for row in rows]
    return torch.stack(rows)


def left_by_return(x: Tensor, w: Tensor, n: int) -> Sequence:
    rows = [x[i % 4] for i in range(n + 2)]
    for t in range(3):
        rows = [row.sin() * w for row in rows]
        if t == n:
            return rows[1:]
    return rows


def carried_by_nested_loops(x: Tensor, w: Tensor, n: int) -> Sequence:
    rows = [x[i % 4] for i in range(n + 1)]
    for t in range(n):
        for s in range(t):
            rows = [row.sin() * (s + 1) for row in rows]
        rows = [row + w for row in rows]
    return rows


def changed_before_it_is_passed_on(x: Tensor, w: Tensor, n: int) -> Tensor:
    rows = [x[i % 4] for i in range(n + 2)]
    for _ in range(n):
        new = [row.sin() for row in rows]
        new[0] = new[0] * 2
        new.append(new[0] * w)
        new.pop(1)
        new.insert(0, x[0])
        del new[0]
        rows = new
    return torch.stack(rows)


def one_of_two(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    first, second = [x[i % 4].sin() for i in range(n)], [x[i].cos() for i in range(len(x))]
    chosen = first if n > 2 else second
    return sum(chosen, w) * w, first


def in_a_checkpoint(x: Tensor, w: Tensor, n: int) -> Sequence:
    def body(y: Tensor) -> Tensor:
        rows = [y[i % 4] for i in range(n + 1)]
        for _ in range(n):
            rows = [row.sin() * w for row in rows]
        return torch.stack(rows)

    return checkpoint(body, x, use_reentrant=False)


def from_a_list(x: Tensor, w: Tensor, n: int) -> Tensor:
    given = list(x.unbind(0))
    rows = given
    for _ in range(n):
        rows = [row * other for row, other in zip(rows, given, strict=True)]
    return torch.stack(rows) * w


PASSED_LISTS = [
    row_by_row, label_by_label, in_some_iterations, exchanged, growing, a_growing_tuple, of_several_sizes, left_by_break,
    left_by_return, carried_by_nested_loops, changed_before_it_is_passed_on, one_of_two, in_a_checkpoint, from_a_list,
]  # fmt: skip


def changed_behind_a_loop(x: Tensor, w: Tensor, n: int) -> Tensor:
    rows = [x[i % 4] for i in range(n)]
    others = rows
    for _ in range(n):
        others = [row * w for row in others]
    rows.append(w)
    return sum(others, w) + sum(rows, w)


def changed_in_the_next_iteration(x: Tensor, w: Tensor, n: int) -> Tensor:
    rows = [x[i % 4] for i in range(n + 1)]
    for _ in range(n):
        rows[0] = rows[0] * w
        rows = [row * 2 for row in rows]
    return torch.stack(rows)


REFUSED = [
    (changed_behind_a_loop, "rows.append", "a change of a list that may be one of several"),
    (changed_in_the_next_iteration, r"rows\[0\] =", "a change of a list that may be one of several"),
]
