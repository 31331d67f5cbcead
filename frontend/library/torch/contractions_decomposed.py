"""Products of matrices and vectors, and einsum, in terms of matmul."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.library.torch.pointwise_decomposed import inexact


def in_dtype(value: float, dtype: torch.dtype) -> float:
    """Return a factor truncated to the dtype of its tensors, as in eager."""
    if dtype.is_floating_point or dtype.is_complex:
        return value
    return bool(value) if dtype == torch.bool else int(value)


def _added(input: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    """Return `beta * input + alpha * product`, where only the input is broadcast."""
    lead = product.dim() - input.dim()
    if lead < 0:
        input.expand(tuple(product.shape))  # raises
    for d, n in enumerate(input.shape):
        if n != 1 and n != product.size(lead + d):
            input.expand(tuple(product.shape))  # raises
    scaled = product if alpha == 1 else product * in_dtype(alpha, product.dtype)
    if beta == 0:
        return scaled
    return (input if beta == 1 else input * in_dtype(beta, input.dtype)) + scaled


@decomposes("torch.addmm", "Tensor.addmm", widens=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _added(input, torch.mm(mat1, mat2), beta, alpha)


@decomposes("torch.addmv", "Tensor.addmv", widens=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    if input.dim() > 1 or mat.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.dim()}, {mat.dim()}, {vec.dim()}")
    if mat.size(1) != vec.size(0) or (input.numel() != mat.size(0) and input.numel() != 1):
        sizes = f"input ({input.numel()}), mat ({mat.size(0)}x{mat.size(1)}), vec ({vec.size(0)})"
        raise RuntimeError(f"size mismatch, got {sizes}")
    return _added(input, torch.mv(mat, vec), beta, alpha)


@decomposes("torch.baddbmm", "Tensor.baddbmm", widens=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    input.expand(batch1.size(0), batch1.size(1), batch2.size(2))  # raises first
    return _added(input, torch.bmm(batch1, batch2), beta, alpha)


@decomposes("torch.addbmm", "Tensor.addbmm", widens=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    input.expand(batch1.size(1), batch2.size(2))  # raises first
    if batch1.dim() == 3 and batch2.dim() == 3 and batch1.size(0) != batch2.size(0):
        sizes = f"{batch1.size(0)} and {batch2.size(0)}"
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {sizes}")
    return _added(input, torch.sum(torch.bmm(batch1, batch2), 0, dtype=input.dtype), beta, alpha)


@decomposes("torch.addr", "Tensor.addr")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    if vec1.dim() != 1 or vec2.dim() != 1:
        name, dims = ("vec1", vec1.dim()) if vec1.dim() != 1 else ("vec2", vec2.dim())
        raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {dims}-D")
    kind = torch.promote_types(input.dtype, torch.promote_types(vec1.dtype, vec2.dtype))
    product = vec1.to(kind).unsqueeze(1) * vec2.to(kind)
    return _added(input.expand(vec1.size(0), vec2.size(0)), product, beta, alpha)


@decomposes("torch.outer", "Tensor.outer", "torch.ger", "Tensor.ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    if input.dim() != 1 or vec2.dim() != 1:
        name, dims = ("self", input.dim()) if input.dim() != 1 else ("vec2", vec2.dim())
        raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {dims}-D")
    return input.unsqueeze(1) * vec2


@decomposes("torch.bmm", "Tensor.bmm")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if input.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if input.dim() != 3 else "batch2 must be a 3D tensor")
    if input.size(0) != mat2.size(0):
        wanted, found = [input.size(0), input.size(2)], [mat2.size(0), mat2.size(1)]
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {found}.")
    return torch.matmul(input, mat2)


@decomposes("torch.vdot", "Tensor.vdot")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    return torch.dot(input.conj_physical(), other)


@decomposes("torch.inner", "Tensor.inner")
def inner(input: Tensor, other: Tensor) -> Tensor:
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if input.size(-1) != other.size(-1):
        shapes = f"{list(input.shape)} and {list(other.shape)}"
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {shapes}")
    return torch.tensordot(input, other, ([-1], [-1]))


@decomposes("torch.linalg.vecdot", "torch.linalg_vecdot")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    return torch.sum(x * y, dim)


@decomposes("torch.chain_matmul", "torch.functional.chain_matmul")
def chain_matmul(*matrices: Tensor) -> Tensor:
    return torch.linalg.multi_dot(matrices)


@decomposes("torch.linalg.multi_dot")
def multi_dot(tensors: list[Tensor]) -> Tensor:
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    for i, name in ((0, "first"), (count - 1, "last")):
        if tensors[i].dim() != 1 and tensors[i].dim() != 2:
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {tensors[i].dim()}D")
    for i in range(1, count - 1):
        if tensors[i].dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {tensors[i].dim()}D")
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
        given_a, given_b = tuple(range(-dims, 0)), tuple(range(dims))
    else:
        given_a = (dims[0],) if isinstance(dims[0], int) else tuple(dims[0])
        given_b = (dims[1],) if isinstance(dims[1], int) else tuple(dims[1])
    if len(given_a) != len(given_b):
        raise RuntimeError("both dimension lists should have same length")
    of_a, of_b = tuple(d % a.dim() for d in given_a), tuple(d % b.dim() for d in given_b)
    for i, (d, e) in enumerate(zip(of_a, of_b)):  # noqa: B905
        if a.size(d) != b.size(e):
            if a.size(d) != 1 and b.size(e) != 1:
                sizes = f"first has size {a.size(d)} in dim {given_a[i]} and second has size {b.size(e)} in dim {given_b[i]}"
                raise RuntimeError(f"contracted dimensions need to match, but {sizes}")
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


_DIM_OF_CROSS = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
    "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release."
)


@decomposes("torch.cross", "Tensor.cross")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    if dim is not None:
        return torch.linalg.cross(input, other, dim=dim)
    for d in range(input.dim()):
        if input.size(d) == 3:
            warnings.warn(_DIM_OF_CROSS, stacklevel=1)
            return torch.linalg.cross(input, other, dim=d)
    raise RuntimeError("no dimension of size 3 in input")


@decomposes("torch.linalg.cross", "torch.linalg_cross")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.size(dim) != 3 or other.size(dim) != 3:
        sizes = f"{input.size(dim)} and {other.size(dim)}"
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes}")
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
    x = x.reshape(1) if x.dim() == 0 else x
    count = x.size(-1) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    ones = torch.ones_like(x).unsqueeze(-1)
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1)
    return torch.cat([ones, torch.cumprod(powers, -1)], -1)


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for d in range(input1.dim() - 1):
        m, n = input1.size(d), input2.size(d)
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {m} and {n}")
    if input1.size(-1) != weight.size(1):
        found = f"got {input1.size(-1)} but expected {weight.size(1)}"
        raise RuntimeError(f"bilinear(): input1 size does not match weight size: {found}")
    if input2.size(-1) != weight.size(2):
        found = f"got {input2.size(-1)} but expected {weight.size(2)}"
        raise RuntimeError(f"bilinear(): input2 size does not match weight size: {found}")
    if bias is not None and bias.size(0) != weight.size(0):
        found = f"got {bias.size(0)} but expected {weight.size(0)}"
        raise RuntimeError(f"bilinear(): bias size does not match weight size: {found}")


@decomposes("torch.bilinear", "torch.nn.functional.bilinear")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return out[..., o] = input1[..., i] weight[o, i, j] input2[..., j]."""
    _check_bilinear(input1, input2, weight, bias)
    a = input1.reshape(-1, input1.size(-1))
    b = input2.reshape(-1, input2.size(-1))
    pairs = (a.unsqueeze(2) * b.unsqueeze(1)).reshape(a.size(0), a.size(1) * b.size(1))
    result = torch.matmul(pairs, weight.reshape(weight.size(0), -1).transpose(0, 1))
    result = result.reshape(*input1.shape[:-1], weight.size(0))
    return result if bias is None else result + bias


