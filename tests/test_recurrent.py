"""The recurrent modules of torch.nn, read from torch's own source, against eager."""

from __future__ import annotations

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc


class Loop(nn.Module):
    """A cell called in a loop written by hand."""

    def __init__(self, cell: nn.Module, pair: bool):
        super().__init__()
        self.cell = cell
        self.pair = pair

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[1], 6)
        c = torch.zeros(x.shape[1], 6)
        for t in range(x.shape[0]):
            if self.pair:
                h, c = self.cell(x[t], (h, c))
            else:
                h = self.cell(x[t], h)
        return h


CELLS = {
    "LSTMCell": Loop(nn.LSTMCell(4, 6), True),
    "GRUCell": Loop(nn.GRUCell(4, 6), False),
    "RNNCell": Loop(nn.RNNCell(4, 6), False),
    "RNNCell relu": Loop(nn.RNNCell(4, 6, nonlinearity="relu"), False),
}
LAYERS = {
    "LSTM": nn.LSTM(4, 6),
    "LSTM deep, both ways": nn.LSTM(4, 6, 2, bidirectional=True),
    "LSTM batch first": nn.LSTM(4, 6, 2, batch_first=True, dropout=0.5).eval(),
    "LSTM projected": nn.LSTM(4, 6, proj_size=3),
    "LSTM without bias": nn.LSTM(4, 6, bias=False),
    "GRU deep, both ways": nn.GRU(4, 6, 2, bidirectional=True),
    "RNN": nn.RNN(4, 6),
    "RNN relu": nn.RNN(4, 6, nonlinearity="relu"),
}


@pytest.mark.parametrize("name", CELLS)
@torch.no_grad()
def test_cells(name: str) -> None:
    made = scriptc.compile(CELLS[name], optimize=OPTIMIZE)
    for shape in ((5, 2, 4), (1, 3, 4), (0, 2, 4)):
        x = torch.randn(shape)
        torch.testing.assert_close(made(x), CELLS[name](x))


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_layers(name: str) -> None:
    eager = LAYERS[name]
    made = scriptc.compile(eager, optimize=OPTIMIZE)
    for shape in ((5, 2, 4), (1, 3, 4), (3, 4)):
        x = torch.randn(shape)
        torch.testing.assert_close(made(x), eager(x))
    state = made(torch.randn(5, 2, 4) if not eager.batch_first else torch.randn(2, 5, 4))[1]
    x = torch.randn(2, 2, 4)
    torch.testing.assert_close(made(x, state), eager(x, state))
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size. Expected 4, got 3"):
        made(torch.randn(2, 2, 3))
