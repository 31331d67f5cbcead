"""The operators that nn.MultiheadAttention and nn.TransformerEncoderLayer call in evaluation, if gradients are off.

The modules themselves are read without this fast path. Graphs of dynamo have the calls.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.library.registry import decomposes

_OF_QUERIES, _OF_KEYS, _WHOLE = 0, 1, 2  # types of masks: [L, L], [N, L], and that of the scores


def _masked(scores: Tensor, mask: Tensor, mask_type: int | None) -> Tensor:
    """Return scores [N, heads, L, S] that are -inf where a mask is true."""
    mask = mask.to(torch.bool)
    keys = scores.size(2)
    if mask_type == _OF_QUERIES:
        if mask.shape != (keys, keys):
            raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
        mask = mask[None, None]
    elif mask_type == _OF_KEYS:
        if mask.shape != (scores.size(0), keys):
            raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
        mask = mask[:, None, None]
    elif mask_type is not None and mask_type != _WHOLE:
        raise RuntimeError("Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)")
    elif mask.shape != scores.shape:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    return scores.masked_fill(mask, float("-inf"))


@decomposes("torch._native_multi_head_attention")
def native_multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    size = embed_dim // num_head
    parts = F._in_projection_packed(query, key, value, qkv_weight, qkv_bias)  # type: ignore[attr-defined]
    q, k, v = [part.view(part.size(0), part.size(1), num_head, size).transpose(1, 2) for part in parts]
    scores = (q * (1 / size**0.5)) @ k.transpose(-2, -1)
    if mask is not None:
        scores = _masked(scores, mask, mask_type)
    weights = torch.softmax(scores, -1)
    result = F.linear((weights @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, weights.mean(1) if average_attn_weights else weights


@decomposes("torch._transformer_encoder_layer_fwd")
def transformer_encoder_layer(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor,
    proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor, norm_bias_1: Tensor,
    norm_weight_2: Tensor, norm_bias_2: Tensor, ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor,
    ffn_bias_2: Tensor, mask: Tensor | None = None, mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    x = F.layer_norm(src, (embed_dim,), norm_weight_1, norm_bias_1, eps) if norm_first else src
    attended = torch._native_multi_head_attention(
        x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
    )
    x = attended[0] + src
    if not norm_first:
        x = F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)
    y = F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps) if norm_first else x
    hidden = F.linear(y, ffn_weight_1, ffn_bias_1)
    hidden = F.gelu(hidden) if use_gelu else F.relu(hidden)
    x = F.linear(hidden, ffn_weight_2, ffn_bias_2) + x
    return x if norm_first else F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)
