"""Derivatives of factorizations, and of systems solved by them.

Matrices stand in the last two dims. `tril(x, -1)` and `triu(x)` take the free entries of factors with a unit diagonal.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import derives
from scriptc.frontend.library.torch import eigen_decomposed as eigen
from scriptc.frontend.library.torch import linalg_decomposed as linalg

Sizes = tuple[int, ...]


def _permuted(pivots: Tensor, x: Tensor) -> Tensor:
    """Return P x for the permutation P of pivots."""
    n = x.size(-2)
    rest = torch.arange(pivots.size(-1) + 1, n + 1, dtype=torch.int32).expand(*pivots.shape[:-1], n - pivots.size(-1))
    same = torch.eye(n, dtype=x.dtype).expand(*pivots.shape[:-1], n, n)
    return linalg._lu_solve(same, torch.cat([pivots, rest], -1), x, True)


@derives("linalg.lu", "A")
def lu(grad0: Tensor, result0: Tensor, result1: Tensor) -> Tensor:
    """Return P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T, with the rows or columns outside of the square part.

    In a tall matrix, gU holds what the rows of L below the square part add; in a wide one, gL what the columns of U add.
    """
    rows, columns = result0.size(-2), result0.size(-1)
    k = min(rows, columns)
    square, of_square = result0[..., :k, :k], grad0[..., :k, :k]
    L = torch.tril(square, -1) + torch.eye(k, dtype=square.dtype)
    U = torch.triu(square)
    of_L, of_U = torch.matmul(L.mT, torch.tril(of_square, -1)), torch.matmul(torch.triu(of_square), U.mT)
    if rows > k:
        of_U = of_U - torch.matmul(result0[..., k:, :].mT, grad0[..., k:, :])
    if columns > k:
        of_L = of_L - torch.matmul(grad0[..., k:], result0[..., k:].mT)
    inner = torch.tril(of_L, -1) + torch.triu(of_U)
    found = linalg._triangle(L.mT, linalg._triangle(U, inner.mT, True, False).mT, True, True)
    if rows > k:
        found = torch.cat([found, linalg._triangle(U, grad0[..., k:, :].mT, True, False).mT], -2)
    if columns > k:
        found = torch.cat([found, linalg._triangle(L.mT, grad0[..., k:], True, True)], -1)
    return _permuted(result1, found)


@derives("linalg.lu_solve", "B")
def lu_solve_right(grad: Tensor, LU: Tensor, pivots: Tensor, B_sizes: Sizes, adjoint: bool) -> Tensor:
    return linalg._lu_solve(LU, pivots, grad, not adjoint).sum_to_size(B_sizes)


@derives("linalg.lu_solve", "LU")
def lu_solve_factors(grad: Tensor, result: Tensor, LU: Tensor, pivots: Tensor, adjoint: bool) -> Tensor:
    """Return the gradients of L and U in one matrix.

    With A = P L U and gB = A^-T gX the gradient of A is -gB X^T, of U so (P L)^T gA, of L so P^T gA U^T.
    """
    L = torch.tril(LU, -1) + torch.eye(LU.size(-1), dtype=LU.dtype)
    U = torch.triu(LU)
    of_right = linalg._lu_solve(LU, pivots, grad, not adjoint)
    of_matrix = -torch.matmul(result, of_right.mT) if adjoint else -torch.matmul(of_right, result.mT)
    same = torch.eye(LU.size(-1), dtype=LU.dtype).expand(*pivots.shape, LU.size(-1))
    turned = linalg._lu_solve(same, pivots, of_matrix, False)
    of_L, of_U = torch.matmul(turned, U.mT), torch.matmul(L.mT, turned)
    return (torch.tril(of_L, -1) + torch.triu(of_U)).sum_to_size(LU.shape)


@derives("linalg.triangle", "B")
def triangle_right(grad: Tensor, A: Tensor, B_sizes: Sizes, upper: bool, unitriangular: bool) -> Tensor:
    return linalg._triangle(A.mT, grad, not upper, unitriangular).sum_to_size(B_sizes)


@derives("linalg.triangle", "A")
def triangle_matrix(grad: Tensor, result: Tensor, A: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    of_right = linalg._triangle(A.mT, grad, not upper, unitriangular)
    whole = -torch.matmul(of_right, result.mT).sum_to_size(A.shape)
    skipped = 1 if unitriangular else 0
    return torch.triu(whole, skipped) if upper else torch.tril(whole, -skipped)


def _lower_half(x: Tensor) -> Tensor:
    """Return the lower triangle of a matrix with half of its diagonal."""
    return torch.tril(x) - torch.diag_embed(torch.diagonal(x, 0, -2, -1)) / 2


@derives("linalg.cholesky", "A")
def cholesky(grad0: Tensor, result0: Tensor) -> Tensor:
    """Return the symmetric L^-T S L^-1, where S has the lower half of L^T gL."""
    half = _lower_half(torch.matmul(result0.mT, torch.tril(grad0)))
    inner = half + half.mT
    left = linalg._triangle(result0.mT, inner, True, False)
    return linalg._triangle(result0.mT, left.mT, True, False).mT / 2


@derives("linalg.householder", "A")
def householder_vectors(grad: Tensor, result: Tensor, A: Tensor, tau: Tensor) -> Tensor:
    return _of_reflections(grad, result, A, tau)[0]


@derives("linalg.householder", "tau")
def householder_factors(grad: Tensor, result: Tensor, A: Tensor, tau: Tensor) -> Tensor:
    return _of_reflections(grad, result, A, tau)[1]


def _of_reflections(grad: Tensor, Q: Tensor, A: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of the vectors and the factors of H1 H2 ... Hk, the first columns of which are Q.

    right: H(i+1) ... Hk, cut to those columns. left: the gradient of H1 ... Hi times it, as seen from Hi's left.
    """
    k, rows = tau.size(-1), A.size(-2)
    V = torch.tril(A, -1) + torch.eye(rows, A.size(-1), dtype=A.dtype)
    of_V, of_tau = torch.zeros(V.shape, dtype=A.dtype), torch.zeros(tau.shape, dtype=A.dtype)
    right, left = Q, grad
    for i in range(k):
        v, t = V[..., i : i + 1], tau[..., i : i + 1].unsqueeze(-1)
        # H is symmetric, and its inverse is I - s v v^T with s = t / (t |v|^2 - 1)
        s = t / (t * torch.sum(v * v, -2, keepdim=True) - 1)
        right = right - s * torch.matmul(v, torch.matmul(v.mT, right))
        a, b = torch.matmul(left.mT, v), torch.matmul(right.mT, v)
        of_tau[..., i] = -torch.sum(a * b, (-2, -1))
        of_V[..., i : i + 1] = -t * (torch.matmul(left, b) + torch.matmul(right, a))
        left = left - t * torch.matmul(v, torch.matmul(v.mT, left))
    return torch.tril(of_V, -1), of_tau


