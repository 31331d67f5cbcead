"""torch._assert_async, which raises at once on the CPU."""

from __future__ import annotations

from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch._assert_async")
def assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    if not input:
        raise RuntimeError(assert_msg)
