"""Least squares, by singular values or by QR."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.library.torch.eigen_decomposed import limit
from scriptc.frontend.library.torch.linalg_decomposed import failed

_NAME = "torch.linalg.lstsq"


@decomposes("torch.linalg.lstsq")
def lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    _check(input, b, driver)
    vector = b.dim() == 1 or (input.dim() - 1 == b.dim() and input.shape[:-1] == b.shape)
    B = b.unsqueeze(-1) if vector else b
    m, n = input.size(-2), input.size(-1)
    if m != B.size(-2):
        raise RuntimeError(f"{_NAME}: input.size(-2) should match other.size({-1 if vector else -2})")
    rank, values = torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=input.dtype)
    if driver == "gels":
        solution, exact = _by_qr(input, B), True
    else:
        U, S, Vh = torch.linalg.svd(input, full_matrices=False)
        kept = S > limit(S, input, None, rcond)
        along = torch.matmul(U.mT, B) * torch.where(kept, 1 / S, 0.0).unsqueeze(-1)
        solution, rank = torch.matmul(along.mT, Vh).mT, torch.sum(kept, -1)
        if driver is None or driver == "gelsy":
            exact = False
        else:
            values, exact = S, bool(torch.all(kept))
    residuals = torch.empty(0, dtype=input.dtype)
    if exact and m > n:
        rest = torch.matmul(input, solution) - B
        residuals = torch.sum(rest * rest, -2)
    if m > n:  # eager returns rows of a matrix of m rows
        more = torch.zeros(*solution.shape[:-2], solution.size(-1), m - n, dtype=input.dtype)
        solution = torch.cat([solution.mT, more], -1).mT.narrow(-2, 0, n)
    if vector:
        solution = solution.squeeze(-1)
    return torch.return_types.linalg_lstsq((solution, residuals, rank, values))


def _check(input: Tensor, b: Tensor, driver: str | None) -> None:
    if input.dim() < 2:
        raise RuntimeError(f"{_NAME}: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(f"{_NAME}: other must have at least 1 dimension.")
    if input.dtype != b.dtype:
        raise RuntimeError(
            f"{_NAME}: Expected input and other to have the same dtype, but got input's dtype {NAMES[input.dtype]} and "
            f"other's dtype {NAMES[b.dtype]}"
        )
    if input.dim() < b.dim() or input.dim() - b.dim() > 1:
        raise RuntimeError(
            f"{_NAME}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{_NAME}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if input.dtype not in (torch.float32, torch.float64) and not input.is_complex():
        raise RuntimeError("This function doesn't handle types other than float and double")


def _by_qr(A: Tensor, B: Tensor) -> Tensor:
    """Return the least-squares solution for matrices of full rank."""
    if A.size(-2) < A.size(-1):  # the solution of least norm
        Q, R = torch.linalg.qr(A.mT)
        return torch.matmul(torch.linalg.solve_triangular(R.mT, B, upper=False).mT, Q.mT).mT
    Q, R = torch.linalg.qr(A)
    zeros = torch.diagonal(R, 0, -2, -1) == 0
    if torch.any(zeros):
        first = torch.argmax(zeros.to(torch.uint8), -1).to(torch.int32) + 1
        where, code = failed(torch.where(torch.any(zeros, -1), first, 0))
        raise torch.linalg.LinAlgError(
            f"{_NAME}: {where}The least squares solution could not be computed because the input matrix does not have full "
            f"rank (error code: {code})."
        )
    return torch.linalg.solve_triangular(R, torch.matmul(Q.mT, B), upper=True)
