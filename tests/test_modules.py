"""Modules of torch.nn that are read from torch's own source, against eager."""

from __future__ import annotations

import pytest
import torch
from settings import OPTIMIZE
from torch import nn

import scriptc

CASES = {
    "MultiheadAttention": lambda: (nn.MultiheadAttention(8, 2, batch_first=True).eval(), *[torch.randn(2, 5, 8)] * 3),
    "cross attention": lambda: (nn.MultiheadAttention(8, 2).eval(), torch.randn(4, 2, 8), *[torch.randn(5, 2, 8)] * 2),
    "TransformerEncoderLayer": lambda: (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(),
        torch.randn(2, 5, 8),
    ),
    "TransformerDecoderLayer": lambda: (
        nn.TransformerDecoderLayer(8, 2, 16).eval(),
        torch.randn(4, 2, 8),
        torch.randn(5, 2, 8),
    ),  # fmt: skip
    "Transformer": lambda: (nn.Transformer(8, 2, 1, 1, 16).eval(), torch.randn(4, 2, 8), torch.randn(5, 2, 8)),
    "convolutions": lambda: (
        nn.Sequential(nn.Conv1d(3, 4, 3, padding=1), nn.BatchNorm1d(4), nn.GELU(), nn.AdaptiveAvgPool1d(2)).eval(),
        torch.randn(2, 3, 9),
    ),
    "batch norm in training": lambda: (nn.BatchNorm2d(3), torch.randn(2, 3, 4, 4)),
    "PixelShuffle": lambda: (nn.PixelShuffle(2), torch.randn(1, 8, 3, 3)),
    "Upsample": lambda: (nn.Upsample(scale_factor=2, mode="bilinear"), torch.randn(1, 2, 4, 4)),
    "CrossEntropyLoss": lambda: (nn.CrossEntropyLoss(), torch.randn(4, 5), torch.tensor([1, 2, 3, 4])),
    "EmbeddingBag": lambda: (nn.EmbeddingBag(10, 3), torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])),
}


@pytest.mark.compiled_together
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_module(name: str) -> None:
    torch.manual_seed(0)
    eager, *args = CASES[name]()
    made = scriptc.compile(eager, optimize=OPTIMIZE)
    torch.testing.assert_close(made(*args), eager(*args))


def test_one_argument_given_twice_is_one_object() -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> bool:
        return a is b

    made, x = scriptc.compile(f, optimize=OPTIMIZE), torch.ones(2)
    assert made(x, x) is True
    assert made(x, x.clone()) is False
