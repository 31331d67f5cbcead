"""Functions whose loops carry lists of known length, whose gradients the tests compare with eager's."""

from __future__ import annotations

import torch
from torch import Tensor

Sequence = list[Tensor]


def cell(x: Tensor, h: Tensor, w: Tensor) -> Tensor:
    return torch.tanh(x + h * w)


def made_by_append(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    states, outs = [x[0] * 0, w * 2], [w]
    for i in range(n):
        y, new = x[i % 4], []
        for k, state in enumerate(states):
            y = cell(y, state, w * (k + 1))
            new.append(y)
        states = new
        outs.append(y)
    return torch.stack(outs), states


def made_by_a_comprehension(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], x[1] * w]
    for i in range(n):
        states = [cell(x[i % 4], s, w) for s in states]
    return torch.cat(states)


def zipped_with_factors(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], x[1] * w, w]
    for i in range(n):
        states = [cell(x[i % 4], s, f) for s, f in zip(states, (w, w * 2, x[1]), strict=True)]
    return states[0] - states[2]


def pairs(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    states = [(x[k], w * k) for k in (0, 1)]
    y = w
    for i in range(n):
        y, new = x[i % 4], []
        for h, c in states:
            c = c * torch.sigmoid(y) + h
            y = torch.tanh(c) * w
            new.append((y, c))
        states = new
    return y, states


def kept_in_a_branch(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0] * w, x[1]]
    for i in range(n):
        new = [cell(x[i % 4], s, w) for s in states]
        if x[i % 4].sum() > 0:
            states = new
    return states[0] * states[1]


def masked(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], w]
    for i in range(n):
        new = [cell(x[i % 4], s, w) for s in states]
        states = [torch.where(x[i % 4] > 0, a, b) for a, b in zip(new, states, strict=True)]
    return torch.stack(states)


def set_in_place(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], w]
    for i in range(n):
        states = list(states)
        states[0] = cell(x[i % 4], states[1], w)
        states[-1] = states[0] * w
    return states[0] + states[1]


def joined_of_slices(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], w, x[1]]
    for i in range(n):
        for k in (0, 1, 2):
            states = states[:k] + [cell(x[i % 4], states[k], w)] + states[k + 1 :]
    return torch.cat(states)


def turned_around(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], w]
    for i in range(n):
        states = [cell(x[i % 4], s, w) for s in states][::-1]
        states.append(states.pop(0) * 2)
    return states[0] - states[1]


def left_early(x: Tensor, w: Tensor, n: int) -> Sequence:
    states = [x[0], w]
    for i in range(n):
        new = [cell(x[i % 4], s, w) for s in states]
        if new[1].sum() > 1.5:
            return new
        states = new
        if states[0].sum() > 1:
            continue
        states = [s * 2 for s in states]
        if i == 5:
            break
    return states


def none_at_first(x: Tensor, w: Tensor, n: int) -> Tensor:
    states: Sequence | None = None
    for i in range(n):
        if states is None:
            states = [x[0], w]
        states = [cell(x[i % 4], s, w) for s in states]
    return torch.stack(states) if states is not None else w * x


def items_none_at_first(x: Tensor, w: Tensor, n: int) -> Tensor:
    states: list[Tensor | None] = [None] * 2
    for i in range(n):
        states = [cell(x[i % 4], w if s is None else s, w) for s in states]
    return w if states[0] is None or states[1] is None else states[0] * states[1] * w


def compared_with_the_one_before(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = before = [x[0], w]
    change = w.sum() * 0
    for i in range(n):
        new = [cell(x[i % 4], s, w) for s in states]
        change = change + sum((a - b).square().sum() for a, b in zip(new, before, strict=True))
        before, states = states, new
    return change


def in_a_dict(x: Tensor, w: Tensor, n: int) -> Tensor:
    state = {"h": [x[0], w], "sum": w * 0}
    for i in range(n):
        new = [cell(x[i % 4], s, w) for s in state["h"]]
        state = {"h": new, "sum": state["sum"] + new[0]}
    return torch.cat(state["h"]) + state["sum"].sum()


def in_nested_loops(x: Tensor, w: Tensor, n: int) -> Tensor:
    states = [x[0], w]
    for k in range(n % 3 + 1):
        for i in range(n):
            states = [cell(x[i % 4], s, w) for s in states]
        states = [states[1] * k, states[0]]
    return torch.stack(states)


def stored(x: Tensor, w: Tensor, n: int) -> Tensor:
    states, history = [x[0], w], []
    for i in range(n):
        states = [cell(x[i % 4], s, w) for s in states]
        history.append(states)
    return history[-1][0] + history[0][1] if n else w


CARRIED_LISTS = [
    made_by_append, made_by_a_comprehension, zipped_with_factors, pairs, kept_in_a_branch, masked, set_in_place,
    joined_of_slices, turned_around, left_early, none_at_first, items_none_at_first, compared_with_the_one_before, in_a_dict,
    in_nested_loops,
]  # fmt: skip

# programs that are refused, with a part of the line and of the reason
REFUSED = [
    (stored, "history", "a list of other items than tensors"),
]
