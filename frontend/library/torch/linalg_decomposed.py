"""Factorizations of matrices and systems of equations: shapes and errors here, the arithmetic in ops."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch import complex_lu_decomposed as complex_lu
from scriptc.frontend.library.torch.dtype_names import NAMES

_COMPUTED = (torch.float32, torch.float64)


# ---- ops ----


def _lu(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return both factors in one matrix, pivots counted from 1, and the first zero pivot or 0."""
    raise NotImplementedError  # an op, as are those below


def _lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    raise NotImplementedError


def _triangle(A: Tensor, B: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    raise NotImplementedError


def _cholesky(A: Tensor) -> tuple[Tensor, Tensor]:
    raise NotImplementedError


def _geqrf(A: Tensor) -> tuple[Tensor, Tensor]:
    raise NotImplementedError


def _householder(A: Tensor, tau: Tensor) -> Tensor:
    raise NotImplementedError


# ---- checks of arguments; the ops refuse complex ones ----


def are_matrices(A: Tensor, function: str, name: str = "A") -> None:
    if A.dim() < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")


def are_square(A: Tensor, function: str) -> None:
    are_matrices(A, function)
    if A.size(-1) != A.size(-2):
        raise RuntimeError(
            f"{function}: A must be batches of square matrices, but they are {A.size(-2)} by {A.size(-1)} matrices"
        )


def are_floating(A: Tensor, function: str) -> None:
    if not A.is_floating_point() and not A.is_complex():
        raise RuntimeError(f"{function}: Expected a floating point or complex tensor as input. Got {NAMES[A.dtype]}")


def not_half(A: Tensor, function: str) -> None:
    are_floating(A, function)
    if A.dtype not in _COMPUTED and not A.is_complex():
        raise RuntimeError(f"{function}: Low precision dtypes not supported. Got {NAMES[A.dtype]}")


def computed(A: Tensor, kernel: str) -> None:
    if A.dtype not in _COMPUTED and not A.is_complex():
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[A.dtype]}'")


def _same_dtype(A: Tensor, B: Tensor, function: str, name: str = "A") -> None:
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{function}: Expected {name} and B to have the same dtype, but found {name} of type {NAMES[A.dtype]} "
            f"and B of type {NAMES[B.dtype]} instead"
        )


def _fit(A: Tensor, B: Tensor, left: bool, function: str) -> None:
    are_square(A, function)
    are_matrices(B, function, "B")
    if A.size(-1) != B.size(-2 if left else -1):
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.size(-2)}x{A.size(-1)} and {B.size(-2)}x{B.size(-1)})"
        )


def failed(info: Tensor) -> tuple[str, int]:
    """Return the position of the first code that is not 0, in eager's words, and the code."""
    if info.dim() == 0:
        return "", int(info)
    codes = info.reshape(-1)
    first = int(torch.argmax((codes != 0).to(torch.uint8)))
    return f"(Batch element {first}): ", int(codes[first])


def _singular(info: Tensor, function: str) -> NoReturn:
    where, _ = failed(info)
    raise torch.linalg.LinAlgError(f"{function}: {where}The solver failed because the input matrix is singular.")


