"""Products of groups of rows, as mixtures of experts take them: `torch._grouped_mm`."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def _check_strides(mat: Tensor) -> None:
    row, column = mat.stride(-2), mat.stride(-1)
    if row == 1 and column >= max(1, mat.shape[-2]):
        step = column
    elif column == 1 and row >= max(1, mat.shape[-1]):
        step = row
    else:
        raise RuntimeError("Invalid strides/sizes")
    if step * mat.element_size() % 16 != 0:
        raise RuntimeError("strides should be multiple of 16 bytes")


@decomposes("torch._grouped_mm", "aten._grouped_mm")
def grouped_mm(
    input: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Multiply each group by its matrix. `offs` holds the end of each group along the dim that is split.

    ATen leaves rows behind the last group undefined; they are zero here.
    """
    if input.dtype not in _DTYPES or mat2.dtype not in _DTYPES:
        raise RuntimeError("Expected Float32, BFloat16 or Float16 matrices")
    if input.dim() not in (2, 3) or mat2.dim() not in (2, 3):
        raise RuntimeError("mat_a and mat_b have to be 2 or 3d")
    if input.dim() == 2 and mat2.dim() == 2:
        same = input.shape[1] == mat2.shape[0]
    else:
        same = input.shape[-1] == mat2.shape[-2]
    if not same:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    _check_strides(input)
    _check_strides(mat2)
    if (offs is None) == (input.dim() == 2 or mat2.dim() == 2):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype != input.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        return torch.bmm(input, mat2)
    if offs.dtype != torch.int32:
        raise RuntimeError("Offsets have to be int32")
    ends = offs.tolist()
    if (input.dim() == 3 and input.shape[0] != len(ends)) or (mat2.dim() == 3 and mat2.shape[0] != len(ends)):
        raise RuntimeError("matrix batch sizes have to match")
    start = 0
    if input.dim() == 2 and mat2.dim() == 2:
        out = torch.zeros(len(ends), input.shape[0], mat2.shape[1], dtype=input.dtype)
        for group, end in enumerate(ends):
            out[group] = input[:, start:end] @ mat2[start:end]
            start = end
        return out
    out = torch.zeros(input.shape[-2], mat2.shape[-1], dtype=input.dtype)
    for group, end in enumerate(ends):
        if input.dim() == 2:
            out[start:end] = input[start:end] @ mat2[group]
        else:
            out[:, start:end] = input[group] @ mat2[:, start:end]
        start = end
    return out
