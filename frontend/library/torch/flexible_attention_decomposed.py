"""Block masks of flexible attention, and the layout of its result."""

from __future__ import annotations

import torch
from torch import Tensor


def ordered_to_dense(num_blocks_in_row: Tensor, col_indices: Tensor, num_cols: int) -> Tensor:
    """Return 1 at the columns of each row that its first `num_blocks_in_row` indices name, 0 elsewhere."""
    entries = torch.arange(col_indices.size(-1), dtype=torch.int32)
    columns = torch.where(entries < num_blocks_in_row.unsqueeze(-1), col_indices, num_cols)
    columns = torch.where(columns < 0, columns + num_cols + 1, columns).to(torch.int64)
    dense = torch.zeros([*col_indices.shape[:-1], num_cols + 1], dtype=torch.int32).scatter(-1, columns, 1)
    return dense[..., :num_cols].contiguous()


def in_order_of(query: Tensor, found: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return results of which the first has its dims in the order of the query's strides, where both have one shape."""
    out, lse, largest = found
    if out.size(-1) == query.size(-1):
        out = torch.empty_like(query, dtype=out.dtype).copy_(out)
    return out, lse, largest
