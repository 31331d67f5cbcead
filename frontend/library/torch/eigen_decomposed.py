"""Symmetric eigenvalues, singular values, and ranks and pseudo-inverses by them."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.linalg_decomposed import (
    NAMES,
    are_floating,
    are_matrices,
    are_square,
    computed,
    failed,
)

_FLOATS = (torch.float32, torch.float64)


def _eigh(A: Tensor, vectors: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return eigenvalues and vectors (if asked for) of the lower triangle, and 0 for success."""
    raise NotImplementedError  # an op, as is _svd


def _svd(A: Tensor, vectors: bool, full: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    raise NotImplementedError


# ---- symmetric eigenvalues ----


def _symmetric(A: Tensor, UPLO: str, vectors: bool) -> tuple[Tensor, Tensor]:
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    are_square(A, "linalg.eigh")
    computed(A, "linalg_eigh_cpu")
    values, turned, info = _eigh(A.mT if UPLO in ("U", "u") else A, vectors)
    if torch.any(info):
        where, code = failed(info)
        raise torch.linalg.LinAlgError(
            f"linalg.eigh: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too "
            f"many repeated eigenvalues (error code: {code})."
        )
    return values, turned


@decomposes("torch.linalg.eigh")
def eigh(A: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    return torch.return_types.linalg_eigh(_symmetric(A, UPLO, True))


@decomposes("torch.linalg.eigvalsh")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    return _symmetric(A, UPLO, False)[0]


# ---- singular values ----


def _not_found(info: Tensor) -> NoReturn:
    where, code = failed(info)
    if code == -4:
        raise torch.linalg.LinAlgError(
            f"linalg.svd: {where}The algorithm failed to converge because the input matrix contained non-finite values."
        )
    raise torch.linalg.LinAlgError(
        f"linalg.svd: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        f"repeated singular values (error code: {code})."
    )


def _parts(A: Tensor, vectors: bool, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    are_matrices(A, "linalg.svd")
    are_floating(A, "linalg.svd")
    computed(A, "linalg_svd_cpu")
    U, S, Vh, info = _svd(A, vectors, full)
    if torch.any(info):
        _not_found(info)
    return U, S, Vh


def _no_driver(driver: str | None, function: str) -> None:
    if driver is not None:
        raise RuntimeError(f"{function}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


@decomposes("torch.linalg.svd")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    _no_driver(driver, "torch.linalg.svd")
    return torch.return_types.linalg_svd(_parts(A, True, full_matrices))


@decomposes("torch.linalg.svdvals")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    _no_driver(driver, "torch.linalg.svd")
    return _parts(A, False, False)[1]


@decomposes("torch.svd", "Tensor.svd")
def svd_of(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    if input.dim() < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.dim()} dimensions instead")
    U, S, Vh = _parts(input, compute_uv, not some)
    if compute_uv:
        return torch.return_types.svd((U, S, Vh.mT))
    m, n = input.size(-2), input.size(-1)
    none = (torch.zeros(*input.shape[:-2], m, m, dtype=S.dtype), torch.zeros(*input.shape[:-2], n, n, dtype=S.dtype))
    return torch.return_types.svd((none[0], S, none[1]))


# ---- ranks and inverses by them ----


def limit(S: Tensor, A: Tensor, atol: float | Tensor | None, rtol: float | Tensor | None) -> Tensor:
    """Return the limit [..., 1] above which singular values or magnitudes count."""
    eps = torch.finfo(A.dtype).eps * max(A.size(-2), A.size(-1))
    highest = torch.amax(S, -1, keepdim=True) if S.size(-1) > 0 else torch.zeros(*S.shape[:-1], 1, dtype=S.dtype)
    if rtol is None:
        if atol is None:
            return highest * eps
        given = atol.unsqueeze(-1) if isinstance(atol, Tensor) else torch.full((1,), atol, dtype=S.dtype)
        return torch.maximum(given, torch.where(given > 0, 0.0, eps) * highest)
    relative = (rtol.unsqueeze(-1) if isinstance(rtol, Tensor) else rtol) * highest
    if atol is None:
        return relative
    given = atol.unsqueeze(-1) if isinstance(atol, Tensor) else torch.full((1,), atol, dtype=S.dtype)
    return torch.maximum(given, relative)


@decomposes("torch.linalg.matrix_rank")
def matrix_rank(
    A: Tensor, tol: float | Tensor | None = None, hermitian: bool = False, *, atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Tensor:  # fmt: skip
    are_matrices(A, "torch.linalg.matrix_rank", "input")
    if A.dtype not in _FLOATS and not A.is_complex():
        raise RuntimeError("This function doesn't handle types other than float and double")
    S = torch.abs(torch.linalg.eigvalsh(A)) if hermitian else torch.linalg.svdvals(A)
    least = limit(S, A, atol, rtol) if tol is None else limit(S, A, tol, 0.0)
    return torch.sum(S > least, -1)


@decomposes("torch.linalg.pinv", "torch.linalg_pinv")
def pinv(
    A: Tensor, rcond: float | Tensor | None = None, hermitian: bool = False, *, atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Tensor:  # fmt: skip
    if A.dim() < 2 or (A.dtype not in _FLOATS and not A.is_complex()):
        raise RuntimeError(
            f"linalg.pinv({NAMES[A.dtype]}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    return _PseudoInverse.apply(A, hermitian, atol, rtol if rcond is None else rcond)


class _PseudoInverse(torch.autograd.Function):
    """A pseudo-inverse, whose gradient is finite where that of singular values is not, as they are equal."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, hermitian: bool, atol: float | Tensor | None, rtol: float | Tensor | None) -> Tensor:
        if hermitian:
            values, V = torch.linalg.eigh(A)
            kept = torch.abs(values) > limit(torch.abs(values), A, atol, rtol)
            result = torch.matmul(V * torch.where(kept, 1 / values, 0.0).unsqueeze(-2), V.mT)
        else:
            U, S, Vh = torch.linalg.svd(A, full_matrices=False)
            inverse = torch.where(S > limit(S, A, atol, rtol), 1 / S, 0.0)
            result = torch.matmul(Vh.mT * inverse.unsqueeze(-2), U.mT)
        ctx.save_for_backward(A, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        A, result = ctx.saved_tensors
        adjoint, flipped = result.mH, grad.mH
        if A.size(-2) <= A.size(-1):
            K = flipped @ result
            L = K @ adjoint
            return L - (result @ K).mH - A @ result @ L + adjoint @ result @ (flipped - K @ A), None, None, None
        K = result @ flipped
        L = adjoint @ K
        return L - (K @ result).mH - L @ result @ A + (flipped - A @ K) @ result @ adjoint, None, None, None


@decomposes("torch.pinverse", "Tensor.pinverse")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    return torch.linalg.pinv(input, rcond)
