"""Attention of several heads, with masks, past keys and rotary embeddings, as operators of ONNX Runtime define it.

Tensors of heads are (batch, heads, length, head size).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return (batch, length, hidden size) as heads."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def padding_bias(mask: Tensor, length: int, filtered: float) -> Tensor:
    """Return what is added to the scores: `filtered` for masked keys, and 0 for others.

    mask: 0 for masked keys, (batch, keys) or (batch, queries, keys); or the number of keys of each batch, (batch,).
    """
    if mask.dim() == 1:
        kept = torch.arange(length) < mask.unsqueeze(1)
    else:
        kept = mask != 0
    kept = kept.unsqueeze(1) if mask.dim() == 3 else kept.unsqueeze(1).unsqueeze(1)
    return torch.where(kept, 0.0, filtered)


def causal_mask(queries: int, keys: int) -> Tensor:
    """Return which keys each query reads, where the last query reads all."""
    return torch.arange(keys) <= torch.arange(queries).unsqueeze(1) + (keys - queries)


def causal_mask_from(mask, queries: int, keys: int, past: int) -> Tensor:
    """Return `mask` without the keys behind each query, whose first one is at the place `past`."""
    seen = torch.arange(keys) <= torch.arange(queries).unsqueeze(1) + past
    if mask is None:
        return seen
    if mask.dtype == torch.bool:
        return mask & seen
    return torch.where(seen, mask, torch.full((), -math.inf, dtype=mask.dtype))


def attend(q: Tensor, k: Tensor, v: Tensor, bias, causal: bool, scale) -> Tensor:
    """Return the attention; `bias` is added to the scores."""
    if bias is None and not causal:
        return F.scaled_dot_product_attention(q, k, v, scale=scale)
    if bias is None:
        return F.scaled_dot_product_attention(q, k, v, causal_mask(q.shape[2], k.shape[2]), scale=scale)
    if causal:
        bias = torch.where(causal_mask(q.shape[2], k.shape[2]), bias, torch.full((), -math.inf, dtype=bias.dtype))
    return F.scaled_dot_product_attention(q, k, v, bias.to(q.dtype), scale=scale)


def sum_of_biases(a, b):
    if a is None:
        return b
    return a if b is None else a + b


def joint_bias(mask, bias, length: int, filtered: float):
    """Return the sum of the bias of a mask and of `bias`; None if both are None."""
    return bias if mask is None else sum_of_biases(padding_bias(mask, length, filtered), bias)


def packed_attention(
    x: Tensor, w: Tensor, b, mask, past, bias, heads: int, sizes, causal: bool, scale, filtered: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the attention of `x` to itself, and the keys and values for later calls.

    w, b: the weights of the projections to queries, keys and values, side by side; `sizes` are their sizes.
    past: keys and values of earlier calls, (2, batch, heads, length, head size).
    """
    made = torch.matmul(x, w) if b is None else torch.matmul(x, w) + b
    return attention_of_projections(made, mask, past, bias, heads, sizes, causal, scale, filtered)