@decomposes("torch._C._VariableFunctions.cdist", widens=True)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    if x1.dim() < 2 or x2.dim() < 2:
        found = f"X1 got: {x1.dim()}D" if x1.dim() < 2 else f"X2 got: {x2.dim()}D"
        raise RuntimeError(f"cdist only supports at least 2D tensors, {found}")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.size(-1)} X2: {x2.size(-1)}")
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@decomposes("torch.pdist", "torch.nn.functional.pdist")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    n = input.size(0)
    pairs = torch.nonzero(torch.ones(n, n, dtype=torch.bool).triu(1))
    a, b = torch.index_select(input, 0, pairs.select(1, 0)), torch.index_select(input, 0, pairs.select(1, 1))
    return torch.linalg.vector_norm(a - b, p, 1)


def _check_weights(weights: Tensor, name: str, observations: int) -> None:
    if weights.dim() > 1:
        found = f"got {name} with {weights.dim()} dimensions"
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but {found}")
    integral = not weights.is_floating_point() and not weights.is_complex() and weights.dtype != torch.bool
    if not (integral if name == "fweights" else weights.is_floating_point()):
        kind = "integral" if name == "fweights" else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {NAMES[weights.dtype]} dtype")
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {weights.numel()} "
            f"!= {observations}"
        )
    if observations > 0 and bool(torch.any(weights < 0)):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@decomposes("torch.cov", "Tensor.cov")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    if input.dim() > 2:
        found = f"got an input with {input.dim()} dimensions"
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but {found}")
    x = inexact(input)
    x = x.reshape(1, -1) if x.dim() < 2 else x
    if fweights is not None:
        _check_weights(fweights, "fweights", x.size(1))
    if aweights is not None:
        _check_weights(aweights, "aweights", x.size(1))
    if fweights is None and aweights is None:
        total = float(x.size(1))
        centered = x - torch.mean(x, 1, keepdim=True)
        result = torch.matmul(centered, centered.transpose(0, 1).conj_physical()) / max(total - correction, 0.0)
    else:
        if fweights is None:
            weights = aweights
        elif aweights is None:
            weights = fweights
        else:
            weights = fweights * aweights
        mass = torch.sum(weights)
        if bool(mass == 0):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        centered = x - torch.sum(x * weights, 1, keepdim=True) / mass
        norm = mass - correction if aweights is None else mass - correction * torch.sum(weights * aweights) / mass
        result = torch.matmul(centered, (centered * weights).transpose(0, 1).conj_physical()) / torch.clamp(norm, min=0)
    if x.size(0) == 1:
        return result.reshape(())
    return result


