"""The recurrent layers of torch.nn: the leaves that its modules call, as loops over time.

Gates are stacked along the rows of the weights: input, forget, cell, output for LSTM; reset, update, new for GRU
(the docstrings of torch.nn.LSTM and torch.nn.GRU give the equations). `params` holds, per layer and direction, weight_ih,
weight_hh, then bias_ih, bias_hh if there are biases, then weight_hr if the hidden state is projected.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.library import decomposes

Pair = tuple[Tensor, Tensor]


def lstm_step(gates: Tensor, c: Tensor) -> Pair:
    i, f, g, o = gates.chunk(4, 1)
    c_next = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c_next), c_next


def gru_step(from_input: Tensor, from_hidden: Tensor, h: Tensor) -> Tensor:
    i_r, i_z, i_n = from_input.chunk(3, 1)
    h_r, h_z, h_n = from_hidden.chunk(3, 1)
    reset = torch.sigmoid(i_r + h_r)
    update = torch.sigmoid(i_z + h_z)
    new = torch.tanh(i_n + reset * h_n)
    return new + update * (h - new)


@decomposes("torch.lstm_cell")
def lstm_cell(
    input: Tensor, hx: Pair, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Pair:
    h, c = hx
    return lstm_step(F.linear(input, w_ih, b_ih) + F.linear(h, w_hh, b_hh), c)


@decomposes("torch.gru_cell")
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    return gru_step(F.linear(input, w_ih, b_ih), F.linear(hx, w_hh, b_hh), hx)


@decomposes("torch.rnn_tanh_cell")
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    return torch.tanh(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


@decomposes("torch.rnn_relu_cell")
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    return torch.relu(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


def lstm_direction(
    x: Tensor, h: Tensor, c: Tensor, weights: list[Tensor], has_biases: bool, projected: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer in one direction over x [T, B, I]: outputs [T, B, H], and the last h and c."""
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)
    outputs = []
    for t in range(x.size(0)):
        h, c = lstm_step(F.linear(x[t], weights[0], bias_x) + F.linear(h, weights[1], bias_h), c)
        if projected:
            h = F.linear(h, weights[-1])
        outputs.append(h)
    return torch.stack(outputs), h, c


def gru_direction(x: Tensor, h: Tensor, weights: list[Tensor], has_biases: bool) -> Pair:
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)
    outputs = []
    for t in range(x.size(0)):
        h = gru_step(F.linear(x[t], weights[0], bias_x), F.linear(h, weights[1], bias_h), h)
        outputs.append(h)
    return torch.stack(outputs), h


def rnn_direction(x: Tensor, h: Tensor, weights: list[Tensor], has_biases: bool, relu: bool) -> Pair:
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)
    outputs = []
    for t in range(x.size(0)):
        summed = F.linear(x[t], weights[0], bias_x) + F.linear(h, weights[1], bias_h)
        h = torch.relu(summed) if relu else torch.tanh(summed)
        outputs.append(h)
    return torch.stack(outputs), h


def check_layers(num_layers: int, dropout: float, train: bool) -> None:
    if num_layers > 1:
        torch.dropout(torch.zeros(0), dropout, train)


def join_directions(outputs: list[Tensor]) -> Tensor:
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)


def lstm(
    input: Tensor, hx: Pair, params: list[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    check_layers(num_layers, dropout, train)
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    last_h, last_c = [], []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            weights = params[k * each : (k + 1) * each]
            along = x if direction == 0 else x.flip(0)
            y, h, c = lstm_direction(along, hx[0][k], hx[1][k], weights, has_biases, each in (3, 5))
            outputs.append(y if direction == 0 else y.flip(0))
            last_h.append(h)
            last_c.append(c)
        x = join_directions(outputs)
    return x.transpose(0, 1) if batch_first else x, torch.stack(last_h), torch.stack(last_c)


def layers(
    kind: str, input: Tensor, hx: Tensor, params: list[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> Pair:  # fmt: skip
    """GRU and the plain RNNs, which carry one tensor."""
    check_layers(num_layers, dropout, train)
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    last = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            weights = params[k * each : (k + 1) * each]
            along = x if direction == 0 else x.flip(0)
            if kind == "gru":
                y, h = gru_direction(along, hx[k], weights, has_biases)
            else:
                y, h = rnn_direction(along, hx[k], weights, has_biases, kind == "relu")
            outputs.append(y if direction == 0 else y.flip(0))
            last.append(h)
        x = join_directions(outputs)
    return x.transpose(0, 1) if batch_first else x, torch.stack(last)