def attention_of_projections(
    x: Tensor, mask, past, bias, heads: int, sizes, causal: bool, scale, filtered: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the attention of queries, keys and values that lie side by side in `x`, and its keys and values."""
    parts = torch.split(x, x.shape[2] // 3 if sizes is None else sizes, 2)
    q, k, v = split_heads(parts[0], heads), split_heads(parts[1], heads), split_heads(parts[2], heads)
    past_k, past_v = (None, None) if past is None else (past[0], past[1])
    return multi_head_attention(q, k, v, mask, bias, past_k, past_v, causal, scale, filtered)


def multi_head_attention(
    q: Tensor, k: Tensor, v: Tensor, mask, bias, past_k, past_v, causal: bool, scale, filtered: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the attention of heads, and the keys and values for later calls."""
    if past_k is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    made = attend(q, k, v, joint_bias(mask, bias, k.shape[2], filtered), causal, scale)
    return merge_heads(made), k, v


def rotated(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Return `x` with pairs of its elements rotated; `cos` and `sin` broadcast to half of the rotated elements."""
    size = cos.shape[-1]
    part = x[..., : 2 * size]
    if interleaved:
        a, b = part[..., 0::2], part[..., 1::2]
        made = torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    else:
        a, b = part[..., :size], part[..., size:]
        made = torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
    return torch.cat([made, x[..., 2 * size :]], -1)


def rotary(x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Return heads with rotary embeddings. positions: (batch, length), or the first position of all, (1,)."""
    if positions.dim() == 1:
        positions = (positions + torch.arange(x.shape[2])).unsqueeze(0)
    shape = positions.shape[0], 1, positions.shape[1], cos.shape[1]
    at = positions.reshape(-1).to(torch.int64)
    return rotated(x, cos.index_select(0, at).reshape(shape), sin.index_select(0, at).reshape(shape), interleaved)


def into_cache(past, new: Tensor, before: Tensor, length: int) -> Tensor:
    """Return a cache of at least `length` steps with `new` behind the first `before` steps of each batch."""
    room = length if past is None else max(length - past.shape[2], 0)
    cache = new.new_zeros(new.shape[0], new.shape[1], room, new.shape[3])
    if past is not None:
        cache = torch.cat([past, cache], 2)
    at = before.reshape(-1, 1, 1, 1) + torch.arange(new.shape[2]).reshape(1, 1, -1, 1)
    return cache.scatter(2, at.expand(new.shape), new)


def capped_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, scale: float, softcap: float, sink) -> Tensor:
    """Return the attention with scores up to `softcap`, and a further score `sink` for each head that reads nothing."""
    scores = torch.matmul(q, k.transpose(2, 3)) * scale
    if softcap > 0:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores + bias
    if sink is not None:
        scores = torch.cat([scores, sink.reshape(1, -1, 1, 1).expand(scores.shape[0], scores.shape[1], scores.shape[2], 1)], 3)
    return torch.matmul(torch.softmax(scores, -1)[..., : k.shape[2]], v)


def grouped_query_attention(
    q: Tensor, k: Tensor, v: Tensor, past_k, past_v, last: Tensor, total: int, cos, sin, positions, bias, sink,
    interleaved: bool, window: int, scale, softcap: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the causal attention where several heads of queries share one of keys and values, and the caches.

    last: the place of the last key of each batch. total: the number of keys of the longest one.
    window: how many keys each query reads at most; -1 for all.
    """
    length = q.shape[2]
    before = last.to(torch.int64) + 1 - length
    if length == total:  # the first call: shorter sequences have pads at their end
        before = torch.zeros_like(before)
    place = before.unsqueeze(1) + torch.arange(length)
    if cos is not None:
        at = place if positions is None else positions
        q, k = rotary(q, at, cos, sin, interleaved), rotary(k, at, cos, sin, interleaved)
    k, v = into_cache(past_k, k, before, total), into_cache(past_v, v, before, total)
    keys = torch.arange(k.shape[2])
    seen = keys <= place.unsqueeze(-1)
    if window >= 0:
        seen = seen & (keys > place.unsqueeze(-1) - window)
    mask = torch.where(seen, 0.0, -math.inf).unsqueeze(1).to(q.dtype)
    if bias is not None:
        mask = mask + F.pad(bias, (0, k.shape[2] - bias.shape[3]))
    groups = q.shape[1] // k.shape[1]
    wide_k, wide_v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    if softcap > 0 or sink is not None:
        made = capped_attention(q, wide_k, wide_v, mask, q.shape[3] ** -0.5 if scale is None else scale, softcap, sink)
    else:
        made = F.scaled_dot_product_attention(q, wide_k, wide_v, mask, scale=scale)
    return merge_heads(made), k, v
