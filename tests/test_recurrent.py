"""The recurrent modules of torch.nn, read from torch's own source, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence

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


@pytest.mark.compiled_together
@pytest.mark.parametrize("name", CELLS)
@torch.no_grad()
def test_cells(name: str) -> None:
    made = scriptc.compile(CELLS[name], optimize=OPTIMIZE)
    for shape in ((5, 2, 4), (1, 3, 4), (0, 2, 4)):
        x = torch.randn(shape)
        torch.testing.assert_close(made(x), CELLS[name](x))


@pytest.mark.compiled_together
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


def layers_by_name(x: Tensor, h: Tensor, w: list[Tensor]) -> Any:
    a, b, c, d, e, f, g, i = w
    return torch.gru(x, h, [a, b, c, d, e, f, g, i], True, 2, 0.0, False, False, False)


def test_function_of_layers() -> None:
    """The weights are items of a list made here, as in graphs of dynamo."""
    given = torch.randn(5, 2, 4), torch.randn(2, 2, 6), nn.GRU(4, 6, 2)._flat_weights
    torch.testing.assert_close(scriptc.compile(layers_by_name, optimize=OPTIMIZE)(*given), layers_by_name(*given))


@pytest.mark.compiled_together
@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("packed", [False, True], ids=["tensor", "packed"])
def test_dropout_between_layers(layer: type[nn.RNNBase], packed: bool) -> None:
    """A layer in training mode draws the random numbers that eager draws."""
    eager = layer(4, 6, 3, dropout=0.5, bidirectional=True)
    made = scriptc.compile(eager, optimize=OPTIMIZE)
    x: Any = torch.randn(5, 2, 4)
    if packed:
        x = pack_padded_sequence(x, torch.tensor([5, 3]))
    found = []
    for target in (made, eager):
        torch.manual_seed(1)
        found.append((target(x), torch.rand(1)))
    torch.testing.assert_close(*found)


def cells(x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, kind: str) -> Tensor:
    if kind == "gru":
        return torch.gru_cell(x, h, w_ih, w_hh)
    if kind == "lstm":
        return torch.lstm_cell(x, (h, c), w_ih, w_hh)[1]
    return torch.rnn_tanh_cell(x, h, w_ih, w_hh) if kind == "tanh" else torch.rnn_relu_cell(x, h, w_ih, w_hh)


@pytest.mark.compiled_together
@pytest.mark.parametrize(("kind", "gates"), [("gru", 3), ("lstm", 4), ("tanh", 1), ("relu", 1)])
def test_cells_raise_what_eager_raises(kind: str, gates: int) -> None:
    """Also for a batch or a width of one, which would broadcast."""
    made = scriptc.compile(cells, optimize=OPTIMIZE)
    right = {"x": (2, 5), "h": (2, 4), "c": (2, 4), "w_ih": (gates * 4, 5), "w_hh": (gates * 4, 4)}
    wrong: list[dict[str, tuple[int, int]]] = [
        {"x": (2, 3)}, {"x": (1, 5)}, {"h": (1, 4)}, {"h": (2, 1)}, {"h": (3, 3)}, {"c": (1, 4)}, {"c": (2, 1)},
        {"w_ih": (7, 5)}, {"w_hh": (7, 4)}, {"w_ih": (7, 6)}, {"w_ih": (7, 5), "h": (1, 4)}, {"x": (0, 3), "h": (0, 4)},
    ]  # fmt: skip
    for change in wrong:
        tensors = [torch.ones(shape) for shape in {**right, **change}.values()]
        try:
            expected = cells(*tensors, kind)
        except RuntimeError as e:
            with pytest.raises(RuntimeError) as raised:
                made(*tensors, kind)
            assert str(raised.value).splitlines()[0] == str(e), change
        else:
            torch.testing.assert_close(made(*tensors, kind), expected)
            assert "c" in change and kind != "lstm", change


class Packed(nn.Module):
    """Sequences of several lengths, in any order, through a layer and back."""

    def __init__(self, layer: nn.Module, batch_first: bool = False):
        super().__init__()
        self.layer = layer
        self.batch_first = batch_first

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, self.batch_first, enforce_sorted=False)
        y, state = self.layer(packed)
        padded, n = pad_packed_sequence(y, self.batch_first, padding_value=-1.0, total_length=6)
        return padded, n, state, y.data.sum()


PACKED = {
    "lstm": lambda: nn.LSTM(2, 4),
    "lstm of two layers, both ways": lambda: nn.LSTM(2, 4, 2, bidirectional=True),
    "lstm with projection": lambda: nn.LSTM(2, 4, proj_size=3, bias=False),
    "gru": lambda: nn.GRU(2, 4, 2, bidirectional=True),
    "rnn": lambda: nn.RNN(2, 4, nonlinearity="relu"),
}


@pytest.mark.compiled_together
@pytest.mark.parametrize("name", PACKED)
@torch.no_grad()
def test_packed_sequences(name: str) -> None:
    torch.manual_seed(0)
    model = Packed(PACKED[name]())
    made = scriptc.compile(model, optimize=OPTIMIZE)
    for lengths in (torch.tensor([2, 5, 1]), torch.tensor([4, 4, 4]), [1, 2, 3]):
        x = torch.randn(5, 3, 2)
        torch.testing.assert_close(made(x, lengths), model(x, lengths))


@torch.no_grad()
def test_packed_sequences_are_arguments_and_results() -> None:
    torch.manual_seed(0)
    layer = nn.GRU(2, 3)
    made = scriptc.compile(layer, optimize=OPTIMIZE)
    for sequences in ([torch.randn(3, 2), torch.randn(2, 2)], [torch.randn(2, 2), torch.randn(4, 2)]):
        packed = pack_sequence(sequences, enforce_sorted=False)
        expected, actual = layer(packed), made(packed)
        assert type(actual[0]) is PackedSequence
        torch.testing.assert_close(tuple(actual[0]), tuple(expected[0]))
        torch.testing.assert_close(actual[1], expected[1])


def padded_and_packed(x, lengths, enforce_sorted):
    packed = pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
    return packed, pad_packed_sequence(packed), pad_sequence([x[0], x[1, :1]], batch_first=True, padding_side="left")


@pytest.mark.parametrize("lengths", [[3, 2, 0], [3, 2], [2, 3, 1], [6, 2, 1], [3, 2, 1]])
@pytest.mark.parametrize("enforce_sorted", [True, False])
def test_packing_raises_what_eager_raises(lengths: list[int], enforce_sorted: bool) -> None:
    x = torch.randn(5, 3, 2)
    made = scriptc.compile(padded_and_packed, optimize=OPTIMIZE)
    try:
        expected = padded_and_packed(x, torch.tensor(lengths), enforce_sorted)
    except Exception as e:
        with pytest.raises(type(e)):
            made(x, torch.tensor(lengths), enforce_sorted)
    else:
        actual = made(x, torch.tensor(lengths), enforce_sorted)
        torch.testing.assert_close([tuple(actual[0]), *actual[1:]], [tuple(expected[0]), *expected[1:]])
