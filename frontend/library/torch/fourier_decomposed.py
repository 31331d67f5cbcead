"""Discrete Fourier transforms.

A transform of n = n1 n2 points is n2 transforms of n1 points, a multiplication by roots of unity, and n1 transforms of n2
points (Cooley and Tukey, 1965). Each of these steps is one product of matrices. n1 is the largest divisor of n up to its
square root, so that a transform takes about 2 n sqrt(n) multiplications, or n^2 for a prime n.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES


@functools.cache
def divisor(n: int) -> int:
    """Return the largest divisor of n up to its square root."""
    d = math.isqrt(n)
    while n % d:
        d -= 1
    return d


def roots(n: int, sign: int) -> tuple[Tensor, Tensor]:
    """Return the real and imaginary parts of exp(sign 2 pi i k / n) in float64."""
    angle = torch.arange(n, dtype=torch.float64) * (sign * 2 * math.pi / n)
    return torch.cos(angle), torch.sin(angle)


def powers(rows: int, columns: int, step: int, n: int) -> Tensor:
    """Return [rows, columns] indices into n roots: j k step modulo n for row j and column k."""
    return torch.arange(rows).unsqueeze(1) * torch.arange(columns) * step % n


def matrix(count: int, cos: Tensor, sin: Tensor) -> Tensor:
    """Return the matrix that transforms `count` real parts followed by `count` imaginary parts."""
    turns = powers(count, count, cos.size(0) // count, cos.size(0))
    real, imag = cos[turns], sin[turns]
    return torch.cat((torch.cat((real, imag), 1), torch.cat((-imag, real), 1)))


def transform(x: Tensor, sign: int) -> Tensor:
    """Transform the last dim without a factor: sum_j x[j] exp(sign 2 pi i j k / n)."""
    n = x.size(-1)
    n1 = divisor(n)
    n2 = n // n1
    shape = x.shape[:-1]
    parts = torch.cat((x.real, x.imag), -1) if x.is_complex() else x
    cos, sin = roots(n, sign)
    cos, sin = cos.to(parts.dtype), sin.to(parts.dtype)
    if n1 > 1:
        first = parts.reshape(*shape, -1, n2).mT  # [..., n2, n1 or 2 n1]
        inner = first @ matrix(n1, cos, sin)[: first.size(-1)]
        real, imag = inner[..., :n1], inner[..., n1:]
        turns = powers(n2, n1, 1, n)
        c, s = cos[turns], sin[turns]
        parts = torch.cat(((real * c - imag * s).mT, (real * s + imag * c).mT), -1)  # [..., n1, 2 n2]
    else:
        parts = parts.unsqueeze(-2)
    outer = parts @ matrix(n2, cos, sin)[: parts.size(-1)]
    return torch.complex(outer[..., :n2].mT.reshape(*shape, n), outer[..., n2:].mT.reshape(*shape, n))


def prepared(input: Tensor, n: int | None, dim: int) -> Tensor:
    """Return the input as floats, with `dim` moved to the end and cut or padded to n points."""
    if input.dtype == torch.float16 or input.dtype == torch.bfloat16:
        raise RuntimeError(f"Unsupported dtype {'Half' if input.dtype == torch.float16 else 'BFloat16'}")
    if not input.is_complex() and not input.is_floating_point():
        input = input.to(torch.get_default_dtype())
    size = input.size(dim)
    points = size if n is None else n
    if points < 1:
        raise RuntimeError(f"Invalid number of data points ({points}) specified")
    x = input.transpose(dim, -1) if input.dim() > 1 else input
    return x[..., :points] if points <= size else F.pad(x, (0, points - size))


def scaled(x: Tensor, n: int, norm: str | None, inverse: bool) -> Tensor:
    """Return x scaled by a named normalization."""
    if norm == "ortho":
        return x * (1 / math.sqrt(n))
    if norm is None or norm == "backward":
        return x * (1 / n) if inverse else x
    if norm == "forward":
        return x if inverse else x * (1 / n)
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def back(x: Tensor, dim: int) -> Tensor:
    """Move the last dim back to its place."""
    return x.transpose(dim, -1) if x.dim() > 1 else x


def complex_transform(input: Tensor, n: int | None, dim: int, norm: str | None, inverse: bool) -> Tensor:
    x = prepared(input, n, dim)
    return back(scaled(transform(x, 1 if inverse else -1), x.size(-1), norm, inverse), dim)


@decomposes("torch.fft.fft")
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return complex_transform(input, n, dim, norm, False)


@decomposes("torch.fft.ifft")
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    return complex_transform(input, n, dim, norm, True)


@decomposes("torch.fft.rfft")
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    if input.is_complex():
        raise RuntimeError(f"rfft expects a real input tensor, but got {NAMES[input.dtype]}")
    x = prepared(input, n, dim)
    points = x.size(-1)
    half = transform(x, -1)[..., : points // 2 + 1].contiguous()
    return back(scaled(half, points, norm, False), dim)


def real_of_half(x: Tensor, points: int) -> Tensor:
    """Return the real signal of `points` whose transform is x and its reversed conjugate."""
    rest = x[..., 1 : (points + 1) // 2].flip(-1)
    return transform(torch.cat((x, torch.conj_physical(rest)), -1), 1).real


@decomposes("torch.fft.irfft")
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    points = 2 * (input.size(dim) - 1) if n is None else n
    if points < 1:
        raise RuntimeError(f"Invalid number of data points ({points}) specified")
    x = prepared(input, points // 2 + 1, dim)
    whole = x if x.is_complex() else torch.complex(x, torch.zeros_like(x))
    return back(scaled(real_of_half(whole, points), points, norm, True), dim)


# ---- several dims ----
def dims_of(input: Tensor, s: int | Sequence[int] | None, dim: int | Sequence[int] | None) -> tuple[int, ...]:
    if isinstance(s, int):
        s = (s,)
    if isinstance(dim, int):
        return (dim % input.dim(),)
    if dim is not None:
        return tuple([d % input.dim() for d in dim])
    return tuple(range(0 if s is None else input.dim() - len(s), input.dim()))


def sizes_of(s: int | Sequence[int] | None, dims: Sequence[int]) -> tuple[int | None, ...]:
    if isinstance(s, int):
        s = (s,)
    return tuple([None for _ in dims]) if s is None else tuple([None if n == -1 else n for n in s])


def over_dims(
    x: Tensor, sizes: tuple[int | None, ...], dims: tuple[int, ...], norm: str | None, inverse: bool
) -> Tensor:
    for n, d in zip(sizes, dims, strict=True):
        x = complex_transform(x, n, d, norm, inverse)
    return x


@decomposes("torch.fft.fftn")
def fftn(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    dims = dims_of(input, s, dim)
    return over_dims(input, sizes_of(s, dims), dims, norm, False)


@decomposes("torch.fft.ifftn")
def ifftn(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    dims = dims_of(input, s, dim)
    return over_dims(input, sizes_of(s, dims), dims, norm, True)


@decomposes("torch.fft.rfftn")
def rfftn(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    dims = dims_of(input, s, dim)
    sizes = sizes_of(s, dims)
    return over_dims(rfft(input, sizes[-1], dims[-1], norm), sizes[:-1], dims[:-1], norm, False)


@decomposes("torch.fft.irfftn")
def irfftn(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    dims = dims_of(input, s, dim)
    sizes = sizes_of(s, dims)
    return irfft(over_dims(input, sizes[:-1], dims[:-1], norm, True), sizes[-1], dims[-1], norm)


@decomposes("torch.fft.fft2")
def fft2(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    return fftn(input, s, dim, norm)


@decomposes("torch.fft.ifft2")
def ifft2(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    return ifftn(input, s, dim, norm)


@decomposes("torch.fft.rfft2")
def rfft2(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    return rfftn(input, s, dim, norm)


@decomposes("torch.fft.irfft2")
def irfft2(input: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    return irfftn(input, s, dim, norm)


# ---- as ATen names them ----
_NORMS = ("backward", "ortho", "forward")  # of a forward transform: no factor, 1 / sqrt(n), 1 / n


@decomposes("aten._fft_r2c")
def fft_r2c(self: Tensor, dim: list[int], normalization: int, onesided: bool) -> Tensor:
    norm = _NORMS[normalization]
    first = rfft(self, None, dim[-1], norm) if onesided else fft(self, None, dim[-1], norm)
    return over_dims(first, sizes_of(None, dim[:-1]), tuple(dim[:-1]), norm, False)


@decomposes("aten._fft_c2r")
def fft_c2r(self: Tensor, dim: list[int], normalization: int, last_dim_size: int) -> Tensor:
    norm = _NORMS[2 - normalization]
    return irfft(over_dims(self, sizes_of(None, dim[:-1]), tuple(dim[:-1]), norm, True), last_dim_size, dim[-1], norm)


@decomposes("aten._fft_c2c")
def fft_c2c(self: Tensor, dim: list[int], normalization: int, forward: bool) -> Tensor:
    norm = _NORMS[normalization if forward else 2 - normalization]
    return over_dims(self, sizes_of(None, dim), tuple(dim), norm, not forward)


# ---- frequencies ----
@decomposes("torch.fft.fftfreq")
def fftfreq(n: int, d: float = 1.0, *, dtype: torch.dtype | None = None) -> Tensor:
    k = torch.arange(n, dtype=torch.get_default_dtype() if dtype is None else dtype)
    return torch.where(k < (n + 1) // 2, k, k - n) * (1.0 / (n * d))


@decomposes("torch.fft.rfftfreq")
def rfftfreq(n: int, d: float = 1.0, *, dtype: torch.dtype | None = None) -> Tensor:
    return torch.arange(n // 2 + 1, dtype=torch.get_default_dtype() if dtype is None else dtype) * (1.0 / (n * d))


def rolled(input: Tensor, dim: int | list[int] | None, half: int) -> Tensor:
    """Roll dims by half of their size, rounded down (half = 0) or up (half = 1)."""
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        input = input.roll((input.size(d) + half) // 2, d)
    return input


@decomposes("torch.fft.fftshift")
def fftshift(input: Tensor, dim: int | list[int] | None = None) -> Tensor:
    return rolled(input, dim, 0)


@decomposes("torch.fft.ifftshift")
def ifftshift(input: Tensor, dim: int | list[int] | None = None) -> Tensor:
    return rolled(input, dim, 1)
