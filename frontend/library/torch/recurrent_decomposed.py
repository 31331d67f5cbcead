"""The recurrent layers of torch.nn, as loops over time.

Gates are stacked along the rows of the weights: input, forget, cell, output for LSTM; reset, update, new for GRU
(the docstrings of torch.nn.LSTM and torch.nn.GRU give the equations). `params` holds, per layer and direction, weight_ih,
weight_hh, then bias_ih, bias_hh if there are biases, then weight_hr if the hidden state is projected.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from scriptc.frontend.library.registry import decomposes

Pair = tuple[Tensor, Tensor]
State = tuple[Tensor, ...]
OneDirection = Callable[[Tensor, State, list[Tensor], bool], tuple[Tensor, State]]  # the bool is for the backward direction


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


def check_input(input: Tensor, w_ih: Tensor) -> None:
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")


def check_hidden(input: Tensor, h: Tensor, w_hh: Tensor, which: int) -> None:
    """Check one tensor of the state: a batch of one does not broadcast."""
    if input.size(0) != h.size(0):
        raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{which} batch size {h.size(0)}")
    if h.size(1) != w_hh.size(1):
        raise RuntimeError(f"hidden{which} has inconsistent hidden_size: got {h.size(1)}, expected {w_hh.size(1)}")


def check_gates(w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    rows = gates * w_hh.size(1)
    if w_ih.size(0) != rows:
        raise RuntimeError(f"weight_ih first dim must be {gates} * hidden_size = {rows}, but got {w_ih.size(0)}")
    if w_hh.size(0) != rows:
        raise RuntimeError(f"weight_hh first dim must be {gates} * hidden_size = {rows}, but got {w_hh.size(0)}")


# The cells check in the order in which ATen does.
@decomposes("torch.lstm_cell")
def lstm_cell(
    input: Tensor, hx: Pair, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Pair:
    h, c = hx
    check_input(input, w_ih)
    check_gates(w_ih, w_hh, 4)
    check_hidden(input, h, w_hh, 0)
    check_hidden(input, c, w_hh, 1)
    return lstm_step(F.linear(input, w_ih, b_ih) + F.linear(h, w_hh, b_hh), c)


@decomposes("torch.gru_cell")
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    check_input(input, w_ih)
    check_hidden(input, hx, w_hh, 0)
    check_gates(w_ih, w_hh, 3)
    return gru_step(F.linear(input, w_ih, b_ih), F.linear(hx, w_hh, b_hh), hx)


@decomposes("torch.rnn_tanh_cell")
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    check_gates(w_ih, w_hh, 1)
    check_input(input, w_ih)
    check_hidden(input, hx, w_hh, 0)
    return torch.tanh(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


@decomposes("torch.rnn_relu_cell")
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    check_gates(w_ih, w_hh, 1)
    check_input(input, w_ih)
    check_hidden(input, hx, w_hh, 0)
    return torch.relu(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


def step(kind: str, from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    """Run one step of any kind. The state is (h, c) for LSTM, (h,) for other kinds."""
    if kind == "lstm":
        return lstm_step(from_input + from_hidden, state[1])
    if kind == "gru":
        return (gru_step(from_input, from_hidden, state[0]),)
    summed = from_input + from_hidden
    return (torch.relu(summed) if kind == "relu" else torch.tanh(summed),)


def project(state: State, weights: list[Tensor], has_biases: bool) -> State:
    """Return the state with the hidden state projected by weight_hr, if there is one."""
    projected = len(weights) == (5 if has_biases else 3)
    return (F.linear(state[0], weights[-1]), *state[1:]) if projected else state


def is_one_step(x: Tensor) -> bool:
    """Return whether x [T, B, I] is known to have one step. A handler serves this function."""
    return x.size(0) == 1


def along_time(kind: str, x: Tensor, state: State, weights: list[Tensor], has_biases: bool) -> tuple[Tensor, State]:
    """Return outputs [T, B, H] and last state of one layer in one direction over x [T, B, I]."""
    bias_x, bias_h = (weights[2], weights[3]) if has_biases else (None, None)

    def advanced(x_t: Tensor, state: State) -> State:
        from_input, from_hidden = F.linear(x_t, weights[0], bias_x), F.linear(state[0], weights[1], bias_h)
        return project(step(kind, from_input, from_hidden, state), weights, has_biases)

    if is_one_step(x):
        state = advanced(x[0], state)
        return state[0].unsqueeze(0), state
    outputs = []
    for t in range(x.size(0)):
        state = advanced(x[t], state)
        outputs.append(state[0])
    return torch.stack(outputs), state


def check_layers(num_layers: int, dropout: float, train: bool) -> None:
    if num_layers > 1:
        torch.dropout(torch.zeros(0), dropout, train)


def walk(
    one_direction: OneDirection, x: Tensor, hx: State, params: list[Tensor], num_layers: int, directions: int,
    dropout: float, train: bool,
) -> tuple[Tensor, State]:  # fmt: skip
    """Return the outputs of the last layer, and the last states of all layers, stacked.

    dropout: the probability of the dropout between layers, if `train` is True.
    """
    if num_layers * directions == 1:
        y, state = one_direction(x, tuple(part[0] for part in hx), params, False)
        return y, tuple(torch.stack([part]) for part in state)
    each = len(params) // (num_layers * directions)
    last: tuple[list[Tensor], ...] = tuple([] for _ in hx)
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            y, state = one_direction(x, tuple(part[k] for part in hx), params[k * each : (k + 1) * each], direction == 1)
            outputs.append(y)
            for parts, part in zip(last, state, strict=True):
                parts.append(part)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if train and layer < num_layers - 1:
            x = torch.dropout(x, dropout, train)
    return x, tuple(torch.stack(parts) for parts in last)


def run(
    kind: str, input: Tensor, hx: State, params: list[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Run all layers over input [T, B, I], or [B, T, I] if `batch_first`."""

    def one_direction(x: Tensor, state: State, weights: list[Tensor], backwards: bool) -> tuple[Tensor, State]:
        y, state = along_time(kind, x.flip(0) if backwards else x, state, weights, has_biases)
        return y.flip(0) if backwards else y, state

    check_layers(num_layers, dropout, train)
    x = input.transpose(0, 1) if batch_first else input
    y, last = walk(one_direction, x, hx, params, num_layers, 2 if bidirectional else 1, dropout, train)
    return (y.transpose(0, 1) if batch_first else y, *last)


@decomposes("torch.nn.modules.rnn.RNNBase._init_flat_weights")
def init_flat_weights(self: torch.nn.RNNBase) -> None:
    """Collect the weights of a layer. No weak reference tells that one was replaced, since `__setattr__` notes that, too."""
    self._flat_weights = [getattr(self, name) for name in self._flat_weights_names]
    self._flat_weight_refs = [None for _ in self._flat_weights]
