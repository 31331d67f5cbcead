"""The fused operators of attention in evaluation, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc

X, Y = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
OF_QUERIES = torch.ones(3, 3, dtype=torch.bool).triu(1)
OF_KEYS = torch.tensor([[False, False, True], [False, True, True]])
OF_BOTH = (OF_KEYS[:, None, None] | OF_QUERIES).expand(2, 2, 3, 3)
MASKS = [(None, None), (OF_QUERIES, 0), (OF_KEYS, 1), (OF_BOTH, 2), (OF_QUERIES.float(), 0)]
IDS = ["none", "of queries", "of keys", "of both", "of floats"]


def weights() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(size, generator=generator) * 0.4 for size in ((24, 8), (24,), (8, 8), (8,))]


@pytest.mark.filterwarnings("ignore:Converting mask")
@pytest.mark.parametrize(("mask", "kind"), MASKS, ids=IDS)
@torch.no_grad()
def test_multi_head_attention(mask: Tensor | None, kind: int | None) -> None:
    def f(x: Tensor, y: Tensor, w: list[Tensor], mask: Tensor | None) -> Any:
        return [
            torch._native_multi_head_attention(x, y, y, 8, 2, *w, mask, True, True, kind),
            torch._native_multi_head_attention(x, x, x, 8, 2, *w, mask, True, False, kind),
            torch._native_multi_head_attention(x, x, x, 8, 2, *w, mask, False, True, kind)[0],
        ]

    made = scriptc.compile(f, optimize=OPTIMIZE)
    torch.testing.assert_close(made(X, Y, weights(), mask), f(X, Y, weights(), mask))


@pytest.mark.parametrize("kind", [0, 1, 2])
@torch.no_grad()
def test_masks_of_wrong_shapes(kind: int) -> None:
    def f(x: Tensor, w: list[Tensor], mask: Tensor) -> Any:
        return torch._native_multi_head_attention(x, x, x, 8, 2, *w, mask, False, True, kind)[0]

    mask = torch.zeros(1, 3, dtype=torch.bool)
    with pytest.raises(RuntimeError) as wanted:
        f(X, weights(), mask)
    with pytest.raises(RuntimeError) as found:
        scriptc.compile(f, optimize=OPTIMIZE)(X, weights(), mask)
    assert str(found.value).split("\n  at ")[0] == str(wanted.value)


@pytest.mark.parametrize("norm_first", [False, True])
@torch.no_grad()
def test_encoder_layer(norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    for p in layer.parameters():
        nn.init.normal_(p, std=0.4)
    attention = layer.self_attn
    w = [attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias]
    norms = [layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias]
    linears = [layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias]

    def f(x: Tensor, w: list[Tensor], rest: list[Tensor], mask: Tensor, use_gelu: bool) -> Tensor:
        return torch._transformer_encoder_layer_fwd(x, 8, 2, *w, use_gelu, norm_first, 1e-5, *rest, mask, 1)

    made = scriptc.compile(f, optimize=OPTIMIZE)
    for use_gelu in (False, True):
        given = (X, w, norms + linears, OF_KEYS, use_gelu)
        torch.testing.assert_close(made(*given), f(*given))
