"""Modules that register buffers in compiled code, each with a sequence of calls."""

from __future__ import annotations

import torch
from state_programs import X, sequence
from torch import nn


@sequence(X, X[:, :2], X)
class RegistersOnce(nn.Module):
    def forward(self, x):
        if not hasattr(self, "places"):
            self.register_buffer("places", torch.arange(3.0), persistent=False)
        return x + self.places[: x.shape[1]]


@sequence(X[:, :2], X.repeat(1, 3), X)
class MakesLongerBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.make(2)

    def make(self, n):
        places = torch.arange(n).float() * 2
        if hasattr(self, "places"):
            places = places.to(self.places.dtype)
        self.places = nn.Buffer(places, persistent=False)

    def forward(self, x):
        if x.shape[1] > self.places.shape[0]:
            self.make(x.shape[1])
        return x + self.places[: x.shape[1]]


@sequence(-X.abs(), X.abs(), -X.abs())
class RegistersOnAPath(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.other = 3

    def forward(self, x):
        self.register_buffer("total", self.total + x.sum())
        if x.sum() > 0:
            self.register_buffer("last", x)
            self.register_buffer("nothing", None)
        try:
            self.register_buffer("other", x)
        except KeyError as e:
            return self.last * self.total, str(e)
