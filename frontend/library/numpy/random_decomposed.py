"""The functions of NumPy's global generator, `np.random`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from scriptc.frontend.library.numpy.arrays_decomposed import (
    array_of,
    dtype_of,
    is_array,
    is_scalar,
    memory_of,
    refuse_form,
    tensor_of,
)
from scriptc.frontend.library.numpy.creation_decomposed import sizes_of
from scriptc.frontend.library.registry import decomposes

# ---- what handlers serve ----


def uniforms(size: Any, low: float, scale: float) -> torch.Tensor:
    """Return `low` plus `scale` times new float64 numbers in [0, 1)."""
    raise NotImplementedError


def normals(size: Any, loc: float, scale: float) -> torch.Tensor:
    """Return `loc` plus `scale` times new normal float64 numbers."""
    raise NotImplementedError


def integers(low: int, high: int, size: Any) -> torch.Tensor:
    """Return new int64 numbers from `low` to `high` - 1."""
    raise NotImplementedError


def shuffled(n: int) -> torch.Tensor:
    """Return the numbers from 0 to `n` - 1 in a new order."""
    raise NotImplementedError


# ---- numbers ----


def dims_of(size: Any) -> Any:
    return () if size is None else sizes_of(size)


def drawn(t: torch.Tensor, size: Any) -> Any:
    """Return an array, or a Python number where no size was given."""
    return t.item() if size is None else array_of(t)


@decomposes("numpy.random.random", "numpy.random.random_sample", "numpy.random.ranf", "numpy.random.sample")
def random_sample(size: Any = None) -> Any:
    return drawn(uniforms(dims_of(size), 0.0, 1.0), size)


@decomposes("numpy.random.rand")
def rand(*sizes: int) -> Any:
    return random_sample(None if len(sizes) == 0 else sizes)


@decomposes("numpy.random.standard_normal")
def standard_normal(size: Any = None) -> Any:
    return drawn(normals(dims_of(size), 0.0, 1.0), size)


@decomposes("numpy.random.randn")
def randn(*sizes: int) -> Any:
    return standard_normal(None if len(sizes) == 0 else sizes)


@decomposes("numpy.random.uniform")
def uniform(low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
    if not is_scalar(low) or not is_scalar(high):
        refuse_form("np.random.uniform", "only numbers are supported as bounds")
    scale = float(high) - float(low)
    if not math.isfinite(scale):
        raise OverflowError("Range exceeds valid bounds")
    return drawn(uniforms(dims_of(size), float(low), scale), size)


@decomposes("numpy.random.normal")
def normal(loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
    if not is_scalar(loc) or not is_scalar(scale):
        refuse_form("np.random.normal", "only numbers are supported as loc and scale")
    spread = float(scale)
    if math.copysign(1.0, spread) < 0 and not math.isnan(spread):
        raise ValueError("scale < 0")
    return drawn(normals(dims_of(size), float(loc), spread), size)


@decomposes("numpy.random.randint")
def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    if not is_scalar(low) or not (high is None or is_scalar(high)):
        refuse_form("np.random.randint", "only numbers are supported as bounds")
    kind = dtype_of(dtype)
    if kind != torch.int64 and kind != torch.int32:
        refuse_form("np.random.randint", "only the dtypes int64 and int32 are supported")
    first, last = (0, int(low)) if high is None else (int(low), int(high))
    sizes = dims_of(size)
    if size is not None and math.prod(sizes) == 0:
        return array_of(torch.zeros(sizes, dtype=kind))
    if kind == torch.int32:
        if first < -(2**31):
            raise ValueError("low is out of bounds for int32")
        if last > 2**31:
            raise ValueError("high is out of bounds for int32")
    if first >= last:
        raise ValueError("high <= 0" if first == 0 else "low >= high")
    found = integers(first, last, sizes)
    if size is None and dtype is int:
        return found.item()
    return array_of(found.to(kind))[()] if size is None else array_of(found.to(kind))


# ---- orders and choices ----


@decomposes("numpy.random.permutation")
def permutation(x: Any) -> Any:
    if is_scalar(x):
        if isinstance(x, (float, np.floating)):
            raise IndexError("x must be an integer or at least 1-dimensional")
        return array_of(shuffled(max(int(x), 0)))
    a = np.asarray(x)
    if a.ndim == 0:
        raise IndexError("x must be an integer or at least 1-dimensional")
    return a[array_of(shuffled(len(a)))]


@decomposes("numpy.random.shuffle")
def shuffle(x: Any) -> None:
    if is_array(x):
        t = memory_of(x)
        if t.dim() == 0:
            raise TypeError("len() of unsized object")
        t.copy_(t[shuffled(len(x))])
    elif isinstance(x, list):
        order = shuffled(len(x))
        old = x[:]
        x[:] = [old[i] for i in order.tolist()]
    else:
        refuse_form("np.random.shuffle", "only arrays and lists are supported")


@decomposes("numpy.random.choice")
def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
    count = check_population(a, size)
    sizes = dims_of(size)
    if p is not None:
        if not replace:
            refuse_form("np.random.choice", "p is not supported without replacement")
        found = weighted(p, count, sizes)
    elif replace:
        found = torch.from_numpy(randint(0, count, sizes))
    else:
        total = math.prod(sizes)
        if total > count:
            raise ValueError("Cannot take a larger sample than population when 'replace=False'")
        found = shuffled(max(count, 0))[:total].reshape(sizes)
    if is_scalar(a):
        return drawn(found, size)
    return np.asarray(a)[found.item()] if size is None else array_of(tensor_of(a)[found])


def check_population(a: Any, size: Any) -> int:
    """Return the number of elements to choose from; raise if there are none."""
    some = size is None or math.prod(sizes_of(size)) != 0
    if is_scalar(a):
        if isinstance(a, (float, np.floating)):
            raise ValueError("a must be 1-dimensional or an integer")
        if a <= 0 and some:
            raise ValueError("a must be greater than 0 unless no samples are taken")
        return int(a)
    t = tensor_of(a)
    if t.dim() == 0:
        refuse_form("np.random.choice", "an array without dims is not supported")
    if t.dim() != 1:
        raise ValueError("a must be 1-dimensional")
    if t.size(0) == 0 and some:
        raise ValueError("'a' cannot be empty unless no samples are taken")
    return t.size(0)


def weighted(p: Any, count: int, sizes: Any) -> torch.Tensor:
    """Return indices drawn with the probabilities p."""
    weights = tensor_of(p, torch.float64)
    if weights.dim() != 1:
        raise ValueError("'p' must be 1-dimensional")
    if weights.numel() != count:
        raise ValueError("'a' and 'p' must have same size")
    total = weights.sum().item()
    if math.isnan(total):
        raise ValueError("probabilities contain NaN")
    if bool((weights < 0).any()):
        raise ValueError("probabilities are not non-negative")
    eps = torch.finfo(tensor_of(p).dtype).eps if is_array(p) and tensor_of(p).is_floating_point() else 2.0**-52
    if abs(total - 1.0) > max(math.sqrt(2.0**-52), math.sqrt(eps)):
        raise ValueError("probabilities do not sum to 1")
    sums = torch.cumsum(weights, 0)
    return torch.searchsorted(sums / sums[-1], uniforms(sizes, 0.0, 1.0), right=True)
