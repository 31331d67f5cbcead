"""A hand-written LSTM over a time-major tensor: chunk, a list that grows, stack, and a tuple of results."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import scriptc


class LSTM(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.from_input = nn.Linear(inputs, 4 * hidden)
        self.from_hidden = nn.Linear(hidden, 4 * hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h = torch.zeros(x.size(1), self.hidden)
        c = torch.zeros(x.size(1), self.hidden)
        outputs = []
        for t in range(x.size(0)):
            gates = self.from_input(x[t]) + self.from_hidden(h)
            i, f, g, o = gates.chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs), (h, c)


model = LSTM(12, 20)
example_args = (torch.zeros(7, 3, 12),)


def main() -> None:
    torch.manual_seed(0)
    compiled = scriptc.compile(model)
    for steps, batch in ((1, 1), (7, 3), (50, 8)):
        print(f"{steps} steps, batch {batch}")
        print(scriptc.compare(compiled, torch.randn(steps, batch, 12)).check())


if __name__ == "__main__":
    main()
