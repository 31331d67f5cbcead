"""Build two small models ahead of time: `python build.py`, then see README.md."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import scriptc


class RNN(nn.Module):
    """Reads a whole sequence in one call."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs = nn.Linear(16, 32)
        self.hidden = nn.Linear(32, 32, bias=False)

    def forward(self, xs: list[Tensor]) -> Tensor:
        h = torch.zeros(xs[0].size(0), 32)
        for x in xs:
            h = torch.tanh(self.inputs(x) + self.hidden(h))
        return h


class StreamingGRU(nn.Module):
    """Reads one frame a call, and keeps its hidden state for the next call."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 32)
        self.scores = nn.Linear(32, 4)
        self.h = torch.zeros(1, 32)

    def forward(self, frame: Tensor) -> Tensor:
        self.h = self.cell(frame, self.h)
        return self.scores(self.h)


def models() -> tuple[RNN, StreamingGRU]:
    torch.manual_seed(0)
    return RNN(), StreamingGRU()


def build(folder: Path, **options: Any) -> None:
    rnn, gru = models()
    print("wrote", scriptc.build(rnn, [torch.randn(4, 16) for _ in range(10)], out=folder / "rnn", **options))
    print("wrote", scriptc.build(gru, torch.randn(1, 8), out=folder / "gru", bindings="pybind11", **options))


if __name__ == "__main__":
    build(Path(__file__).parent)
