"""Products of matrices and vectors, and einsum: all become matmul."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.decompositions.pointwise import inexact
from scriptc.frontend.library import decomposes


def in_dtype(value: float, dtype: torch.dtype) -> float:
    """A factor as eager takes it beside tensors of a dtype: cut to it."""
    if dtype.is_floating_point or dtype.is_complex:
        return value
    return bool(value) if dtype == torch.bool else int(value)


def _added(input: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    scaled = product if alpha == 1 else product * in_dtype(alpha, product.dtype)
    if beta == 0:
        return scaled
    return (input if beta == 1 else input * in_dtype(beta, input.dtype)) + scaled


@decomposes("torch.addmm", "Tensor.addmm", widens=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _added(input, torch.mm(mat1, mat2), beta, alpha)


@decomposes("torch.addmv", "Tensor.addmv", widens=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _added(input, torch.mv(mat, vec), beta, alpha)


@decomposes("torch.baddbmm", "Tensor.baddbmm", widens=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _added(input, torch.bmm(batch1, batch2), beta, alpha)


@decomposes("torch.addbmm", "Tensor.addbmm", widens=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _added(input, torch.sum(torch.bmm(batch1, batch2), 0, dtype=input.dtype), beta, alpha)


@decomposes("torch.addr", "Tensor.addr")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _added(input, vec1.unsqueeze(1) * vec2, beta, alpha)


@decomposes("torch.outer", "Tensor.outer", "torch.ger", "Tensor.ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    if input.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError("outer: Expected 1-D arguments")
    return input.unsqueeze(1) * vec2


@decomposes("torch.vdot", "Tensor.vdot")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    return torch.dot(input.conj_physical(), other)


@decomposes("torch.inner", "Tensor.inner")
def inner(input: Tensor, other: Tensor) -> Tensor:
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    return torch.tensordot(input, other, ([-1], [-1]))


@decomposes("torch.linalg.vecdot", "torch.linalg_vecdot")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    return torch.sum(x * y, dim)


@decomposes("torch.chain_matmul", "torch.functional.chain_matmul")
def chain_matmul(*matrices: Tensor) -> Tensor:
    return torch.linalg.multi_dot(matrices)


@decomposes("torch.linalg.multi_dot")
def multi_dot(tensors: list[Tensor]) -> Tensor:
    result = tensors[0]
    for t in tensors[1:]:
        result = torch.matmul(result, t)
    return result


@decomposes("torch.kron", "Tensor.kron")
def kron(input: Tensor, other: Tensor) -> Tensor:
    rank = max(input.dim(), other.dim())
    a = input.reshape((1,) * (rank - input.dim()) + tuple(input.shape))
    b = other.reshape((1,) * (rank - other.dim()) + tuple(other.shape))
    sizes = tuple(a.size(d) * b.size(d) for d in range(rank))
    for d in range(rank):
        a, b = a.unsqueeze(2 * d + 1), b.unsqueeze(2 * d)
    return (a * b).reshape(sizes)


@decomposes("torch.tensordot", "torch.functional.tensordot")
def tensordot(a: Tensor, b: Tensor, dims: int | tuple[int | list[int], int | list[int]] = 2) -> Tensor:
    if isinstance(dims, int):
        of_a = tuple(range(a.dim() - dims, a.dim()))
        of_b = tuple(range(dims))
    else:
        of_a = tuple(d % a.dim() for d in ((dims[0],) if isinstance(dims[0], int) else dims[0]))
        of_b = tuple(d % b.dim() for d in ((dims[1],) if isinstance(dims[1], int) else dims[1]))
    for d, e in zip(of_a, of_b):  # noqa: B905
        if a.size(d) != b.size(e):  # one of the two is 1 and meets every element of the other
            a = torch.sum(a, d, keepdim=True) if b.size(e) == 1 else a
            b = torch.sum(b, e, keepdim=True) if a.size(d) == 1 else b
    rest_a = tuple(d for d in range(a.dim()) if d not in of_a)
    rest_b = tuple(d for d in range(b.dim()) if d not in of_b)
    n = 1
    for d in of_a:
        n = n * a.size(d)
    rows, columns = 1, 1
    for d in rest_a:
        rows = rows * a.size(d)
    for d in rest_b:
        columns = columns * b.size(d)
    product = torch.matmul(a.permute(*rest_a, *of_a).reshape(rows, n), b.permute(*of_b, *rest_b).reshape(n, columns))
    return product.reshape(tuple(a.size(d) for d in rest_a) + tuple(b.size(d) for d in rest_b))


@decomposes("torch.cross", "Tensor.cross", "torch.linalg.cross")
def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    a, b = torch.broadcast_tensors(input, other)
    ahead = torch.tensor([1, 2, 0])
    behind = torch.tensor([2, 0, 1])
    left = torch.index_select(a, dim, ahead) * torch.index_select(b, dim, behind)
    return left - torch.index_select(a, dim, behind) * torch.index_select(b, dim, ahead)


@decomposes("torch.vander")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.size(0) if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    result = torch.ones(x.size(0), count, dtype=torch.promote_types(x.dtype, torch.int64))
    result[:, 1:] = torch.cumprod(x.unsqueeze(1).expand(x.size(0), max(count - 1, 0)).to(result.dtype), 1)
    return result if increasing else torch.flip(result, (1,))


@decomposes("torch.linalg.vander", "torch.linalg_vander")
def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:
    if x.dim() == 0:
        return torch.linalg.vander(x.reshape(1), N)
    count = x.size(-1) if N is None else N
    ones = torch.ones_like(x).unsqueeze(-1)
    if count == 1:
        return ones
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1)
    return torch.cat([ones, torch.cumprod(powers, -1)], -1)


@decomposes("torch.bilinear", "torch.nn.functional.bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """out[..., o] = input1[..., i] weight[o, i, j] input2[..., j]"""
    a = input1.reshape(-1, input1.size(-1))
    b = input2.reshape(-1, input2.size(-1))
    pairs = (a.unsqueeze(2) * b.unsqueeze(1)).reshape(a.size(0), a.size(1) * b.size(1))
    result = torch.matmul(pairs, weight.reshape(weight.size(0), -1).transpose(0, 1))
    result = result.reshape(*input1.shape[:-1], weight.size(0))
    return result if bias is None else result + bias


@decomposes("torch._C._VariableFunctions.cdist", widens=True)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    if x1.dim() < 2 or x2.dim() < 2:
        raise RuntimeError("cdist only supports at least 2D tensors")
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@decomposes("torch.pdist", "torch.nn.functional.pdist")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    n = input.size(0)
    pairs = torch.nonzero(torch.ones(n, n, dtype=torch.bool).triu(1))
    a, b = torch.index_select(input, 0, pairs.select(1, 0)), torch.index_select(input, 0, pairs.select(1, 1))
    return torch.linalg.vector_norm(a - b, p, 1)


@decomposes("torch.cov", "Tensor.cov")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    x = inexact(input)
    x = x.reshape(1, -1) if x.dim() < 2 else x
    if fweights is None and aweights is None:
        total = float(x.size(1))
        centred = x - torch.mean(x, 1, keepdim=True)
        result = torch.matmul(centred, centred.transpose(0, 1).conj_physical()) / max(total - correction, 0.0)
    else:
        if fweights is None:
            weights = aweights
        elif aweights is None:
            weights = fweights
        else:
            weights = fweights * aweights
        mass = torch.sum(weights)
        centred = x - torch.sum(x * weights, 1, keepdim=True) / mass
        norm = mass - correction if aweights is None else mass - correction * torch.sum(weights * aweights) / mass
        result = torch.matmul(centred, (centred * weights).transpose(0, 1).conj_physical()) / torch.clamp(norm, min=0)
    if x.size(0) == 1:
        return result.reshape(())
    return result


@decomposes("torch.corrcoef", "Tensor.corrcoef")
def corrcoef(input: Tensor) -> Tensor:
    c = torch.cov(input)
    if c.dim() < 2:
        return c / c
    if c.is_complex():
        deviation = torch.sqrt(torch.diagonal(c.real))
        c = c / deviation.unsqueeze(1) / deviation
        return torch.complex(torch.clamp(c.real, -1, 1), torch.clamp(c.imag, -1, 1))
    deviation = torch.sqrt(torch.diagonal(c))
    return torch.clamp(c / deviation.unsqueeze(1) / deviation, -1, 1)


def _letters(text: str, rank: int, dots: int) -> tuple[str, ...]:
    """The labels of a tensor's dims; those behind an ellipsis are digits, right-aligned."""
    if "..." not in text:
        return tuple(text)
    before, after = text.split("...")
    hidden = rank - len(before) - len(after)
    return (*before, *(str(dots - hidden + i) for i in range(hidden)), *after)