def _no_inverse(info: Tensor, function: str) -> NoReturn:
    where, code = failed(info)
    raise torch.linalg.LinAlgError(
        f"{function}: {where}The diagonal element {code} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


def _factored(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if not A.is_complex():
        return _lu(A)
    LU, pivots, info = complex_lu.factor(A)
    return _in_columns(LU), pivots, info


def _substituted(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    if not LU.is_complex():
        return _lu_solve(LU, pivots, B, adjoint)
    return _in_columns(complex_lu.solve(LU, pivots, B, adjoint))


def _substituted_right(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    """Solve X A = B, or X A^H = B, for X."""
    if LU.is_complex():
        return torch.conj_physical(_substituted(LU, pivots, torch.conj_physical(B.mT), not adjoint)).mT
    return _lu_solve(LU, pivots, B.mT, not adjoint).mT


def _in_columns(A: Tensor) -> Tensor:
    """Return the values with LAPACK's strides: columns are contiguous."""
    return A.mT.contiguous().mT


# ---- LU ----


@decomposes("torch.linalg.lu_factor_ex", "torch.linalg_lu_factor_ex")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    if A.dim() < 2:
        raise RuntimeError(f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    computed(A, "lu_cpu")
    LU, pivots, info = _factored(A)
    if check_errors and torch.any(info):
        _zero_pivot(info, "torch.linalg.lu_factor_ex")
    return torch.return_types.linalg_lu_factor_ex((LU, pivots, info))


def _zero_pivot(info: Tensor, function: str) -> NoReturn:
    where, code = failed(info)
    raise RuntimeError(
        f"{function}: {where}U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. "
        "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )


@decomposes("torch.linalg.lu_factor")
def lu_factor(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    LU, pivots, info = torch.linalg.lu_factor_ex(A, pivot=pivot)
    if torch.any(info):
        _zero_pivot(info, "torch.linalg.lu_factor")
    return torch.return_types.linalg_lu_factor((LU, pivots))


@decomposes("torch._lu_with_info")
def lu_with_info(A: Tensor, pivot: bool = True, check_errors: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    return torch.linalg.lu_factor_ex(A, pivot=pivot, check_errors=check_errors)


@decomposes("torch.lu_unpack")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    if unpack_pivots and LU_pivots.dtype != torch.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    P = L = U = torch.empty(0, dtype=LU_data.dtype)
    m, k = LU_data.size(-2), min(LU_data.size(-2), LU_data.size(-1))
    if unpack_pivots:  # exchanged rows of an identity are P^T
        rest = torch.arange(k + 1, m + 1, dtype=torch.int32).expand(*LU_data.shape[:-2], m - k)
        same = torch.eye(m, dtype=LU_data.dtype).expand(*LU_data.shape[:-2], m, m)
        P = _substituted(same, torch.cat([LU_pivots, rest], -1), same, False).mT
    if unpack_data:
        L = torch.tril(LU_data.narrow(-1, 0, k), -1).contiguous() + torch.eye(m, k, dtype=LU_data.dtype)
        U = torch.triu(LU_data.narrow(-2, 0, k)).contiguous()
    return torch.return_types.lu_unpack((P, L, U))


@decomposes("torch.linalg.lu", "torch.linalg_lu")
def lu(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    if A.dim() < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    LU, pivots, _ = torch.linalg.lu_factor_ex(A, pivot=pivot)
    P, L, U = torch.lu_unpack(LU, pivots)
    return torch.return_types.linalg_lu((P, L, U))


@decomposes("torch.linalg.lu_solve")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    are_square(LU, "torch.linalg.lu_solve")
    are_floating(LU, "torch.linalg.lu_solve")
    _same_dtype(LU, B, "linalg.lu_solve", "LU")
    if pivots.dtype != torch.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    _fit(LU, B, left, "linalg.lu_solve")
    if pivots.size(-1) != LU.size(-1):
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    computed(LU, "linalg.lu_solve_cpu")
    return _substituted(LU, pivots, B, adjoint) if left else _substituted_right(LU, pivots, B, adjoint)


@decomposes("torch.lu_solve", "Tensor.lu_solve")
def lu_solve_of(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return torch.linalg.lu_solve(LU_data, LU_pivots, b)


# ---- solutions and inverses ----


@decomposes("torch.linalg.solve_ex", "torch.linalg_solve_ex")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    result, info = _solved(A, B, left)
    if check_errors and torch.any(info):
        _singular(info, "torch.linalg.solve_ex")
    return torch.return_types.linalg_solve_ex((result, info))


def _solved(A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    are_matrices(A, "linalg.solve")
    are_square(A, "linalg.solve")
    _same_dtype(A, B, "linalg.solve")
    are_floating(A, "linalg.solve")
    vector = B.dim() == 1 or (A.dim() - 1 == B.dim() and A.shape[:-1] == B.shape)
    if vector:
        B = B.unsqueeze(-1)
    _fit(A, B, left, "linalg.solve")
    computed(A, "lu_cpu")
    LU, pivots, info = _factored(A)
    result = _substituted(LU, pivots, B, False) if left else _substituted_right(LU, pivots, B, False)
    if vector:
        result = result.squeeze(-1)
        return result if result.dim() == 1 else _in_columns(result), info
    return result, info


@decomposes("torch.linalg.solve")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    result, info = _solved(A, B, left)
    if torch.any(info):
        _singular(info, "torch.linalg.solve")
    return result


def _inverse(A: Tensor) -> tuple[Tensor, Tensor]:
    are_square(A, "linalg.inv")
    not_half(A, "linalg.inv")
    LU, pivots, info = _factored(A)
    return _substituted(LU, pivots, torch.eye(A.size(-1), dtype=A.dtype), False), info


@decomposes("torch.linalg.inv_ex", "torch.linalg_inv_ex")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    inverse, info = _inverse(A)
    if check_errors and torch.any(info):
        _no_inverse(info, "linalg.inv_ex")
    return torch.return_types.linalg_inv_ex((inverse, info))


@decomposes("torch.linalg.inv", "torch.inverse", "Tensor.inverse")
def inv(A: Tensor) -> Tensor:
    inverse, info = _inverse(A)
    if torch.any(info):
        _no_inverse(info, "linalg.inv")
    return inverse


# ---- determinants ----


def _signs(pivots: Tensor) -> Tensor:
    """Return the determinants of the permutations that pivots describe, in int64."""
    swapped = pivots != torch.arange(1, pivots.size(-1) + 1, dtype=torch.int32)
    return 1 - 2 * (torch.sum(swapped, -1) % 2)


@decomposes("torch.linalg.det", "torch.linalg_det", "torch.det", "Tensor.det")
def det(A: Tensor) -> Tensor:
    are_square(A, "linalg.det")
    are_floating(A, "linalg.det")
    computed(A, "lu_cpu")
    LU, pivots, _ = _factored(A)
    return _signs(pivots) * torch.prod(torch.diagonal(LU, 0, -2, -1), -1)


def _sign_and_log(A: Tensor, function: str) -> tuple[Tensor, Tensor]:
    are_square(A, function)
    not_half(A, function)
    LU, pivots, _ = _lu(A)
    diagonal = torch.diagonal(LU, 0, -2, -1)
    return _signs(pivots) * torch.prod(torch.sign(diagonal), -1), torch.sum(torch.log(torch.abs(diagonal)), -1)


@decomposes("torch.linalg.slogdet", "torch.linalg_slogdet")
def slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    return torch.return_types.linalg_slogdet(_sign_and_log(A, "linalg.slogdet"))


@decomposes("torch.slogdet", "Tensor.slogdet")
def slogdet_of(input: Tensor) -> tuple[Tensor, Tensor]:
    return torch.return_types.slogdet(_sign_and_log(input, "linalg.slogdet"))


@decomposes("torch.logdet", "Tensor.logdet")
def logdet(input: Tensor) -> Tensor:
    sign, value = _sign_and_log(input, "logdet")
    return torch.where(sign == -1.0, float("nan"), value)


# ---- Cholesky ----


def _factor(A: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    """Return the Cholesky factor of the upper or lower triangle, and its code."""
    if not upper:
        return _cholesky(A)
    L, info = _cholesky(A.mT)
    return _in_columns(L.mT), info


def _not_positive(info: Tensor, function: str) -> NoReturn:
    where, code = failed(info)
    raise torch.linalg.LinAlgError(
        f"{function}: {where}The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {code} is not positive-definite)."
    )


@decomposes("torch.linalg.cholesky_ex", "torch.linalg_cholesky_ex")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    are_square(A, "linalg.cholesky")
    are_floating(A, "linalg.cholesky")
    computed(A, "cholesky_cpu")
    L, info = _factor(A, upper)
    if check_errors and torch.any(info):
        _not_positive(info, "linalg.cholesky_ex")
    return torch.return_types.linalg_cholesky_ex((L, info))


@decomposes("torch.linalg.cholesky")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    L, info = torch.linalg.cholesky_ex(A, upper=upper)
    if torch.any(info):
        _not_positive(info, "linalg.cholesky")
    return L


@decomposes("torch.cholesky", "Tensor.cholesky")
def cholesky_of(input: Tensor, upper: bool = False) -> Tensor:
    are_square(input, "cholesky")
    computed(input, "cholesky_cpu")
    L, info = _factor(input, upper)
    if torch.any(info):
        _not_positive(info, "cholesky")
    return L


def _by_cholesky(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    """Solve with a Cholesky factor: with one triangle, then with its transpose."""
    between = _triangle(L.mT, B, False, False) if upper else _triangle(L, B, False, False)
    return _triangle(L, between, True, False) if upper else _triangle(L.mT, between, True, False)


@decomposes("torch.cholesky_solve", "Tensor.cholesky_solve")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    if B.dim() < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {B.dim()} dimensions instead")
    if L.dim() < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {L.dim()} dimensions instead")
    _fit_of(B, L, "cholesky_solve")
    computed(B, "cholesky_solve_cpu")
    return _by_cholesky(B, L, upper)


def _fit_of(b: Tensor, A: Tensor, function: str) -> None:
    """Raise the errors of the older functions for operands that do not fit."""
    if b.dtype != A.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {NAMES[b.dtype]} and A of type "
            f"{NAMES[A.dtype]} instead."
        )
    if A.size(-1) != A.size(-2):
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {A.size(-2)} by {A.size(-1)} matrices"
        )
    if A.size(-2) != b.size(-2):
        raise RuntimeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {A.size(-1)} by {A.size(-1)} but each b matrix is "
            f"{b.size(-2)} by {b.size(-1)}"
        )


@decomposes("torch.cholesky_inverse", "Tensor.cholesky_inverse")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    are_square(L, "cholesky_inverse")
    computed(L, "cholesky_inverse_out_cpu")
    zeros = torch.diagonal(L, 0, -2, -1) == 0
    if torch.any(zeros):
        first = torch.argmax(zeros.to(torch.uint8), -1).to(torch.int32) + 1
        _no_inverse(torch.where(torch.any(zeros, -1), first, 0), "cholesky_inverse")
    return _by_cholesky(torch.eye(L.size(-1), dtype=L.dtype), L, upper)


# ---- triangles ----


@decomposes("torch.linalg.solve_triangular", "torch.linalg_solve_triangular")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    _fit(A, B, left, "linalg.solve_triangular")
    computed(A, "triangular_solve_cpu")
    if left:
        return _triangle(A, B, upper, unitriangular)
    return _in_columns(_triangle(A.mT, B.mT, not upper, unitriangular).mT)


@decomposes("torch.triangular_solve", "Tensor.triangular_solve")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    if b.dim() < 2:
        raise RuntimeError(
            f"torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {b.dim()} dimensions instead"
        )
    if A.dim() < 2:
        raise RuntimeError(
            f"torch.triangular_solve: Expected A to have at least 2 dimensions, but it has {A.dim()} dimensions instead"
        )
    _fit_of(b, A, "triangular_solve")
    computed(b, "triangular_solve_cpu")
    x = _triangle(A.mT, b, not upper, unitriangular) if transpose else _triangle(A, b, upper, unitriangular)
    return torch.return_types.triangular_solve((x, _in_columns(A.expand(*x.shape[:-2], *A.shape[-2:])).clone()))


# ---- QR ----


@decomposes("torch.geqrf", "Tensor.geqrf")
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    are_matrices(input, "torch.geqrf", "input")
    computed(input, "geqrf_cpu")
    return torch.return_types.geqrf(_geqrf(input))


@decomposes("torch.linalg.householder_product", "torch.linalg_householder_product", "torch.orgqr", "Tensor.orgqr")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.householder_product: input must have at least 2 dimensions.")
    if input.size(-2) < input.size(-1):
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau.dim() > 0 and input.size(-1) < tau.size(-1):
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau.dim()} and input.ndim is equal to {input.dim()}"
        )
    if tau.dtype != input.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {NAMES[tau.dtype]} does not match input dtype {NAMES[input.dtype]}"
        )
    computed(input, "orgqr_cpu")
    return _householder(input, tau)


@decomposes("torch.linalg.qr", "torch.linalg_qr")
def qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    return torch.return_types.linalg_qr(_qr(A, mode))


@decomposes("torch.qr", "Tensor.qr")
def qr_of(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    return torch.return_types.qr(_qr(input, "reduced" if some else "complete"))


def _qr(A: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    are_matrices(A, "linalg.qr")
    are_floating(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    computed(A, "geqrf_cpu")
    factors, tau = _geqrf(A)
    m, n = A.size(-2), A.size(-1)
    k = min(m, n)
    kept = m if mode == "complete" else k
    R = torch.tril(factors.mT.narrow(-1, 0, kept)).contiguous().mT
    if mode == "r":
        return torch.empty(0, dtype=A.dtype), R
    if mode == "complete" and m > n:
        more = torch.zeros(*A.shape[:-1], m - n, dtype=A.dtype)
        return _householder(torch.cat([factors, more], -1), tau), R
    return _householder(factors.narrow(-1, 0, kept), tau), R


@decomposes("torch.ormqr", "Tensor.ormqr")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.dim() < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    if other.size(-2 if left else -1) != input.size(-2):
        raise RuntimeError(f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]")
    more = torch.zeros(*input.shape[:-1], input.size(-2) - input.size(-1), dtype=input.dtype)
    Q = torch.linalg.householder_product(torch.cat([input, more], -1), tau)
    turned = Q.mT if transpose else Q
    return _in_columns(torch.matmul(turned, other) if left else torch.matmul(other, turned))
