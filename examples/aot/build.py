"""Build a small RNN ahead of time: `python build.py`, then see README.md."""

from pathlib import Path

import torch
from torch import Tensor, nn

import scriptc


class RNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inputs = nn.Linear(16, 32)
        self.hidden = nn.Linear(32, 32, bias=False)

    def forward(self, xs: list[Tensor]) -> Tensor:
        h = torch.zeros(xs[0].size(0), 32)
        for x in xs:
            h = torch.tanh(self.inputs(x) + self.hidden(h))
        return h


if __name__ == "__main__":
    example = [torch.randn(4, 16) for _ in range(10)]
    folder = scriptc.build(RNN(), example, out=Path(__file__).parent / "rnn")
    print(f"wrote {folder}")