def _aligned(t: Tensor, own: tuple[str, ...], order: tuple[str, ...]) -> Tensor:
    """Repeated labels become diagonals, then dims are put into an order, with dims of size 1 for labels that are missing."""
    for label in order:
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            t = torch.diagonal(t, 0, first, second)
            own = (*own[:first], *own[first + 1 : second], *own[second + 1 :], label)
    t = t.permute(tuple(own.index(label) for label in order if label in own))
    for i, label in enumerate(order):
        if label not in own:
            t = t.unsqueeze(i)
    return t


@decomposes("torch.einsum", "torch.functional.einsum")
def einsum(equation: str, *tensors: Tensor) -> Tensor:
    each = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    text = equation.replace(" ", "")
    inputs = tuple(text.split("->")[0].split(","))
    dots = max(each[i].dim() - len(part.replace("...", "")) if "..." in part else 0 for i, part in enumerate(inputs))
    labels = tuple(_letters(part, each[i].dim(), dots) for i, part in enumerate(inputs))
    letters = "".join(sorted("".join("".join(part) for part in labels)))
    everything = tuple(label for i, label in enumerate(letters) if label not in letters[:i])
    if "->" in text:
        output = _letters(text.split("->")[1], 0, dots) if "..." not in text else _output(text.split("->")[1], dots)
    else:
        joined = "".join("".join(part) for part in labels)
        output = tuple(str(i) for i in range(dots)) + tuple(
            label for label in everything if joined.count(label) == 1 and not label.isdigit()
        )
    summed = tuple(label for label in everything if label not in output)
    order = (*output, *summed)
    result = _aligned(each[0], labels[0], order)
    for i in range(1, len(each)):
        result = _pair(result, _aligned(each[i], labels[i], order), len(output), i == len(each) - 1)
    if len(each) == 1 and len(summed) > 0:
        result = torch.sum(result, tuple(range(len(output), len(order))))
    return result


def _output(text: str, dots: int) -> tuple[str, ...]:
    if "..." not in text:
        return tuple(text)
    before, after = text.split("...")
    return (*before, *(str(i) for i in range(dots)), *after)


def _pair(a: Tensor, b: Tensor, kept: int, last: bool) -> Tensor:
    """a * b; in the end summed over the dims behind the first `kept`, as a product of rows where those agree."""
    product = a * b
    return torch.sum(product, tuple(range(kept, product.dim()))) if last and product.dim() > kept else product
