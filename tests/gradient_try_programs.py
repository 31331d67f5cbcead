"""Functions with `try`, whose gradients the tests compare with eager's."""

from __future__ import annotations

import torch
from gradient_list_programs import Sequence, weighed
from torch import Tensor


def catches_an_index(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    try:
        y = torch.tanh(x[n] * w)
    except IndexError:
        y = x[0] * 3
    z = w * 2
    try:
        z = torch.tanh(x[n + 3] * y)
    except IndexError:
        pass
    return y * w, z


def returns_from_a_try(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    try:
        return torch.linalg.inv(x[:n] * w), x * 2
    except RuntimeError:
        return x[:3] * w, w * x


def goes_on_behind_a_try(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = w * 1
    for i in range(n + 3):
        try:
            h = torch.tanh(h * x[i])
        except IndexError:
            h = h * 0.5
            continue
        h = h + 1
    return h


def breaks_from_a_try(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = w * 1
    for i in range(n + 3):
        try:
            h = torch.tanh(h * x[i])
        except IndexError:
            break
        h = h * 1.5
    return h


def raises_in_a_loop_of_a_try(x: Tensor, w: Tensor, n: int) -> Tensor:
    h, rows = w * 1, [0, 1, 5, 2, 7, 1, 0]
    for i in range(n + 3):
        try:
            g = h * 1
            for k in range(rows[i]):
                g = torch.tanh(g * x[k]) + g
                if k > 1:
                    g = g.sigmoid()
        except IndexError:
            g = h * 2
        h = h + g.sin()
    return h


def nests_tries(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = w * 1
    for i in range(n + 3):
        try:
            try:
                g = torch.tanh(h * x[i])
                for k in range(3):
                    g = torch.sin(g * x[k + i])
            except ValueError:
                g = w * 1
        except IndexError:
            try:
                g = torch.sin(x[i] * h)
            except IndexError:
                g = h * 0.3
        h = h + g
    return h


def tries_finally(x: Tensor, w: Tensor, n: int) -> Tensor:
    h, count = w * 1, 0
    for i in range(n + 3):
        try:
            h = torch.tanh(h * x[i])
            if i > 2:
                return h * count
        except IndexError:
            h = h * 0.5
        else:
            h = h + x[0]
        finally:
            count += 1
    return h * count


def appends_in_a_try(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    steps = [w * 1]
    for i in range(n + 2):
        try:
            steps.append(torch.tanh(x[i] * steps[-1]))
        except IndexError:
            steps[0] = steps.pop() * steps[0]
            steps.append(w * i)
    return weighed(steps), steps


def tries_without_a_value(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    y = None
    try:
        y = torch.tanh(x[n] * w)
        z = y * 2
    except IndexError:
        pass
    if n < 3:
        return z * w, y * 2
    return w * 1, w if y is None else y * x[0]


def writes_to_its_own_in_a_try(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = x * w
    try:
        h = w * 1
        h.mul_(y[0])
        z = y[n] * h
    except IndexError:
        z = y[1].cos()
    return z * y[2]


def appends_before_a_try_raises(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps = [w * 1]
    for i in range(n + 4):
        try:
            steps.append(steps[-1] * 2)
            steps.append(torch.tanh(x[i] * steps[-1]))
        except IndexError:
            steps.append(steps[-1] * 0.5)
    return steps[-1]


def writes_before_a_try_raises(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = w * 1
    try:
        h.mul_(2)
        y = x[n] * h
    except IndexError:
        y = h * 1
    return y * h


def sets_before_a_try_raises(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = w * 2
    try:
        y = y * w
        y = torch.tanh(x[n] * y)
    except IndexError:
        y = y * 3
    return y * x[0]


TRIES = [
    catches_an_index, returns_from_a_try, goes_on_behind_a_try, breaks_from_a_try, raises_in_a_loop_of_a_try, nests_tries,
    tries_finally, appends_in_a_try, tries_without_a_value, writes_to_its_own_in_a_try,
]  # fmt: skip

# programs that are refused, with a part of the line and of the reason
REFUSED = [
    (appends_before_a_try_raises, "steps.append", "a write in a `try`, which may raise later"),
    (writes_before_a_try_raises, "h.mul_", "a write in a `try`, which may raise later"),
    (sets_before_a_try_raises, "try:", "a variable that a `try` sets before it may raise"),
]
