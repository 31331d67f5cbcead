"""Errors of torch.vmap."""

from __future__ import annotations

from torch import Tensor


def same_sizes(sizes: list[int]) -> None:
    for size in sizes:
        if size != sizes[0]:
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
                "dimension"
            )


def not_empty(x: Tensor) -> None:
    """Raise torch's error for a number that meets a tensor of an empty batch."""
    if x.numel() == 0:
        raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")
