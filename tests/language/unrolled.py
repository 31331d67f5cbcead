"""Loops that are unrolled because their bodies need what they count at compile time."""

from __future__ import annotations

import torch

from language.cases import cases


class Weights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        for i in range(3):
            setattr(self, f"w{i}", torch.nn.Parameter(torch.randn(2, 2)))
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))

    def forward(self, x):
        i = 0
        while hasattr(self, f"w{i}"):
            x = x @ getattr(self, f"w{i}")
            i += 1
        return x, i


class Layers(Weights):
    def forward(self, x, start):
        i, kept = start, []
        while i < len(self.layers):
            if i == 1:
                i += 1
                continue
            x = self.layers[i](x)
            if x.sum() > 3:
                break
            kept.append(i)
            i += 1
        else:
            return x, kept
        return -x, kept


while_hasattr = cases(torch.ones(2), torch.ones(3, 2))(Weights().eval())
while_below_a_length = cases(*((torch.ones(2) * k, n) for k, n in ((1, 0), (50, 0), (1, 2), (1, 3))))(Layers().eval())


@cases((torch.arange(6.0), 2), (torch.arange(6.0), 0))
def dims_to_add(x, n):
    while x.dim() < 3:
        x = x.unsqueeze(0)
    return x + n


@cases(
    (torch.ones(1, 1, 2), 3),
)
def dims_to_remove(x, n):
    depth = 2
    while depth:
        x = x[0]
        depth -= 1
    return x * n
