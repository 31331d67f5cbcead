"""Composite reductions and normalisation."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.linalg_decomposed import are_floating
from scriptc.frontend.library.torch.pointwise_decomposed import inexact

_LARGEST_FLOAT = float.fromhex("0x1.fffffep127")


def _var_mean(
    input: Tensor, dim: int | tuple[int, ...] | bool | None, unbiased: bool, keepdim: bool, correction: float | None
) -> tuple[Tensor, Tensor]:
    dims = None if isinstance(dim, bool) else dim
    mean = torch.mean(input, dims, keepdim=True)
    centred = input - mean
    squares = torch.sum(centred * centred, dims, keepdim=keepdim)
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
    return torch.sqrt(torch.var_mean(input, dim, unbiased, keepdim, correction=correction)[0])


@decomposes("torch.std_mean", widens=True)
def std_mean(
    input: Tensor, dim: int | tuple[int, ...] | bool | None = None, unbiased: bool = True, keepdim: bool = False, *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    variance, mean = torch.var_mean(input, dim, unbiased, keepdim, correction=correction)
    return torch.sqrt(variance), mean


@decomposes("torch.logsumexp", "Tensor.logsumexp", "torch.special.logsumexp", widens=True)
def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    x = inexact(input)
    if x.numel() == 0:  # has no extremes
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
    """Of a floating tensor, without a tensor of the squares."""
    raise NotImplementedError  # an op


@decomposes("torch.linalg.vector_norm", widens=True)
def vector_norm(
    x: Tensor, ord: float = 2, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, *,
    dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    if not x.is_complex():
        are_floating(x, "linalg.vector_norm")
    values = x if dtype is None else x.to(dtype)
    if ord != 2 or values.is_complex():
        values = torch.abs(values)
    if values.dtype != torch.float64 and _LARGEST_FLOAT < abs(float(ord)) < math.inf:  # eager's power is a float32
        return torch.pow(torch.sum(torch.pow(values, math.copysign(math.inf, ord)), dim, keepdim), 0.0)
    if ord == math.inf:
        return torch.amax(values, tuple(range(x.dim())) if dim is None else dim, keepdim)
    if ord == -math.inf:
        return torch.amin(values, tuple(range(x.dim())) if dim is None else dim, keepdim)
    if ord == 0:
        return torch.sum(values != 0, dim, keepdim).to(values.dtype)
    if ord == 1:
        return torch.sum(values, dim, keepdim)
    if ord == 2:
        return torch.sqrt(sum_of_squares(values, dim, keepdim))
    return torch.pow(torch.sum(torch.pow(values, ord), dim, keepdim), 1.0 / ord)


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
    """The lower of two middles; a NaN is the median of what it is in, unless it is ignored."""
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


@decomposes("torch.diff", "Tensor.diff")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = dim % input.dim()
    result = input
    if prepend is not None:
        result = torch.cat([prepend, result], d)
    if append is not None:
        result = torch.cat([result, append], d)
    for _ in range(n):
        size = result.size(d)
        length = max(size - 1, 0)
        high, low = result.narrow(d, size - length, length), result.narrow(d, 0, length)
        result = high ^ low if input.dtype == torch.bool else high - low
    return result


def _spacing(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor | float:
    if x is None:
        return dx
    steps = torch.diff(x, 1, -1 if x.dim() == 1 else dim)
    if x.dim() == 1:
        return steps.reshape(tuple(-1 if i == dim else 1 for i in range(y.dim())))
    return steps


@decomposes("torch.trapezoid", "torch.trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    if y.dim() == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    d = dim % y.dim()
    length = max(y.size(d) - 1, 0)
    pairs = y.narrow(d, y.size(d) - length, length) + y.narrow(d, 0, length)
    return torch.sum(pairs * _spacing(y, x, dx, d), d) / 2


@decomposes("torch.cumulative_trapezoid")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    if y.dim() == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    d = dim % y.dim()
    length = max(y.size(d) - 1, 0)
    pairs = y.narrow(d, y.size(d) - length, length) + y.narrow(d, 0, length)
    return torch.cumsum(pairs * _spacing(y, x, dx, d), d) / 2


def _wide(x: Tensor) -> Tensor:
    """Where statistics are written too, so that not all arguments can be widened."""
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


@decomposes("torch.batch_norm", "torch._C._VariableFunctions.batch_norm")
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """In training the running statistics move towards those of the batch. Half types are computed in float."""
    if input.dim() < 2:
        return _empty_batch(input, weight, bias)
    shape = (1, input.size(1)) + (1,) * (input.dim() - 2)
    x = _wide(input)
    if training or running_mean is None:
        dims = (0, *range(2, input.dim()))
        variance, mean = torch.var_mean(x, dims, correction=0)
        if input.numel() > 0:
            count = input.numel() // input.size(1)
            if running_mean is not None:
                running_mean.copy_((1 - momentum) * running_mean + momentum * mean)
            if running_var is not None:
                running_var.copy_((1 - momentum) * running_var + momentum * variance * (count / max(count - 1, 1)))
    else:
        mean, variance = running_mean, running_var
    mean = _wide(mean).reshape(shape)
    scale = torch.rsqrt(_wide(variance).reshape(shape) + eps)
    if weight is not None:
        scale = scale * weight.reshape(shape)
    shift = -mean * scale if bias is None else bias.reshape(shape) - mean * scale
    return (x * scale + shift).to(input.dtype)


def _empty_batch(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Eager asks for channels only where there are elements."""
    if input.numel() > 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    result = input.clone() if weight is None else input * weight[0:1]
    return result if bias is None else result + bias[0:1]


