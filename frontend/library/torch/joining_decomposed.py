"""The functions hstack, vstack, dstack and column_stack, and helpers of cat."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.shapes_decomposed import at_least


def without_empty_vectors(tensors: list[Tensor | None]) -> list[Tensor | None]:
    """Return the tensors that torch.cat joins: all but empty vectors."""
    return [t for t in tensors if t is None or t.dim() != 1 or t.size(0) > 0] or tensors


def for_each(tensors: list[Tensor | None], take: Callable[[Tensor | None], None]) -> None:
    for t in tensors:
        take(t)


def _check_not_empty(name: str, tensors: list[Tensor]) -> None:
    if len(tensors) == 0:
        raise RuntimeError(name + " expects a non-empty TensorList")


@decomposes("torch.hstack")
def hstack(tensors: list[Tensor]) -> Tensor:
    _check_not_empty("hstack", tensors)
    parts = [at_least(t, 1) for t in tensors]
    if parts[0].dim() == 1:
        return torch.cat(parts, 0)
    return torch.cat(parts, 1)


@decomposes("torch.vstack", "torch.row_stack")
def vstack(tensors: list[Tensor]) -> Tensor:
    _check_not_empty("vstack", tensors)
    return torch.cat([at_least(t, 2) for t in tensors], 0)


@decomposes("torch.dstack")
def dstack(tensors: list[Tensor]) -> Tensor:
    _check_not_empty("dstack", tensors)
    return torch.cat([at_least(t, 3) for t in tensors], 2)


@decomposes("torch.column_stack")
def column_stack(tensors: list[Tensor]) -> Tensor:
    _check_not_empty("column_stack", tensors)
    return torch.cat([t.reshape(-1, 1) if t.dim() < 2 else t for t in tensors], 1)
