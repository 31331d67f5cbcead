"""Functions of matrices by products and solutions: powers, norms, exponentials, tensor inverses."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.linalg_decomposed import are_floating, are_matrices, are_square, not_half


@decomposes("torch.linalg.matrix_power", "torch.linalg_matrix_power", "torch.matrix_power", "Tensor.matrix_power")
def matrix_power(A: Tensor, n: int) -> Tensor:
    are_square(A, "linalg.matrix_power")
    if n == 0:
        return torch.eye(A.size(-1), dtype=A.dtype).expand(A.shape).contiguous()
    square = A if n > 0 else torch.linalg.inv(A)
    if abs(n) == 3:
        return torch.matmul(torch.matmul(square, square), square)
    left = abs(n)
    while left % 2 == 0:
        square = torch.matmul(square, square)
        left = left // 2
    result = square.contiguous().clone()
    left = left // 2
    while left > 0:
        square = torch.matmul(square, square)
        if left % 2 == 1:
            result = torch.matmul(result, square)
        left = left // 2
    return result


# ---- norms ----


@decomposes("torch.linalg.matrix_norm")
def matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *,
    dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    are_matrices(A, "linalg.matrix_norm")
    are_floating(A, "linalg.matrix_norm")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(str(d) for d in dim)}")
    rows, columns = dim[0] % A.dim(), dim[1] % A.dim()
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({rows}, {columns})")
    x = A if dtype is None else A.to(dtype)
    if ord == "fro":
        return torch.linalg.vector_norm(x, 2, (rows, columns), keepdim)
    if isinstance(ord, str) or abs(ord) == 2:  # a string is "nuc"
        not_half(x, "linalg.matrix_norm")
        S = torch.linalg.svdvals(torch.movedim(x, (rows, columns), (-2, -1)))
        norm = torch.sum(S, -1) if isinstance(ord, str) else _extreme(S, -1, ord > 0)
        return norm.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns)) if keepdim else norm
    summed, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = torch.sum(torch.abs(x), summed, keepdim)
    norm = _extreme(sums, over if keepdim or over < summed else over - 1, ord > 0)
    return norm.unsqueeze(over) if keepdim else norm


def _extreme(x: Tensor, dim: int, largest: bool) -> Tensor:
    """Return the largest or least of nonnegative numbers; the largest of none is 0."""
    if not largest:
        return torch.amin(x, dim)
    if x.size(dim) == 0:
        return torch.sum(x, dim)
    return torch.amax(x, dim)


@decomposes("torch.linalg.norm")
def norm(
    A: Tensor, ord: float | str | None = None, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, *,
    dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is None:
        return torch.linalg.vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and A.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    if isinstance(ord, str) or (A.dim() == 2 if dims is None else len(dims) == 2):
        return torch.linalg.matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    return torch.linalg.vector_norm(A, ord, dims, keepdim, dtype=dtype)


@decomposes("torch.linalg.cond")
def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    if A.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is None or p == 2 or p == -2:
        S = torch.linalg.svdvals(A)
        if S.size(-1) == 0:
            return torch.zeros(S.shape[:-1], dtype=S.dtype)
        first, last = S.select(-1, 0), S.select(-1, -1)
        return last / first if p == -2 else first / last
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    are_square(A, f"linalg.cond(ord={p})")
    if A.numel() == 0:
        return torch.zeros(A.shape[:-2], dtype=A.dtype)
    inverse, info = torch.linalg.inv_ex(A)
    known = torch.where((info == 0).unsqueeze(-1).unsqueeze(-1), inverse, 0.0)
    of_inverse = torch.where(info == 0, torch.linalg.matrix_norm(known, p), math.inf)
    product = torch.linalg.matrix_norm(A, p) * of_inverse
    return product if p == "nuc" else torch.where(torch.isnan(product), math.inf, product)


# ---- exponentials ----


@decomposes("torch.linalg.matrix_exp", "torch.matrix_exp", "Tensor.matrix_exp", "torch.linalg_matrix_exp", widens=True)
def matrix_exp(A: Tensor) -> Tensor:
    """Halve each matrix until a polynomial of degree 18 is exact; square the result as often."""
    are_square(A, "linalg.matrix_exp")
    are_floating(A, "linalg.matrix_exp")
    if A.numel() == 0:
        return A.contiguous().clone()
    size = torch.amax(torch.sum(torch.abs(A), -2), -1)
    most = 1.09 if A.dtype in (torch.float64, torch.complex128) else 3.01
    halvings = torch.clamp(torch.ceil(torch.log2(size / most)), min=0)
    scale = torch.where(torch.isfinite(size), torch.exp2(-halvings), math.nan)
    x = A * scale.unsqueeze(-1).unsqueeze(-1)
    one = torch.eye(A.size(-1), dtype=A.dtype)
    x2 = torch.matmul(x, x)
    x3 = torch.matmul(x2, x)
    powers = (one, x, x2, x3, torch.matmul(x2, x2), torch.matmul(x3, x2))
    x6 = torch.matmul(x3, x3)
    result = one / math.factorial(18)
    for block in (12, 6, 0):
        terms = powers[0] / math.factorial(block)
        for i in range(1, 6):
            terms = terms + powers[i] / math.factorial(block + i)
        result = torch.matmul(result, x6) + terms
    for i in range(int(torch.amax(torch.where(torch.isfinite(size), halvings, 0)))):
        result = torch.where((halvings > i).unsqueeze(-1).unsqueeze(-1), torch.matmul(result, result), result)
    return result


# ---- tensors as matrices ----


def _count(sizes: tuple[int, ...]) -> int:
    count = 1
    for n in sizes:
        count = count * n
    return count


@decomposes("torch.linalg.tensorinv")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = A.shape[:ind], A.shape[ind:]
    m, n = _count(rows), _count(columns)
    if m != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{n} != {m}"
        )
    return torch.linalg.inv(A.reshape(m, n)).reshape(*columns, *rows)


@decomposes("torch.linalg.tensorsolve")
def tensorsolve(A: Tensor, B: Tensor, dims: tuple[int, ...] | None = None) -> Tensor:
    moved = A if dims is None else torch.movedim(A, dims, tuple(range(A.dim() - len(dims), A.dim())))
    wanted = moved.shape[B.dim() :]
    n, m = _count(wanted), _count(B.shape)
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {n} != {m}"
        )
    return torch.linalg.solve(moved.reshape(n, n), B.reshape(-1)).reshape(wanted)