@decomposes("torch.instance_norm")
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    dims = tuple(range(2, input.dim()))
    shape = (1, -1) + (1,) * (input.dim() - 2)
    x = _wide(input)
    if use_input_stats:
        variance, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
        count = input.numel() // max(input.size(0) * input.size(1), 1)
        if running_mean is not None:
            seen = torch.mean(mean, 0).reshape(-1)
            running_mean.copy_((1 - momentum) * running_mean + momentum * seen)
        if running_var is not None:
            spread = torch.mean(variance, 0).reshape(-1) * (count / max(count - 1, 1))
            running_var.copy_((1 - momentum) * running_var + momentum * spread)
    else:
        assert running_mean is not None and running_var is not None
        mean, variance = running_mean.reshape(shape), running_var.reshape(shape)
    result = (x - mean) * torch.rsqrt(variance + eps)
    if weight is not None:
        result = result * weight.reshape(shape)
    return (result if bias is None else result + bias.reshape(shape)).to(input.dtype)


@decomposes("torch.rms_norm", "torch.nn.functional.rms_norm", widens=True)
def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    dims = tuple(range(-len(normalized_shape), 0))
    small = torch.finfo(input.dtype).eps if eps is None else eps
    result = input * torch.rsqrt(torch.mean(input * input, dims, keepdim=True) + small)
    return result if weight is None else result * weight


@decomposes("torch.native_layer_norm")
def native_layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    dims = tuple(range(-len(normalized_shape), 0))
    variance, mean = torch.var_mean(input, dims, correction=0, keepdim=True)
    return torch.layer_norm(input, normalized_shape, weight, bias, eps), mean, torch.rsqrt(variance + eps)


@decomposes("torch.native_group_norm")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    variance, mean = torch.var_mean(input.reshape(N, group, -1), 2, correction=0)
    return torch.group_norm(input, group, weight, bias, eps), mean, torch.rsqrt(variance + eps)


@decomposes("torch.native_batch_norm")
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if not training:
        result = torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
        return result, torch.zeros(0, dtype=input.dtype), torch.zeros(0, dtype=input.dtype)
    variance, mean = torch.var_mean(input, (0, *range(2, input.dim())), correction=0)
    result = torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
    return result, mean, torch.rsqrt(variance + eps)


def _quantile(
    input: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, ignore_nan: bool, interpolation: str
) -> Tensor:
    """Dims of q stand in front."""
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
    """The most frequent value, of several the least, and its last place."""
    x, d = _line(input, dim)
    order = torch.argsort(x, d, stable=True)
    ordered = torch.gather(x, d, order).movedim(d, -1)
    counts = torch.sum(ordered.unsqueeze(-1) == ordered.unsqueeze(-2), -1)
    best = torch.gather(ordered, -1, torch.argmax(counts, -1, keepdim=True))
    line = x.movedim(d, -1)
    places = torch.where(line == best, torch.arange(line.size(-1)), -1)
    index = torch.amax(places, -1, True)
    value, index = best.movedim(-1, d), index.movedim(-1, d)
    if not keepdim or input.dim() == 0:
        value, index = value.select(d, 0), index.select(d, 0)
    return torch.return_types.mode((value, index))


@decomposes("torch.histc", "Tensor.histc")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    flat = input.reshape(-1)
    low, high = float(min), float(max)
    if low == high and flat.numel() > 0:
        low, high = float(torch.amin(flat)), float(torch.amax(flat))
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    torch.linspace(low, high, bins + 1, dtype=input.dtype)  # the edges, which have to fit
    at = torch.clamp(((flat - low) / (high - low) * bins).to(torch.int64), 0, bins - 1)
    inside = (flat >= low) & (flat <= high)
    return torch.zeros(bins, dtype=input.dtype).scatter_add(0, at, inside.to(input.dtype))


@decomposes("torch._weight_norm")
def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g * v / |v|, the norm being over all dims but one (torch.nn.utils.parametrizations.weight_norm)."""
    if dim == -1:
        return v * (g / torch.sqrt(torch.sum(v * v)))
    others = tuple(d for d in range(v.dim()) if d != dim % v.dim())
    return v * (g / torch.sqrt(torch.sum(v * v, others, keepdim=True)))


@decomposes("torch._is_all_true", "Tensor._is_all_true")
def is_all_true(input: Tensor) -> Tensor:
    return input.all()


@decomposes("torch._is_any_true", "Tensor._is_any_true")
def is_any_true(input: Tensor) -> Tensor:
    return input.any()
