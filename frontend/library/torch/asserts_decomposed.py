"""Assertions, of which torch._assert_async raises at once on the CPU."""

from __future__ import annotations

from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch._assert_async")
def assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    if not input:
        raise RuntimeError(assert_msg)


@decomposes("aten._assert_scalar", "torch._assert_scalar")
def assert_scalar(input: float, assert_msg: str) -> None:
    if not input:
        raise RuntimeError(assert_msg)


@decomposes("aten.sym_constrain_range", "torch.sym_constrain_range")
def constrain_range(size: int, *, min: int | None = None, max: int | None = None) -> None:
    low = -(2**63) if min is None else min
    high = 2**63 - 1 if max is None else max
    if high < low:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


@decomposes("aten.sym_constrain_range_for_size", "torch.sym_constrain_range_for_size")
def constrain_range_for_size(size: int, *, min: int | None = None, max: int | None = None) -> None:
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    constrain_range(size, min=0 if min is None else min, max=max)
