"""Reductions of torch.masked: masked elements take the neutral value of the reduction."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.shapes_decomposed import dim_of

Dims = int | tuple[int, ...] | None


def input_mask(input: Tensor, mask: Tensor) -> Tensor:
    """Return a mask as bools, in the shape of the input."""
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.expand(tuple(input.shape)).to(torch.bool)


def kept(input: Tensor, mask: Tensor | None, name: str, value: float) -> Tensor:
    """Return the input, with a value in place of masked elements. name: of the op, whose neutral value this is."""
    if mask is None:
        return input
    if abs(value) == math.inf and not input.is_floating_point():
        if input.dtype == torch.bool or input.is_complex() and name != "logsumexp":
            raise NotImplementedError(f"identity of {name} on {input.dtype} input")
        if not input.is_complex():
            value = torch.iinfo(input.dtype).max if value > 0 else torch.iinfo(input.dtype).min
    return torch.where(input_mask(input, mask), input, value).to(input.dtype)


def summed_dtype(input: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    if dtype is not None:
        return dtype
    return input.dtype if input.is_floating_point() or input.is_complex() else torch.int64


def all_dims(x: Tensor, dim: Dims) -> tuple[int, ...]:
    """Return the reduced dims in order, counted from the front: all of them for None and ()."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(x.dim()))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
    return tuple(sorted(tuple(dim_of(d, x.dim()) for d in dims)))


def count(input: Tensor, mask: Tensor | None, dim: Dims, keepdim: bool) -> Tensor:
    ones = torch.ones_like(input, dtype=torch.int64) if mask is None else input_mask(input, mask)
    return torch.sum(ones, all_dims(input, dim), keepdim)


@decomposes("torch.masked.sum")
def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    return torch.sum(kept(input, mask, "sum", 0), all_dims(input, dim), keepdim, dtype=summed_dtype(input, dtype))


@decomposes("torch.masked.prod")
def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    result = kept(input, mask, "prod", 1).to(summed_dtype(input, dtype))
    for d in all_dims(input, dim)[::-1]:
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
    result = torch.amax(kept(input, mask, "amax", -math.inf), all_dims(input, dim), keepdim)
    return result.to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.amin")
def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    result = torch.amin(kept(input, mask, "amin", math.inf), all_dims(input, dim), keepdim)
    return result.to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.argmax")
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    result = torch.argmax(kept(input, mask, "argmax", -math.inf), dim, keepdim)
    return result.to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.argmin")
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    result = torch.argmin(kept(input, mask, "argmin", math.inf), dim, keepdim)
    return result.to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.mean")
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {kind}"
        )
    return torch.masked.sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask) / count(input, mask, dim, keepdim)


@decomposes("torch.masked.var")
def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: int | None = None, keepdim: bool = False,
    dtype: torch.dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    found = input.dtype if dtype is None else dtype
    inner = found if found.is_floating_point or found.is_complex else torch.float32
    kind = inner if dtype is None else dtype
    x = input - torch.masked.sum(input, dim, keepdim=True, dtype=kind, mask=mask) / count(input, mask, dim, True)
    total = torch.masked.sum(x * x.conj_physical(), dim, keepdim=keepdim, dtype=inner, mask=mask)
    degrees = correction if correction is not None else 0 if unbiased is False else 1
    left = torch.clamp(count(input, mask, dim, keepdim) - degrees, min=0)
    return (total / left.to(total.dtype)).to(kind)


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
    kind = input.dtype if dtype is None else dtype
    d = all_dims(input, dim)[0]
    if input.is_floating_point():
        return torch.nanmedian(kept(input, mask, "median", math.nan), d, keepdim)[0]
    result = torch.nanmedian(kept(input.to(torch.float32), mask, "median", math.nan), d, keepdim)[0]
    if bool(torch.any(torch.isnan(result))):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(kind)


@decomposes("torch.masked.norm")
def norm(
    input: Tensor, ord: float = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    fill = math.inf if ord == -math.inf else 0.0
    x = kept(input, mask, "norm", fill)
    return torch.linalg.vector_norm(x, ord, all_dims(input, dim), keepdim, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.logsumexp")
def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    result = torch.logsumexp(kept(input, mask, "logsumexp", -math.inf), all_dims(input, dim), keepdim)
    return result.to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.logaddexp")
def logaddexp(
    input: Tensor, other: Tensor, *, dtype: torch.dtype | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    x, y = kept(input, input_mask, "logaddexp", -math.inf), kept(other, other_mask, "logaddexp", -math.inf)
    return torch.logaddexp(x, y).to(input.dtype if dtype is None else dtype)


@decomposes("torch.masked.cumsum")
def cumsum(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    d = all_dims(input, dim)[0]
    return torch.cumsum(kept(input, mask, "sum", 0), d, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.cumprod")
def cumprod(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    d = all_dims(input, dim)[0]
    return torch.cumprod(kept(input, mask, "prod", 1), d, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.softmax")
def softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    d = all_dims(input, dim)[0]
    return torch.softmax(kept(input, mask, "amax", -math.inf), d, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.log_softmax")
def log_softmax(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    d = all_dims(input, dim)[0]
    return torch.log_softmax(kept(input, mask, "amax", -math.inf), d, dtype=input.dtype if dtype is None else dtype)


@decomposes("torch.masked.softmin")
def softmin(input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None) -> Tensor:
    d = all_dims(input, dim)[0]
    return torch.softmax(-kept(input, mask, "amin", math.inf), d, dtype=input.dtype if dtype is None else dtype)


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
    length = torch.masked.norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return kept(input, mask, "sum", 0) / torch.clamp(length, min=eps)
