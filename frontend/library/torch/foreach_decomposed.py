"""Helpers of torch's loops over lists of tensors: loops that clip gradients or update parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes


@decomposes("torch.utils._foreach_utils._has_foreach_support")
def has_foreach_support(tensors: list[Tensor], device: torch.device) -> bool:
    """Choose the loop in Python: the foreach functions of a CPU do the same for one tensor after the other."""
    return False


@decomposes("torch._C._group_tensors_by_device_and_dtype")
def group_tensors(lists: list[list[Tensor]], with_indices: bool = False) -> dict[Any, Any]:
    groups: dict[Any, Any] = {}
    for i in range(len(lists[0])):
        key = (lists[0][i].device, lists[0][i].dtype)
        if key not in groups:
            groups[key] = ([[] for _ in lists], [])
        for k in range(len(lists)):
            groups[key][0][k].append(lists[k][i])
        if with_indices:
            groups[key][1].append(i)
    return groups
