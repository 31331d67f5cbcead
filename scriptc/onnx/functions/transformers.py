"""Embeddings, norms with residuals, and products with packed weights of transformers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def embed_layer_norm(
    ids: Tensor, segments, words: Tensor, positions: Tensor, segment_words, scale: Tensor, bias: Tensor, mask, places,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the norm of the sum of the embeddings, the number of words that `mask` has, and the sum."""
    at = torch.arange(ids.shape[1]) if places is None else places
    total = F.embedding(ids, words) + F.embedding(at, positions)
    if segments is not None:
        total = total + F.embedding(segments, segment_words)
    count = torch.zeros(ids.shape[0], dtype=torch.int32) if mask is None else torch.sum(mask == 1, 1).to(torch.int32)
    return F.layer_norm(total, scale.shape, scale, bias, epsilon), count, total


def unpacked(x: Tensor, bits: int) -> Tensor:
    """Return the numbers of `bits` bits in bytes, the lowest bits first, in place of the last dim."""
    return torch.cat([((x >> shift) & (2**bits - 1)).unsqueeze(-1) for shift in range(0, 8, bits)], -1).flatten(-2)


def dequantized_blocks(w: Tensor, scales: Tensor, zeros, bits: int, block: int, size: int) -> Tensor:
    """Return the matrix (outputs, `size`) whose rows are packed in blocks, each with a scale and a zero point."""
    rows = w.shape[0]
    numbers = unpacked(w.reshape(rows, -1), bits).reshape(rows, -1, block).to(scales.dtype)
    if zeros is None:
        centered = numbers - 2 ** (bits - 1)
    elif zeros.is_floating_point():
        centered = numbers - zeros.reshape(rows, -1, 1)
    else:
        count = numbers.shape[1]
        centered = numbers - unpacked(zeros.reshape(rows, -1), bits)[:, :count].unsqueeze(-1).to(scales.dtype)
    return (centered * scales.reshape(rows, -1, 1)).reshape(rows, -1)[:, :size]


def matmul_n_bits(x: Tensor, w: Tensor, scales: Tensor, zeros, bias, bits: int, block: int, size: int) -> Tensor:
    return F.linear(x, dequantized_blocks(w, scales, zeros, bits, block, size), bias)


def gather_block_quantized(data: Tensor, indices: Tensor, scales: Tensor, zeros, bits: int, block: int, default: int) -> Tensor:
    """Return rows of a table whose numbers of `bits` bits are packed, and have scales by blocks of the last dim."""
    at = indices.reshape(-1)
    numbers = data.index_select(0, at)
    if bits < 8:
        numbers = unpacked(numbers, bits)
    numbers, factors = numbers.to(scales.dtype), scales.index_select(0, at)
    if zeros is None:
        offsets = torch.full_like(factors, default)
    else:
        rows = zeros.index_select(0, at)
        offsets = (unpacked(rows, bits) if bits < 8 else rows)[..., : factors.shape[-1]].to(scales.dtype)
    count = numbers.shape[-1]
    factors = factors.repeat_interleave(block, -1)[..., :count]
    made = (numbers - offsets.repeat_interleave(block, -1)[..., :count]) * factors
    return made.reshape(indices.shape + made.shape[1:])
