"""NumPy's functions that make arrays, over tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from scriptc.frontend.library.numpy.arrays_decomposed import (
    array_of,
    dtype_of,
    is_scalar,
    memory_of,
    promoted,
    read_only,
    refuse_form,
    tensor_of,
)
from scriptc.frontend.library.registry import decomposes


def sizes_of(shape: Any) -> Any:
    sizes = (shape,) if is_scalar(shape) else tuple(shape)
    for n in sizes:
        if n < 0:
            raise ValueError("negative dimensions are not allowed")
    return sizes


@decomposes("numpy.zeros", "numpy.empty")
def zeros(shape: Any, dtype: Any = float) -> Any:
    return array_of(torch.zeros(sizes_of(shape), dtype=dtype_of(dtype)))


@decomposes("numpy.ones")
def ones(shape: Any, dtype: Any = float) -> Any:
    return array_of(torch.ones(sizes_of(shape), dtype=dtype_of(dtype)))


@decomposes("numpy.full")
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return array_of(
        tensor_of(fill_value, dtype_of(dtype)).expand(sizes_of(shape)).clone(memory_format=torch.contiguous_format)
    )


@decomposes("numpy.zeros_like", "numpy.empty_like")
def zeros_like(a: Any, dtype: Any = None) -> Any:
    return array_of(torch.zeros_like(tensor_of(a), dtype=dtype_of(dtype)))


@decomposes("numpy.ones_like")
def ones_like(a: Any, dtype: Any = None) -> Any:
    return array_of(torch.ones_like(tensor_of(a), dtype=dtype_of(dtype)))


@decomposes("numpy.full_like")
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    t = tensor_of(a)
    kind = dtype_of(dtype)
    made = torch.zeros_like(t, dtype=kind)
    return array_of(made.copy_(tensor_of(fill_value).to(made.dtype)))


@decomposes("ndarray.fill")
def fill(self: Any, value: Any) -> None:
    self[...] = value


@decomposes("numpy.eye")
def eye(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    rows, columns = torch.arange(N), torch.arange(N if M is None else M)
    return array_of((columns - rows.unsqueeze(1) == k).to(dtype_of(dtype)))


@decomposes("numpy.identity")
def identity(n: int, dtype: Any = float) -> Any:
    return np.eye(n, dtype=dtype)


@decomposes("numpy.arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Return numbers from `start` in steps. Floats are computed from the first two, as NumPy does."""
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ZeroDivisionError("Maximum allowed size exceeded" if isinstance(first, int) else "float division by zero")
    count = max(int(math.ceil((last - first) / step)), 0)
    kind = promoted(first, last, step) if dtype is None else dtype_of(dtype)
    at = torch.arange(count)
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        return array_of((at * step + first).to(kind))
    second = first + step
    found = torch.where(at == 1, second, at.to(torch.float64) * (second - first) + first)
    return array_of(found.to(kind))


@decomposes("numpy.linspace")
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, dtype: Any = None) -> Any:
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    first, last = float(start), float(stop)
    parts = num - 1 if endpoint else num
    at = torch.arange(num, dtype=torch.float64)
    delta = last - first
    step = delta / parts if parts > 0 else math.nan
    found = (at * delta if parts <= 0 else at / parts * delta if step == 0 else at * step) + first
    if endpoint and num > 1:
        found = torch.where(at == num - 1, last, found)
    kind = dtype_of(dtype)
    if kind is None:
        return array_of(found)
    return array_of(found.to(kind) if kind.is_floating_point else torch.floor(found).to(kind))


@decomposes("numpy.meshgrid")
def meshgrid(*xi: Any, indexing: str = "xy") -> Any:
    if len(xi) == 2 and indexing == "xy":
        columns, rows = tensor_of(xi[0]).reshape(-1), tensor_of(xi[1]).reshape(-1)
        shape = (rows.size(0), columns.size(0))
        return array_of(columns.expand(shape).clone()), array_of(rows.unsqueeze(1).expand(shape).clone())
    if indexing == "xy" and len(xi) > 2:
        refuse_form("np.meshgrid", "more than two arrays need indexing='ij'")
    made = torch.meshgrid(*[tensor_of(x).reshape(-1) for x in xi], indexing="ij")
    return tuple([array_of(x.clone()) for x in made])


def matrix_of(m: Any) -> torch.Tensor:
    """Return a tensor with two dims at least: a vector becomes each row of a square matrix."""
    t = tensor_of(m)
    return t.expand(t.size(0), t.size(0)).clone() if t.dim() == 1 else t


@decomposes("numpy.triu")
def triu(m: Any, k: int = 0) -> Any:
    return array_of(torch.triu(matrix_of(m), k))


@decomposes("numpy.tril")
def tril(m: Any, k: int = 0) -> Any:
    return array_of(torch.tril(matrix_of(m), k))


@decomposes("numpy.tri")
def tri(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    rows, columns = torch.arange(N), torch.arange(N if M is None else M)
    return array_of((columns - rows.unsqueeze(1) <= k).to(dtype_of(dtype)))


@decomposes("numpy.diag")
def diag(v: Any, k: int = 0) -> Any:
    t = memory_of(v)
    if t.dim() == 2:
        return read_only(torch.diagonal(t, k))
    if t.dim() != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return array_of(torch.diag(t, k))


@decomposes("numpy.diagonal", "ndarray.diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    t = memory_of(a)
    if t.dim() < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return read_only(torch.diagonal(t, offset, axis1, axis2))
