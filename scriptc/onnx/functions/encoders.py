"""Operators of ai.onnx.ml that encode and scale features."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def index_of(x: Tensor, keys: Tensor) -> Tensor:
    """Return the index of each element in sorted keys; their number for elements that are no key. A key may be NaN."""
    count = keys.shape[0]
    at = torch.clamp(torch.searchsorted(keys, x.to(keys.dtype)), max=count - 1)
    found = keys.index_select(0, at.reshape(-1)).reshape(x.shape)
    if x.is_floating_point():
        at = torch.where(torch.isnan(x), count - 1, at)  # the last of sorted keys
        found = torch.where(torch.isnan(x), keys[count - 1], found)
        return torch.where((found == x) | torch.isnan(found) & torch.isnan(x), at, count)
    return torch.where(found == x, at, count)


def looked_up(x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the value of each element; `values` has one more element than `keys`, the default."""
    return values.index_select(0, index_of(x, keys).reshape(-1)).reshape(x.shape)


def one_hot_categories(x: Tensor, categories: Tensor, may_be_unknown: bool) -> Tensor:
    made = x.to(torch.int64).unsqueeze(-1) == categories
    if not may_be_unknown and not bool(torch.all(torch.any(made, -1))):
        raise ValueError("an element is none of the categories")
    return made.to(torch.float32)


def imputed(x: Tensor, replaced: float, values: Tensor) -> Tensor:
    """Replace elements that equal a number, which may be NaN."""
    hit = x == replaced
    if x.is_floating_point() and replaced != replaced:
        hit = torch.isnan(x)
    return torch.where(hit, values, x)


def normalized(x: Tensor, norm: str) -> Tensor:
    """Divide rows by their norm; rows of which the norm is 0 stay."""
    wide = x.to(torch.float32)
    if norm == "MAX":
        size = torch.amax(wide, -1, keepdim=True)
    elif norm == "L1":
        size = torch.sum(torch.abs(wide), -1, keepdim=True)
    else:
        size = torch.sqrt(torch.sum(wide * wide, -1, keepdim=True))
    return torch.where(size == 0, wide, wide / size)


def joined_features(parts, sizes) -> Tensor:
    """Join features in one row each, each part cut or filled with zeros to its size."""
    made = []
    for i in range(len(sizes)):
        rows = parts[i].reshape(parts[i].shape[0], -1).to(torch.float32)
        width = min(rows.shape[1], sizes[i])
        made.append(F.pad(rows[:, :width], (0, sizes[i] - width)))
    return torch.cat(made, 1)


def labeled_rows(x: Tensor, labels):
    """Return a dict of each row."""
    return [dict(zip(labels, row, strict=True)) for row in x.tolist()]


def dict_features(x, keys, zero, dtype: torch.dtype) -> Tensor:
    """Return the values of keys as one row, zero for keys that the dict lacks."""
    return torch.tensor([[x.get(key, zero) for key in keys]], dtype=dtype)
