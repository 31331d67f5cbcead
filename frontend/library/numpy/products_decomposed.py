"""NumPy's products of arrays, over tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from scriptc.frontend.library.numpy.arrays_decomposed import (
    array_of,
    axes_of,
    common_of,
    is_scalar,
    promoted,
    refuse_form,
    result_of,
    shape_text,
    tensor_of,
)
from scriptc.frontend.library.numpy.reductions_decomposed import inexact
from scriptc.frontend.library.registry import decomposes


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.bool:
        return torch.matmul(x.to(torch.int64), y.to(torch.int64)) != 0
    return torch.matmul(x, y)


@decomposes("numpy.matmul")
def matmul(x1: Any, x2: Any) -> Any:
    kind = promoted(np.asarray(x1), np.asarray(x2))
    x, y = tensor_of(x1, kind), tensor_of(x2, kind)
    if x.dim() == 0 or y.dim() == 0:
        raise ValueError(
            f"matmul: Input operand {0 if x.dim() == 0 else 1} does not have enough dimensions (has 0, gufunc core with "
            "signature (n?,k),(k,m?)->(n?,m?) requires 1)"
        )
    at = 0 if y.dim() == 1 else y.dim() - 2
    if x.size(-1) != y.size(at):
        raise ValueError(
            f"matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
            f"(size {y.size(at)} is different from {x.size(-1)})"
        )
    return result_of(product(x, y))


@decomposes("numpy.dot", "ndarray.dot")
def dot(a: Any, b: Any) -> Any:
    kind = promoted(np.asarray(a), np.asarray(b))
    x, y = tensor_of(a, kind), tensor_of(b, kind)
    if x.dim() == 0 or y.dim() == 0:
        return np.multiply(a, b)
    at = 0 if y.dim() == 1 else y.dim() - 2
    if x.size(-1) != y.size(at):
        raise ValueError(
            f"shapes {shape_text(x.shape)} and {shape_text(y.shape)} not aligned: {x.size(-1)} (dim {x.dim() - 1}) != "
            f"{y.size(at)} (dim {at})"
        )
    if y.dim() <= 2:
        return result_of(product(x, y))
    turned = y.movedim(at, 0)
    found = product(x.reshape(-1, x.size(-1)), turned.reshape(y.size(at), -1))
    return array_of(found.reshape(*x.shape[:-1], *turned.shape[1:]))


@decomposes("numpy.inner")
def inner(a: Any, b: Any) -> Any:
    y = np.asarray(b)
    return np.dot(a, y if y.ndim < 2 else np.swapaxes(y, -1, -2))


@decomposes("numpy.outer")
def outer(a: Any, b: Any) -> Any:
    return np.multiply(np.ravel(a)[:, None], np.ravel(b)[None, :])


@decomposes("numpy.einsum")
def einsum(subscripts: str, *operands: Any) -> Any:
    kind = common_of(operands, None)
    if kind == torch.bool:
        return np.not_equal(np.einsum(subscripts, *[np.asarray(x, int) for x in operands]), 0)
    return result_of(torch.einsum(subscripts, *[tensor_of(x, kind) for x in operands]))


@decomposes("numpy.trace")
def trace(a: Any) -> Any:
    if np.ndim(a) < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return np.sum(array_of(torch.diagonal(tensor_of(a), 0, 0, 1)), -1)


@decomposes("numpy.linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    t = inexact(tensor_of(x), None)
    if ord is not None and (ord not in (1, 2, math.inf) or not (is_scalar(axis) or axis is None and t.dim() == 1)):
        refuse_form("np.linalg.norm", "only the orders 1, 2 and inf of vectors are supported")
    axes = axes_of(axis, t.dim())
    if ord == 1:
        return result_of(torch.sum(torch.abs(t), axes, keepdim=keepdims))
    if ord == math.inf:
        return result_of(torch.amax(torch.abs(t), axes, keepdim=keepdims))
    return result_of(torch.sqrt(torch.sum(t * t, axes, keepdim=keepdims)))
