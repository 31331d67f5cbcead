"""BERT-base, the encoder (Devlin et al., 2018)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from examples.zoo.common import compare, prepared


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2)
        return self.out(y.reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.norm1 = SelfAttention(width, heads), nn.LayerNorm(width, eps=1e-12)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.narrower(F.gelu(self.wider(x))))


class Bert(nn.Module):
    """Return the states of all tokens. mask: 1 for tokens, 0 for padding, of the size of `tokens`."""

    def __init__(self, words: int = 30522, width: int = 768, heads: int = 12, layers: int = 12, longest: int = 512) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList([Layer(width, heads) for _ in range(layers)])

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places) + self.segments(torch.zeros_like(tokens)))
        for layer in self.layers:
            x = layer(x, mask)
        return x


def _tokens(batch: int, length: int, words: int) -> Tensor:
    return torch.randint(words, (batch, length), generator=torch.Generator().manual_seed(1))


def full() -> tuple[nn.Module, Tensor]:
    return prepared(Bert()), _tokens(1, 64, 30522)


def small() -> tuple[nn.Module, Tensor]:
    return prepared(Bert(words=40, width=24, heads=3, layers=2, longest=16)), _tokens(2, 9, 40)


if __name__ == "__main__":
    compare(*full())
