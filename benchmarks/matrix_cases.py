"""The part of `python -m benchmarks ops` that factors matrices, of sizes from those of filters to those of small models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

SIZES = (4, 32, 256)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inv": lambda a, b: torch.linalg.inv(a),
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "solve, one right side": lambda a, b: torch.linalg.solve(a, b[:, 0]),
    "det": lambda a, b: torch.linalg.det(a),
    "lu_factor": lambda a, b: torch.linalg.lu_factor(a),
    "cholesky": lambda a, b: torch.linalg.cholesky(a),
    "cholesky_solve": lambda a, b: torch.cholesky_solve(b, a),
    "solve_triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=True),
    "qr": lambda a, b: torch.linalg.qr(a),
    "eigvalsh": lambda a, b: torch.linalg.eigvalsh(a),
    "svdvals": lambda a, b: torch.linalg.svdvals(a),
    "matrix_exp": lambda a, b: torch.linalg.matrix_exp(a),
}


def matrices() -> dict[str, torch.Tensor]:
    """Return matrices by the names that cases use: positive definite ones, and right sides of the same width."""
    g = torch.Generator().manual_seed(0)
    found = {}
    for n in SIZES:
        x = torch.randn(n, n, generator=g)
        found[f"positive{n}"] = x @ x.mT / n + torch.eye(n)
        found[f"sides{n}"] = torch.randn(n, n, generator=g)
    return found
