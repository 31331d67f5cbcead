"""Reductions in terms of others."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.linalg_decomposed import are_floating
from scriptc.frontend.library.torch.pointwise_decomposed import inexact, root

_LARGEST_FLOAT = float.fromhex("0x1.fffffep127")


def _var_mean(
    input: Tensor, dim: int | tuple[int, ...] | bool | None, unbiased: bool, keepdim: bool, correction: float | None
) -> tuple[Tensor, Tensor]:
    dims = None if isinstance(dim, bool) else dim
    mean = torch.mean(input, dims, keepdim=True)
    centered = input - mean
    squares = torch.sum(centered * centered, dims, keepdim=keepdim)
    count = input.numel() // max(mean.numel(), 1)
    wanted = dim if isinstance(dim, bool) else unbiased  # var_mean(x, unbiased)
    degrees = (1 if wanted else 0) if correction is None else correction
    return squares / max(float(count) - float(degrees), 0.0), mean if keepdim else mean.reshape(squares.shape)


@decomposes("torch.var_mean", widens=True)
def var_mean(
    input: Tensor, dim: int | tuple[int, ...] | bool | None = None, unbiased: bool = True, keepdim: bool = False, *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if input.is_complex():
        spread, real = _var_mean(input.real, dim, unbiased, keepdim, correction)
        other, imag = _var_mean(input.imag, dim, unbiased, keepdim, correction)
        return spread + other, torch.complex(real, imag)
    return _var_mean(input, dim, unbiased, keepdim, correction)


@decomposes("torch.var", "Tensor.var", widens=True)
def var(
    input: Tensor, dim: int | tuple[int, ...] | bool | None = None, unbiased: bool = True, keepdim: bool = False, *,
    correction: float | None = None,
) -> Tensor:  # fmt: skip
    return torch.var_mean(input, dim, unbiased, keepdim, correction=correction)[0]


@decomposes("torch.std", "Tensor.std", widens=True)
def std(
    input: Tensor, dim: int | tuple[int, ...] | bool | None = None, unbiased: bool = True, keepdim: bool = False, *,
    correction: float | None = None,
) -> Tensor:  # fmt: skip
    return root(torch.var_mean(input, dim, unbiased, keepdim, correction=correction)[0])


@decomposes("torch.std_mean", widens=True)
def std_mean(
    input: Tensor, dim: int | tuple[int, ...] | bool | None = None, unbiased: bool = True, keepdim: bool = False, *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    variance, mean = torch.var_mean(input, dim, unbiased, keepdim, correction=correction)
    return root(variance), mean


@decomposes("torch.logsumexp", "Tensor.logsumexp", "torch.special.logsumexp", widens=True)
def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    x = inexact(input)
    if x.numel() == 0:  # an empty tensor has no extremes
        return torch.log(torch.sum(torch.exp(x), dim, keepdim=keepdim))
    highest = torch.amax(x, dim, keepdim=True)
    shift = torch.where(torch.isinf(highest), 0.0, highest)
    total = torch.log(torch.sum(torch.exp(x - shift), dim, keepdim=True)) + shift
    return total if keepdim else total.reshape(torch.sum(x, dim).shape)


@decomposes("torch.nansum", "Tensor.nansum")
def nansum(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Tensor:
    return torch.sum(torch.where(torch.isnan(input), 0, input), dim, keepdim, dtype=dtype)


@decomposes("torch.nanmean", "Tensor.nanmean")
def nanmean(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Tensor:
    counted = torch.sum(~torch.isnan(input), dim, keepdim)
    return torch.nansum(input, dim, keepdim, dtype=dtype) / counted


@decomposes("torch.aminmax", "Tensor.aminmax")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if dim is None and keepdim:
        dims = tuple(range(input.dim()))
        return torch.return_types.aminmax((torch.amin(input, dims, True), torch.amax(input, dims, True)))
    if dim is None:
        return torch.return_types.aminmax((torch.amin(input), torch.amax(input)))
    return torch.return_types.aminmax((torch.amin(input, dim, keepdim), torch.amax(input, dim, keepdim)))


def sum_of_squares(input: Tensor, dim: int | tuple[int, ...] | None, keepdim: bool) -> Tensor:
    """Return the sum of squares of a floating tensor. The op makes no tensor of the squares."""
    raise NotImplementedError  # an op


def _check_reduced(x: Tensor, ord: float, dim: int | tuple[int, ...] | None) -> None:
    """Raise the error of a norm without a value for no elements, if it is asked for."""
    dims = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not have an "
            "identity"
        )
    for d in dims:
        if x.size(d) == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {d}because this dimension is empty and "
                "the operation does not have an identity"
            )


@decomposes("torch.linalg.vector_norm", widens=True)
def vector_norm(
    x: Tensor, ord: float = 2, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, *,
    dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    if not x.is_complex():
        are_floating(x, "linalg.vector_norm")
    values = x if dtype is None else x.to(dtype)
    if (ord < 0 or ord == math.inf) and x.numel() == 0:
        _check_reduced(x, ord, dim)
    if ord != 2 or values.is_complex():
        values = torch.abs(values)
    if values.dtype != torch.float64 and _LARGEST_FLOAT < abs(float(ord)) < math.inf:  # eager keeps the order in float32
        return torch.pow(torch.sum(torch.pow(values, math.copysign(math.inf, ord)), dim, keepdim), 0.0)
    if ord == math.inf:
        return torch.amax(values, tuple(range(x.dim())) if dim is None else dim, keepdim)
    if ord == -math.inf:
        return torch.amin(values, tuple(range(x.dim())) if dim is None else dim, keepdim)
    if ord == 0:
        return torch.sum(torch.where(values == 0, torch.sign(values), 1.0), dim, keepdim)
    if ord == 1:
        return torch.sum(values, dim, keepdim)
    if ord == 2:
        return root(sum_of_squares(values, dim, keepdim))
    # the gradient is 0 where an element is 0, or all are: the powers have infinite slopes there
    total = torch.sum(torch.pow(torch.where(values == 0, 0.0, values), ord), dim, keepdim)
    return torch.pow(torch.where(total == 0, 0.0, total), 1.0 / ord)


@decomposes("torch.norm", "torch.functional.norm", "Tensor.norm")
def norm(
    input: Tensor, p: float | str | None = "fro", dim: int | tuple[int, ...] | None = None, keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    if p == "nuc":
        return torch.linalg.matrix_norm(input, p, tuple(range(input.dim())) if dim is None else dim, keepdim, dtype=dtype)
    order = 2.0 if p is None or p == "fro" else p
    return torch.linalg.vector_norm(input, order, dim, keepdim, dtype=dtype)


@decomposes("torch.dist", "Tensor.dist", widens=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    return torch.linalg.vector_norm(input - other, p)


@decomposes("torch.renorm", "Tensor.renorm", widens=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("renorm: input needs at least 2 dimensions")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    d = dim % input.dim()
    others = tuple(i for i in range(input.dim()) if i != d)
    length = torch.linalg.vector_norm(input, p, others, keepdim=True)
    return (input * torch.where(length > maxnorm, maxnorm / (length + 1e-7), 1.0)).contiguous()


def _line(input: Tensor, dim: int | None) -> tuple[Tensor, int]:
    if dim is None:
        return input.reshape(-1), 0
    return (input.reshape(1), 0) if input.dim() == 0 else (input, dim % input.dim())


def _median(input: Tensor, dim: int | None, keepdim: bool, ignore_nan: bool) -> tuple[Tensor, Tensor]:
    """Return medians, the lower of two middle elements, and their indices.

    A NaN is the median unless ignored.
    """
    x, d = _line(input, dim)
    if dim is not None and x.size(d) == 0:
        raise IndexError("median(): Expected reduction dim to have non-zero size.")
    if dim is None and x.size(0) == 0:
        lowest = math.nan if x.is_floating_point() else torch.iinfo(x.dtype).min
        return torch.full((), lowest, dtype=x.dtype), torch.full((), 0)
    order = torch.argsort(x, d, stable=True)
    missing = torch.isnan(x)
    valid = x.size(d) - torch.sum(missing, d, keepdim=True)
    first_nan = torch.clamp(valid, max=x.size(d) - 1)
    place = torch.where(valid > 0, (valid - 1) // 2, 0)
    if not ignore_nan:
        place = torch.where(valid == x.size(d), place, first_nan)
    index = torch.gather(order, d, place)
    value = torch.gather(x, d, index)
    if dim is None and x.is_floating_point():  # all elements equal to the median share the gradient
        return torch.amax(torch.where((x == value) | (missing & torch.isnan(value)), x, -math.inf)), index.select(d, 0)
    if dim is None or (not keepdim or input.dim() == 0):
        return value.select(d, 0), index.select(d, 0)
    return value, index


@decomposes("torch.median", "Tensor.median")
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    found = _median(input, dim, keepdim, False)
    return found[0] if dim is None else torch.return_types.median(found)


@decomposes("torch.nanmedian", "Tensor.nanmedian")
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    found = _median(input, dim, keepdim, True)
    return found[0] if dim is None else torch.return_types.nanmedian(found)


@decomposes("torch.msort", "Tensor.msort")
def msort(input: Tensor) -> Tensor:
    return torch.sort(input, 0)[0]


def _quantile(
    input: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, ignore_nan: bool, interpolation: str
) -> Tensor:
    """Return quantiles. The dims of `q` are the first ones."""
    x, d = _line(input, dim)
    ordered = torch.sort(x, d)[0].movedim(d, -1)
    levels = q.reshape(-1) if isinstance(q, Tensor) else torch.full((1,), q, dtype=input.dtype)
    n = ordered.size(-1)
    missing = torch.sum(torch.isnan(ordered), -1, keepdim=True)
    last = n - missing - 1 if ignore_nan else torch.full_like(missing, n - 1)
    place = levels * last.to(input.dtype)
    if interpolation == "lower":
        place = torch.floor(place)
    elif interpolation == "higher":
        place = torch.ceil(place)
    elif interpolation == "nearest":
        place = torch.round(place)
    low = torch.clamp(torch.floor(place), min=0).to(torch.int64)
    high = torch.clamp(torch.ceil(place), min=0).to(torch.int64)
    weight = torch.full_like(place, 0.5) if interpolation == "midpoint" else place - low
    below, above = torch.gather(ordered, -1, low), torch.gather(ordered, -1, high)
    value = torch.lerp(below, above, weight)
    if not ignore_nan:
        value = torch.where(missing > 0, math.nan, value)
    if dim is None:
        shape = (1,) * input.dim() if keepdim else ()
        value = value.reshape(-1, *shape)
    else:
        value = value.movedim(-1, 0)
        value = value.unsqueeze(d + 1) if keepdim and input.dim() > 0 else value
    return value if isinstance(q, Tensor) and q.dim() > 0 else value.select(0, 0)


@decomposes("torch.quantile", "Tensor.quantile")
def quantile(
    input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    return _quantile(input, q, dim, keepdim, False, interpolation)


@decomposes("torch.nanquantile", "Tensor.nanquantile")
def nanquantile(
    input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    return _quantile(input, q, dim, keepdim, True, interpolation)


@decomposes("torch.equal", "Tensor.equal")
def equal(input: Tensor, other: Tensor) -> bool:
    if input.dim() != other.dim():
        return False
    for d in tuple(range(input.dim())):
        if input.size(d) != other.size(d):
            return False
    return bool(torch.all(input == other))


@decomposes("torch.mode", "Tensor.mode")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the most frequent value, the least of several, and its last index."""
    x, d = _line(input, dim)
    order = torch.argsort(x, d, stable=True)
    ordered = torch.gather(x, d, order).movedim(d, -1)
    counts = torch.sum(ordered.unsqueeze(-1) == ordered.unsqueeze(-2), -1)
    best = torch.gather(ordered, -1, torch.argmax(counts, -1, keepdim=True))
    line = x.movedim(d, -1)
    places = torch.where(line == best, torch.arange(line.size(-1)), -1)
    index = torch.amax(places, -1, True)
    value, index = torch.gather(line, -1, index).movedim(-1, d), index.movedim(-1, d)
    if not keepdim or input.dim() == 0:
        value, index = value.select(d, 0), index.select(d, 0)
    return torch.return_types.mode((value, index))


@decomposes("torch._is_all_true", "Tensor._is_all_true")
def is_all_true(input: Tensor) -> Tensor:
    return input.all()


@decomposes("torch._is_any_true", "Tensor._is_any_true")
def is_any_true(input: Tensor) -> Tensor:
    return input.any()
