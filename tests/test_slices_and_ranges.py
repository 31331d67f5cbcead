"""Bounds of slices and indices that are no ints, and `in range(...)` of values that are no ints."""

from __future__ import annotations

from pathlib import Path

import torch
from expressions import agree_on
from statements import statements

# b is 2.5 and s a string, which the compiler does not know.
SLICES = """
    [x, x][:N] | (x, x)[N:] | [*range(5)][::N] | x[:N] | x[0][N:] | list(range(3)[:N]) | list(range(n)[:N]) | [n][N:]
    "abc"[:N]
    xs = [x, x]; xs[:N] = []; xs | xs = [x, x]; del xs[N:]; xs | y = x.clone(); y[:N] = 0; y | [x, x][::-1][:N]
    ([n] * n)[:N]
"""
MEMBERS = """
    s in range(n) | s in range(6, 1, -3) | None in range(n) | (1,) in range(n) | [n] in range(3) | 3 in range(n)
    True in range(n) | 2.0 in range(n) | b in range(n) | c in range(3) | c in range(n) | 2 + 1j in range(n) | {1: 2} in range(n)
    n + 0j in range(0, 10, 3) | x[0, 0] in range(n) | n in range(0, 100, n) | (s if n > 2 else n) in range(1, 5)
"""
INDICES = """
    [x, 2 * x] * t | t * [x] | (n, n) * t | t * (n, n) | s * t | t * s | "ab" * t | t * "ab" | [n] * t | [] * t | t * ()
    [t, t] * t | xs = [n] * 2; xs *= t; xs | xs = [n] * n; xs.pop(t) | xs = [x] * n; (xs.pop(t), len(xs))
    xs = [n] * n; xs.insert(t, 1); xs
    xs = [n] * n; xs.clear(); xs.pop(t) | xs = [n] * n; xs.pop(2.5) | xs = [n] * n; xs.pop(s) | xs = [n] * n; del xs[t]; xs
"""
TENSORS = (1, -7, [[True]], [1, 0], 1.5)


def test_bounds_of_slices_are_ints(lasting_path: Path) -> None:
    given = {"x": torch.ones(2, 3), "n": 3, "b": 2.5, "s": "ab"}
    for bound in ("2.5", "b", "s", "True", "None"):
        agree_on([way.replace("N", bound) for way in statements(SLICES)], given, lasting_path, messages=True)


def test_tensors_are_indices(lasting_path: Path) -> None:
    for t in map(torch.tensor, TENSORS):
        agree_on(statements(INDICES), {"x": torch.ones(2, 3), "n": 3, "s": "ab", "t": t}, lasting_path, messages=True)


def test_members_of_ranges(lasting_path: Path) -> None:
    for n in (2, 4):
        given = {"x": torch.ones(2, 3), "n": n, "b": 2.5, "c": 1 + 0j, "s": "ab"}
        agree_on(statements(MEMBERS), given, lasting_path)
