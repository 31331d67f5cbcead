"""Tensors to the power of a number, which eager takes apart where it is 0, 1, 2, 3, a half or the negative of one, however the
program comes to know it."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from statements import agree, module_of
from three_ways import call

EXPONENTS = (0.5, -0.5, 2.0, -2.0, 3.0, -1.0, 0.0, 1.0, 2.5, 2, 3, -1, -2, 0, 1, 4)
VALUES = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, math.inf, -math.inf, math.nan, 1e-40, -3.0, 1e30])
TENSORS = (VALUES, VALUES.double(), VALUES.half(), VALUES.bfloat16(), torch.tensor([1 + 1j, 0j, -2 + 0j]))


def powers(x, d, h, q, z, e):
    return x**e, d**e, torch.pow(h, e), q.pow(e), z**e, torch.float_power(x, e)


def test_powers_of_numbers_known_at_run_time() -> None:
    agree(powers, [call(*TENSORS, e) for e in EXPONENTS])


def test_powers_of_known_numbers(lasting_path: Path) -> None:
    bodies = [f"    y.append((x**({e}), d**({e}), h**({e}), q**({e}), z**({e})))\n" for e in EXPONENTS]
    module = module_of(f"def powers(x, d, h, q, z):\n    y = []\n{''.join(bodies)}    return y\n", lasting_path)
    agree(module.powers, [call(*TENSORS)])


def whole(i, b):
    return i**0, i**1, i**2, i**0.5, b**True, b**False, b**2


def test_powers_of_integers_and_bools() -> None:
    agree(whole, [call(torch.tensor([0, 1, -1, 7]), torch.tensor([True, False]))])
