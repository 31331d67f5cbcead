"""`torch.hash_tensor`, and uint64 tensors as the int64 tensors that have their bits."""

from __future__ import annotations

import torch
from torch import Tensor


def hash_bits(input: Tensor, dim: int | tuple[int, ...] = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """Return the exclusive or of the elements along dims, as float64 or int64 bits (aten::hash_tensor)."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.is_complex():
        name = "ComplexDouble" if input.dtype == torch.complex128 else "ComplexFloat"
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{name}'")
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(given) == 0 and input.numel() == 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    rank = max(input.dim(), 1)
    for d in given:
        if d < -rank or d >= rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
    dims = tuple(d % rank for d in given) if len(given) > 0 else tuple(range(input.dim()))
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    bits = input.to(torch.float64).view(torch.int64) if input.is_floating_point() else input.to(torch.int64)
    if input.dim() == 0:
        return bits.clone()
    for d in dims:
        if input.size(d) == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    for d in dims:
        bits = _folded(bits, d)
    if keepdim:
        return bits
    for d in sorted(dims, reverse=True):
        bits = bits.select(d, 0)
    return bits


def _folded(x: Tensor, dim: int) -> Tensor:
    """Return the exclusive or along a dim, which keeps one element: halves are joined until one is left."""
    while x.size(dim) > 1:
        half = x.size(dim) // 2
        joined = torch.bitwise_xor(x.narrow(dim, 0, half), x.narrow(dim, half, half))
        x = torch.cat([joined, x.narrow(dim, 2 * half, x.size(dim) - 2 * half)], dim)
    return x


def converted(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return unsigned elements, whose bits `x` has, in another dtype. Floats are rounded once."""
    if dtype == torch.bool:
        return x != 0
    if not dtype.is_floating_point and not dtype.is_complex:
        return x.to(dtype)
    wide = torch.float64 if dtype.is_complex else dtype
    # Half of a large element, with a bit that says whether anything was cut off, rounds as the element does.
    half = torch.bitwise_or(torch.bitwise_and(torch.bitwise_right_shift(x, 1), 2**63 - 1), torch.bitwise_and(x, 1))
    return torch.where(x < 0, half.to(wide) * 2, x.to(wide)).to(dtype)
