"""Functions with lists of lists of tensors, whose gradients the tests compare with eager's."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Sequence = list[Tensor]


def warped(x: Tensor, w: Tensor, n: int) -> Tensor:
    """Soft dynamic time warping."""
    costs = torch.cdist(x.repeat(3, 1)[:n], x * w) ** 2
    table = [[torch.tensor(1e4)] * (len(x) + 1) for _ in range(n + 1)]
    table[0][0] = torch.zeros(())
    for i in range(1, n + 1):
        for j in range(1, len(x) + 1):
            found = torch.stack([table[i - 1][j - 1], table[i - 1][j], table[i][j - 1]])
            table[i][j] = costs[i - 1, j - 1] - torch.logsumexp(-found, 0)
    return table[n][len(x)] + w.sum()


def rows_of_vectors(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[j] * (i + j) for j in range(3)] for i in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, 3):
            table[i][j] = torch.tanh(table[i - 1][j] + table[i][j - 1] * table[i - 1][j - 1]) * w
    return table[n][2]


def a_triangle(x: Tensor, w: Tensor, n: int) -> Tensor:
    table: list[Sequence] = []
    for i in range(n + 1):
        table.append([])
        for j in range(i + 1):
            table[i].append(x[j % 4] * (table[i - 1][j] if i > 0 and j < i else w))
    return torch.stack([item for row in table for item in row])


def places_from_the_end(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[0], x[1]]]
    for _ in range(n):
        row = table[-1]
        table.append([row[-1] * w, row[-2].sin()])
        row[0] = row[1] * 2
        table[-2][-1] = table[-1][0]
    return torch.stack([torch.stack(row) for row in table])


def changed_in_branches(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[j] for j in range(3)] for _ in range(4)]
    for i in range(n):
        if i % 3 == 0:
            table[1][i % 3] = table[0][1].sin()
        elif i % 3 == 1:
            table.append([w * i])
        else:
            table[2][0] = table[-1][0] * x[1]
    return table[2][0] + table[1][0] + table[-1][0]


def rows_of_changing_length(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[i] * j for j in range(3)] for i in range(len(x))]
    for i in range(n):
        row = table[i % len(x)]
        row[0] = row[1] * row[2] + w
        row.append(row[0])
        if i % 2:
            row.pop(1)
    return torch.stack([torch.stack(row).prod() for row in table])


def read_before_rows_change(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[i] * 1, x[i] * w] for i in range(4)]
    total = w * 0
    for i in range(4):
        total = total + table[i][0] * table[i][1]
    table[0][0] = table[1][1] * 5
    for i in range(4):
        table[i][1] = table[i][0] * 2
    y = total * 2 if n > 1 else x[0] * table[0][1]
    return y + table[2][1]


def rows_of_constants(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[torch.ones(3)] for _ in range(n + 1)]
    table[n].append(w * 3)
    return table[n][-1] * x


def in_a_checkpoint(x: Tensor, w: Tensor, n: int) -> Tensor:
    def body(y: Tensor) -> Tensor:
        table = [[y[i], y[i] * 2] for i in range(4)]
        for i in range(1, 4):
            table[i][0] = table[i - 1][0] * table[i][1]
        return table[3][0]

    return checkpoint(body, x * w * n, use_reentrant=False)


TABLES = [
    warped, rows_of_vectors, a_triangle, places_from_the_end, changed_in_branches, rows_of_changing_length,
    read_before_rows_change, rows_of_constants, in_a_checkpoint,
]  # fmt: skip


def one_row_several_times(x: Tensor, w: Tensor, n: int) -> Tensor:
    row = [x[i % 4] for i in range(n)]
    table = [row for _ in range(3)]
    table[0][0] = w * 2
    return table[1][0]


def writes_to_what_a_row_holds(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[i], w] for i in range(n)]
    v = x[0] * w
    table[1][0] = v
    v.mul_(2)
    return table[1][0]


def rows_that_a_loop_passes_on(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[i % 4], w] for i in range(n + 1)]
    row = table[0]
    for i in range(n):
        table[i][0] = row[0] * row[1]
        row = table[i]
    return row[0]


def changed_in_a_try(x: Tensor, w: Tensor, n: int) -> Tensor:
    table = [[x[i], w] for i in range(4)]
    try:
        table[1][0] = w * 2
        if n > 2:
            raise ValueError("n is too much")
    except ValueError:
        table[1][1] = w * 3
    return table[1][0] + table[1][1]


REFUSED = [
    (one_row_several_times, r"table\[0\]\[0\]", "a change of a list that may be one of several"),
    (writes_to_what_a_row_holds, "v.mul_", "a write to a tensor that a list holds"),
    (rows_that_a_loop_passes_on, r"table\[i\]\[0\]", "a change of a list that may be one of several"),
    (changed_in_a_try, r"table\[1\]\[0\]", "a write in a `try`"),
]
