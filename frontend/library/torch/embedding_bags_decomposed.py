"""Sums, means and maxima over bags of rows of a matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from scriptc.frontend.library.registry import decomposes
from scriptc.frontend.library.torch.dtype_names import NAMES
from scriptc.frontend.library.torch.indexing_decomposed import check_rows


def _check_types(weight: Tensor, index: torch.dtype, per_sample_weights: Tensor | None) -> None:
    where = "(while checking arguments for embedding_bag)"
    check_rows(index, "embedding_bag")
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
            f"Double; but got torch.{NAMES[weight.dtype]}Tensor instead {where}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        types = f"torch.{NAMES[weight.dtype]}Tensor does not equal torch.{NAMES[per_sample_weights.dtype]}Tensor"
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
            f"but type {types} {where}"
        )


@decomposes("torch.embedding_bag")
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return sums (mode 0), means (1) or maxima (2) over bags of rows that begin at offsets.

    Returned too are the bag of each index, the number of rows in each bag, and the index of each maximum, each where eager
    fills it."""
    _check_types(weight, torch.promote_types(indices.dtype, offsets.dtype), per_sample_weights)
    n = weight.size(0)
    if padding_idx is not None and (padding_idx < -n or padding_idx >= n):
        ends = f"-{n} through {n - 1}"
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {ends}, but got {padding_idx}")
    if indices.dim() != 1 and indices.dim() != 2:
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}")
    if offsets.dim() != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}")
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    indices = indices.to(torch.promote_types(indices.dtype, offsets.dtype))
    if offsets.size(0) > 0:
        if offsets[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
                f"{int(offsets[0])}"
            )
        if offsets[-1] > indices.size(0):
            ends = f"{indices.size(0)} but got offsets[-1] of {int(offsets[-1])}"
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {ends}")
    if per_sample_weights is not None and (mode != 0 or per_sample_weights.shape != indices.shape):
        raise RuntimeError("embedding_bag: per_sample_weights needs mode='sum', and one weight for each index")
    if include_last_offset and offsets.size(0) < 1:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    bad = indices[(indices < 0) | (indices >= n)]
    if bad.size(0) > 0:
        found = f"but found idx to be {int(bad[0])}"
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings {found}")
    bags = offsets.size(0) - (1 if include_last_offset else 0)
    bag = torch.sum(offsets[:bags] <= torch.arange(indices.size(0)).unsqueeze(1), 1) - 1
    rows = torch.index_select(weight, 0, indices)
    if padding_idx is None:
        kept = torch.ones_like(bag, dtype=torch.bool)
    else:
        kept = indices != (padding_idx if padding_idx >= 0 else padding_idx + weight.size(0))
    counts = torch.zeros(bags, dtype=torch.int64).scatter_add(0, bag, kept.to(torch.int64))
    places = bag.unsqueeze(1).expand(rows.shape)
    empty = torch.zeros(bags, weight.size(1), dtype=weight.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if mode == 2:
        lowest = torch.where(kept.unsqueeze(1), rows, float("-inf"))
        found = torch.scatter_reduce(empty, 0, places, lowest, "amax", include_self=False)
        reaches = kept.unsqueeze(1) & (rows == torch.index_select(found, 0, bag))
        at = torch.where(reaches, torch.arange(indices.size(0)).unsqueeze(1), indices.size(0))
        first = torch.full((bags, weight.size(1)), indices.size(0), dtype=torch.int64).scatter_reduce(0, places, at, "amin")
        chosen = torch.cat([indices, torch.zeros(1, dtype=indices.dtype)])[first]
        return torch.where((counts > 0).unsqueeze(1), found, 0.0), bag, counts, chosen
    result = torch.scatter_add(empty, 0, places, torch.where(kept.unsqueeze(1), rows, 0.0))
    if mode == 1:
        return result / torch.clamp(counts, min=1).unsqueeze(1), bag, counts, counts
    none = torch.zeros_like(counts)
    return result, bag[:0] if padding_idx is None else bag, none, none
