"""The references of the ops of 16-bit integers (ir/ops/integers.py). A packed weight is the weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def references() -> Mapping[str, Callable[..., Any]]:
    import torch

    def matmul(x: Any, packed: Any, size: int) -> Any:
        return torch.matmul(x.to(torch.int32), packed.to(torch.int32))

    def conv2d(
        x: Any, packed: Any, channels_last: bool, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        made = torch.conv2d(x.to(torch.float64), packed.to(torch.float64), None, stride, padding, dilation, groups)
        made = made.to(torch.int64).to(torch.int32)
        return made.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)

    return {
        "integers_columns": lambda matrix: matrix.clone(), "integers_filters": lambda weight: weight.clone(),
        "integers_matmul": matmul, "integers_conv2d": conv2d,
    }  # fmt: skip
