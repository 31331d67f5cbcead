"""The models that are measured, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from examples.rnn import TestModel


@dataclass(frozen=True)
class Size:
    batch: int
    input: int
    hidden: int
    steps: int

    def __str__(self) -> str:
        return f"batch {self.batch}, {self.input} to {self.hidden}, {self.steps} steps"


ELMAN = (Size(4, 16, 32, 10), Size(1, 64, 128, 100), Size(1, 256, 512, 100), Size(32, 256, 512, 100))
LAYERS = ELMAN[1:]  # of nn.LSTM


def elman(size: Size) -> tuple[TestModel, list[torch.Tensor]]:
    """The net in evaluation mode, and a sequence for it; the same at each call."""
    torch.manual_seed(0)
    model = TestModel(size.input, size.hidden).eval()
    return model, [torch.randn(size.batch, size.input) for _ in range(size.steps)]
