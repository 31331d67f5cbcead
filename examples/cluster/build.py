"""Build the model that batch.py and streams.py run: `python build.py`. The only program here that needs torch and scriptc."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import scriptc


class Recognizer(nn.Module):
    """Scores single rows, and streams of frames, for which it keeps a hidden state."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
        self.cell = nn.GRUCell(8, 32)
        self.scores = nn.Linear(32, 4)
        self.h = torch.zeros(1, 32)

    def score(self, x: Tensor) -> Tensor:
        return self.rows(x).softmax(1)

    def step(self, frame: Tensor) -> Tensor:
        self.h = self.cell(frame, self.h)
        return self.scores(self.h)


def model() -> Recognizer:
    torch.manual_seed(0)
    return Recognizer()


def build(folder: Path, **options: Any) -> None:
    net = model()
    entries = {"score": (net.score, (torch.randn(16, 8),)), "step": (net.step, (torch.randn(1, 8),))}
    print("wrote", scriptc.build(entries, out=folder / "recognizer", **options))


if __name__ == "__main__":
    build(Path(__file__).parent)
