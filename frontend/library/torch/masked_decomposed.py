"""Reductions of torch.masked: masked elements take the neutral value of the reduction."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes

Dims = int | tuple[int, ...] | None


def kept(input: Tensor, mask: Tensor | None, value: float, dtype: torch.dtype | None = None) -> Tensor:
    x = input if dtype is None else input.to(dtype)
    return x if mask is None else torch.where(mask, x, value).to(x.dtype)


def lowest(x: Tensor) -> float:
    return -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min


def highest(x: Tensor) -> float:
    return math.inf if x.is_floating_point() else torch.iinfo(x.dtype).max


def all_dims(x: Tensor, dim: Dims) -> Dims:
    """Return `dim`, or all dims for None and ()."""
    return tuple(range(x.dim())) if dim is None or (not isinstance(dim, int) and len(dim) == 0) else dim


def count(input: Tensor, mask: Tensor | None, dim: Dims, keepdim: bool) -> Tensor:
    ones = torch.ones_like(input, dtype=torch.int64)
    return torch.sum(kept(ones, mask, 0), all_dims(input, dim), keepdim)


@decomposes("torch.masked.sum")
def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    return torch.sum(kept(input, mask, 0, dtype), all_dims(input, dim), keepdim, dtype=dtype)


@decomposes("torch.masked.prod")
def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    dims = all_dims(input, dim)
    if dtype is None and not input.is_floating_point() and not input.is_complex():
        dtype = torch.int64
    result = kept(input, mask, 1, dtype)
    listed = (dims,) if isinstance(dims, int) else dims or ()
    for d in sorted(tuple(d % max(input.dim(), 1) for d in listed))[::-1]:
        result = torch.prod(result, d, keepdim)
    return result


@decomposes("torch.masked.amax")
def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    return torch.amax(kept(input, mask, lowest(input), dtype), all_dims(input, dim), keepdim)


@decomposes("torch.masked.amin")
def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    return torch.amin(kept(input, mask, highest(input), dtype), all_dims(input, dim), keepdim)


@decomposes("torch.masked.argmax")
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    return torch.argmax(kept(input, mask, lowest(input), dtype), dim, keepdim).to(
        input.dtype if dtype is None else dtype
    )


@decomposes("torch.masked.argmin")
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    return torch.argmin(kept(input, mask, highest(input), dtype), dim, keepdim).to(
        input.dtype if dtype is None else dtype
    )


@decomposes("torch.masked.mean")
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    total = torch.sum(kept(input, mask, 0, dtype), all_dims(input, dim), keepdim)
    return total / count(input, mask, dim, keepdim).to(total.dtype)


@decomposes("torch.masked.var")
def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: int | None = None, keepdim: bool = False,
    dtype: torch.dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    x = input if dtype is None else input.to(dtype)
    dims = all_dims(x, dim)
    mean = torch.sum(kept(x, mask, 0), dims, True) / count(x, mask, dim, True)
    centered = kept(x - mean, mask, 0)
    degrees = correction if correction is not None else 0 if unbiased is False else 1
    left = count(x, mask, dim, keepdim) - degrees
    return torch.sum(centered * centered.conj_physical(), dims, keepdim) / torch.clamp(left, min=0).to(x.dtype)


@decomposes("torch.masked.std")
def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: int | None = None, keepdim: bool = False,
    dtype: torch.dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    return torch.sqrt(
        torch.masked.var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask)
    )


@decomposes("torch.masked.median")
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    return torch.nanmedian(kept(input, mask, math.nan, dtype), dim, keepdim)[0]


@decomposes("torch.masked.norm")
def norm(
    input: Tensor, ord: float = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    fill = math.inf if ord == -math.inf else 0.0
    return torch.linalg.vector_norm(kept(input, mask, fill, dtype), ord, all_dims(input, dim), keepdim)


@decomposes("torch.masked.logsumexp")
def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    result = torch.logsumexp(kept(input, mask, -math.inf, dtype), all_dims(input, dim), keepdim)
    return result.to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.logaddexp")
def logaddexp(
    input: Tensor, other: Tensor, *, dtype: torch.dtype | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    return torch.logaddexp(kept(input, input_mask, -math.inf, dtype), kept(other, other_mask, -math.inf, dtype))


@decomposes("torch.masked.cumsum")
def cumsum(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    return torch.cumsum(kept(input, mask, 0, dtype), dim, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.cumprod")
def cumprod(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    return torch.cumprod(kept(input, mask, 1, dtype), dim, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.softmax")
def softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    return torch.softmax(kept(input, mask, -math.inf, dtype), dim)


@decomposes("torch.masked.log_softmax")
def log_softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    return torch.log_softmax(kept(input, mask, -math.inf, dtype), dim)


@decomposes("torch.masked.softmin")
def softmin(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    return torch.softmax(-kept(input, mask, math.inf, dtype), dim)


@decomposes("torch.masked.normalize")
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    x = kept(input, mask, 0, dtype)
    length = torch.masked.norm(x, ord, dim, keepdim=True, mask=mask)
    return x / torch.clamp(length, min=eps)