@decomposes("torch.corrcoef", "Tensor.corrcoef")
def corrcoef(input: Tensor) -> Tensor:
    if input.dim() > 2:
        found = f"got an input with {input.dim()} dimensions"
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but {found}")
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
    """Return the labels of a tensor's dims. Those of an ellipsis are numbers from the right."""
    if "..." not in text:
        return tuple(text)
    before, after = text.split("...")
    hidden = rank - len(before) - len(after)
    return (*before, *(str(dots - hidden + i) for i in range(hidden)), *after)


class Operand(NamedTuple):
    """The steps that align an operand of einsum with the order of all labels.

    They are diagonals for repeated labels, a permutation, and dims of size 1 for missing labels."""

    diagonals: tuple[tuple[int, int], ...]
    dims: tuple[int, ...]
    missing: tuple[int, ...]


class Pair(NamedTuple):
    """The steps that contract two operands.

    `first` and `second` are dims over which one operand alone is summed. `both` are batch dims, `left` and `right` dims of
    one operand, `summed` dims that the product contracts. `back` is the permutation of the product's result. The operands
    are `swapped`, as in eager, where the result then is in order."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    both: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    summed: tuple[int, ...]
    back: tuple[int, ...]
    swapped: bool


class Plan(NamedTuple):
    """The steps of einsum. `summed` are the dims behind those of the result, the last first."""

    operands: tuple[Operand, ...]
    pairs: tuple[Pair, ...]
    summed: tuple[int, ...]


def plan_of(equation: str, ranks: tuple[int, ...]) -> Plan:
    text = equation.replace(" ", "")
    inputs = text.split("->")[0].split(",")
    hidden = [rank - len(part.replace("...", "")) for rank, part in zip(ranks, inputs, strict=True)]
    for i, (part, more) in enumerate(zip(inputs, hidden, strict=True)):
        if more and "..." not in part or more < 0:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(part)}) does not match the number of dimensions "
                f"({ranks[i]}) for operand {i} and no ellipsis was given"
            )
    dots = max(hidden)
    labels = [_letters(part, rank, dots) for rank, part in zip(ranks, inputs, strict=True)]
    joined = "".join("".join(own) for own in labels)
    everything = sorted(set(joined))
    if "->" in text:
        end = text.split("->")[1]
        output = _letters(end, dots + len(end.replace("...", "")), dots)
    else:
        single = (label for label in everything if joined.count(label) == 1 and not label.isdigit())
        output = (*(str(i) for i in range(dots)), *single)
    for label in output:
        if label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
    order = (*output, *(label for label in everything if label not in output))
    pairs = tuple(_pair_of(labels, i, order, len(output)) for i in range(1, len(labels)))
    return Plan(tuple(_operand(own, order) for own in labels), pairs, tuple(range(len(output), len(order)))[::-1])


def _operand(own: tuple[str, ...], order: tuple[str, ...]) -> Operand:
    diagonals = []
    for label in order:
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            diagonals.append((first, second))
            own = (*own[:first], *own[first + 1 : second], *own[second + 1 :], label)
    dims = tuple(own.index(label) for label in order if label in own)
    return Operand(tuple(diagonals), dims, tuple(i for i, label in enumerate(order) if label not in own))


def _pair_of(labels: list[tuple[str, ...]], at: int, order: tuple[str, ...], kept: int) -> Pair:
    """Return the steps that contract operand `at` with the result so far.

    A label is summed at its last operand.
    """
    kinds: dict[str, list[int]] = {name: [] for name in Pair._fields[:6]}
    for dim, label in enumerate(order):
        before, here = any(label in own for own in labels[:at]), label in labels[at]
        gone = dim >= kept and not any(label in own for own in labels[at:])
        last = dim >= kept and here and not any(label in own for own in labels[at + 1 :])
        if last and not before:
            kinds["second"].append(dim)
        if gone and at == 1:
            kinds["first"].append(dim)
        if before and here:
            kinds["summed" if last else "both"].append(dim)
        else:
            kinds["left" if before and not gone else "right"].append(dim)
    first, second, both, left, right, summed = map(tuple, kinds.values())
    swapped = bool(left and right) and right[-1] < left[0]
    if swapped:
        first, second, left, right = second, first, right, left
    there = (*both, *left, *right, *summed)
    return Pair(first, second, both, left, right, summed, tuple(map(there.index, range(len(order)))), swapped)


def _plan(equation: str, ranks: tuple[int, ...]) -> Plan:
    """Return `plan_of(equation, ranks)`. A handler computes it at compile time."""
    raise NotImplementedError


def _aligned(t: Tensor, how: Operand) -> Tensor:
    for first, second in how.diagonals:
        t = torch.diagonal(t, 0, first, second)
    t = t.permute(how.dims)
    for i in how.missing:
        t = t.unsqueeze(i)
    return t


@decomposes("torch.einsum", "torch.functional.einsum")
def einsum(equation: str, *tensors: Tensor) -> Tensor:
    each = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    parts = equation.split("->")[0].split(",")
    if len(each) != len(parts):
        how_many = "more" if len(each) > len(parts) else "fewer"
        raise RuntimeError(f"einsum(): {how_many} operands were provided than specified in the equation")
    plan = _plan(equation, tuple(each[i].dim() for i, _ in enumerate(parts)))
    result = _aligned(each[0], plan.operands[0])
    if len(parts) == 1:
        return torch.sum(result, plan.summed) if len(plan.summed) > 0 else result
    for i, how in enumerate(plan.pairs):
        other = _aligned(each[i + 1], plan.operands[i + 1])
        result = _paired(other, result, how) if how.swapped else _paired(result, other, how)
    for dim in plan.summed:
        result = result.select(dim, 0)
    return result


def _sizes(t: Tensor, dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(t.size(dim) for dim in dims)


def _paired(a: Tensor, b: Tensor, how: Pair) -> Tensor:
    """Return the product of two operands, with dims of size 1 in place of the summed ones."""
    a = torch.sum(a, how.first, True) if len(how.first) > 0 else a
    b = torch.sum(b, how.second, True) if len(how.second) > 0 else b
    if len(how.summed) == 0:
        return a * b
    shared = (*how.both, *how.summed)
    if _sizes(a, shared) != _sizes(b, shared):  # some sizes are 1
        return torch.sum(a * b, how.summed, True)
    both, left, right = _sizes(a, how.both), _sizes(a, how.left), _sizes(b, how.right)
    rows, inner, columns = math.prod(left), math.prod(_sizes(a, how.summed)), math.prod(right)
    x = a.permute((*how.both, *how.left, *how.summed, *how.right))
    y = b.permute((*how.both, *how.summed, *how.right, *how.left))
    if len(how.both) == 0:
        product = torch.matmul(x.reshape(rows, inner), y.reshape(inner, columns))
    else:
        count = math.prod(both)
        product = torch.bmm(x.reshape(count, rows, inner), y.reshape(count, inner, columns))
    return product.view((*both, *left, *right, *(1 for _ in how.summed))).permute(how.back)