@derives("linalg.eigh", "A")
def eigh(grad0: Tensor, grad1: Tensor, result0: Tensor, result1: Tensor, A: Tensor, vectors: bool) -> Tensor:
    """Return V (diag(gL) + skew(V^T gV) / gaps) V^T, where the gap of i and k is L[k] - L[i]."""
    V = result1 if vectors else eigen._eigh(A, True)[1]
    if not vectors:
        return torch.matmul(V * grad0.unsqueeze(-2), V.mT)
    same = torch.eye(result0.size(-1), dtype=torch.bool)
    gaps = (result0.unsqueeze(-2) - result0.unsqueeze(-1)).masked_fill(same, 1)
    turned = torch.matmul(V.mT, grad1)
    inner = torch.where(same, grad0.unsqueeze(-1), (turned - turned.mT) / (2 * gaps))
    return torch.matmul(torch.matmul(V, inner), V.mT)


@derives("linalg.svd", "A")
def svd(
    grad0: Tensor, grad1: Tensor, grad2: Tensor, result0: Tensor, result1: Tensor, result2: Tensor, A: Tensor,
    vectors: bool, full: bool,
) -> Tensor:  # fmt: skip
    if not vectors:
        left, _, right, _ = eigen._svd(A, True, False)
        return torch.matmul(left * grad1.unsqueeze(-2), right)
    k = result1.size(-1)
    U, V, S = result0[..., :k], result2[..., :k, :].mT, result1
    of_U, of_V = grad0[..., :k], grad2[..., :k, :].mT
    same = torch.eye(k, dtype=torch.bool)
    gaps = ((S.unsqueeze(-2) - S.unsqueeze(-1)) * (S.unsqueeze(-2) + S.unsqueeze(-1))).masked_fill(same, 1)
    turned_U, turned_V = torch.matmul(U.mT, of_U), torch.matmul(V.mT, of_V)
    left, right = (turned_U - turned_U.mT) / gaps, (turned_V - turned_V.mT) / gaps
    inner = left * S.unsqueeze(-2) + S.unsqueeze(-1) * right + torch.where(same, grad1.unsqueeze(-1), 0)
    found = torch.matmul(torch.matmul(U, inner), V.mT)
    if U.size(-2) > k:
        found = found + torch.matmul(_outside(U, of_U / S.unsqueeze(-2)), V.mT)
    if V.size(-2) > k:
        found = found + torch.matmul(U, _outside(V, of_V / S.unsqueeze(-2)).mT)
    return found


def _outside(Q: Tensor, x: Tensor) -> Tensor:
    """Return the part of the columns of x that is orthogonal to those of Q."""
    return x - torch.matmul(Q, torch.matmul(Q.mT, x))
