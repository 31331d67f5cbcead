"""Greedy decoding: a while loop that ends where the data says so, by break or by return from inside."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import scriptc


class Decoder(nn.Module):
    """Emits tokens until the end token (1), until the state dies away, or until `limit`."""

    def __init__(self, tokens: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(tokens, hidden))
        self.step = nn.Linear(2 * hidden, hidden)
        self.scores = nn.Linear(hidden, tokens)

    def forward(self, state: Tensor, limit: int) -> tuple[Tensor, int]:
        emitted = torch.zeros(limit)
        token = 0
        count = 0
        while token != 1:
            if count == limit:
                return emitted, -1
            state = torch.tanh(self.step(torch.cat([state, self.embedding[token]])))
            if state.abs().max() < 0.05:
                break
            token = int(self.scores(state).argmax().item())
            emitted[count] = token
            count += 1
        return emitted, count


torch.manual_seed(3)
model = Decoder(6, 8)
example_args = (torch.ones(8), 20)


def main() -> None:
    compiled = scriptc.compile(model)
    for limit in (1, 8, 40):
        for _ in range(3):
            state = 2 * torch.randn(8)
            print(f"limit {limit}: {model(state, limit)[1]} tokens in eager")
            print(scriptc.compare(compiled, state, limit).check())


if __name__ == "__main__":
    main()
